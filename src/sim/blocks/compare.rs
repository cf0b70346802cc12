//! Policies beside each other: by the size of the cache, and by the length of a period.

use super::{BLOCK_SIZE, BlockTrace};
use crate::replace::Policy;

/// What nobody can do better than.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// References of the trace.
    pub references: usize,
    /// Different blocks, which are read once in any case.
    pub blocks: usize,
}

/// The misses of some policies in a cache of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Bytes of the cache.
    pub bytes: u64,
    /// Misses, in the order of the policies.
    pub misses: Vec<u64>,
    /// Misses that no policy can avoid.
    pub least: u64,
}

/// A trace's misses by each policy at each size, with what bounds them.
pub fn compare(trace: &BlockTrace, policies: &[Policy], sizes: &[u64]) -> (Limit, Vec<Comparison>) {
    let rows = sizes.iter().map(|&bytes| {
        let room = room(bytes);
        let misses = policies.iter().map(|&policy| trace.misses(policy, room)).collect();
        Comparison { bytes, misses, least: trace.least_misses(room) }
    });
    let mut blocks = trace.blocks();
    blocks.sort_unstable();
    blocks.dedup();
    (Limit { references: trace.references.len(), blocks: blocks.len() }, rows.collect())
}

/// The misses of one policy by the length of its period.
pub fn periods(trace: &BlockTrace, policy: Policy, bytes: u64, periods: &[u32]) -> Vec<u64> {
    periods.iter().map(|&period| trace.misses(policy.with_period(period), room(bytes))).collect()
}

/// Blocks that have room.
fn room(bytes: u64) -> usize {
    (bytes / BLOCK_SIZE).max(1) as usize
}
