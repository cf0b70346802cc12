//! What the own cache has counted.

use std::collections::VecDeque;

use super::CacheSettings;
use crate::id::ProgramId;
use crate::replace::{Pattern, Replacement, Turn};

/// Changes of patterns that are kept.
const TURNS: usize = 100;

/// How a program refers to its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerPattern {
    /// The program.
    pub owner: ProgramId,
    /// Its pattern.
    pub pattern: Pattern,
}

/// The cache's counts and its standing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFigures {
    /// How it was made.
    pub settings: CacheSettings,
    /// Bytes of blocks held.
    pub held: u64,
    /// Bytes of tables, orders and histories besides.
    pub bookkeeping: u64,
    /// References that found their block.
    pub hits: u64,
    /// References whose block had to be read.
    pub misses: u64,
    /// References that waited for a block somebody else was reading.
    pub waits: u64,
    /// Blocks that left because there was no room.
    pub evictions: u64,
    /// Blocks that left because their file changed.
    pub invalidated: u64,
    /// Blocks that came after their file had changed, and were not kept.
    pub late: u64,
    /// Blocks fetched ahead.
    pub ahead: u64,
    /// Of these, blocks that were used.
    pub ahead_used: u64,
    /// Blocks fetched ahead that left unused.
    pub ahead_unused: u64,
    /// Bytes read into the cache.
    pub bytes_read: u64,
    /// The programs' patterns, where the policy looks at them.
    pub patterns: Vec<OwnerPattern>,
    /// The last changes of patterns, the oldest first.
    pub turns: Vec<Turn>,
}

/// The counts alone.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) waits: u64,
    pub(super) evictions: u64,
    pub(super) invalidated: u64,
    pub(super) late: u64,
    pub(super) ahead: u64,
    pub(super) ahead_used: u64,
    pub(super) ahead_unused: u64,
    pub(super) bytes_read: u64,
    turns: VecDeque<Turn>,
}

impl Counts {
    pub(super) fn keep(&mut self, turns: Vec<Turn>) {
        self.turns.extend(turns);
        self.turns.drain(..self.turns.len().saturating_sub(TURNS));
    }
}

pub(super) fn figures(
    settings: CacheSettings,
    counts: &Counts,
    policy: &dyn Replacement,
    held: u64,
    bookkeeping: u64,
) -> CacheFigures {
    let pattern = |(owner, pattern)| OwnerPattern { owner, pattern };
    CacheFigures {
        settings,
        held,
        bookkeeping,
        hits: counts.hits,
        misses: counts.misses,
        waits: counts.waits,
        evictions: counts.evictions,
        invalidated: counts.invalidated,
        late: counts.late,
        ahead: counts.ahead,
        ahead_used: counts.ahead_used,
        ahead_unused: counts.ahead_unused,
        bytes_read: counts.bytes_read,
        patterns: policy.patterns().into_iter().map(pattern).collect(),
        turns: counts.turns.iter().copied().collect(),
    }
}
