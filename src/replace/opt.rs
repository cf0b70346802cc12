//! The limit of what any policy can reach: Belady's choice, which knows the future. For the simulator only.

use std::collections::BTreeSet;

use super::Block;
use crate::id::IdMap;

/// How many of these references find nothing in a cache of `room` blocks, at least. A block that comes in may leave at
/// once.
pub fn opt_misses(trace: &[Block], room: usize) -> u64 {
    let mut next_use = IdMap::default();
    let mut nexts: Vec<usize> = trace
        .iter()
        .enumerate()
        .rev()
        .map(|(at, &block)| next_use.insert(block, at).unwrap_or(usize::MAX))
        .collect();
    nexts.reverse();
    // By the next use, the farthest last.
    let mut cache: BTreeSet<(usize, Block)> = BTreeSet::new();
    let mut misses = 0;
    for (at, (&block, &next)) in trace.iter().zip(&nexts).enumerate() {
        misses += u64::from(!cache.remove(&(at, block)));
        cache.insert((next, block));
        if cache.len() > room {
            cache.pop_last();
        }
    }
    misses
}
