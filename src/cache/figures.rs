//! What the own cache has counted.

use std::collections::VecDeque;

use super::CacheSettings;
use crate::id::ProgramId;
use crate::replace::{Pattern, Replacement, Turn};
use crate::stats::OwnCounts;

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
    /// What has happened.
    pub counts: OwnCounts,
    /// The programs' patterns, where the policy looks at them.
    pub patterns: Vec<OwnerPattern>,
    /// The last changes of patterns, the oldest first.
    pub turns: Vec<Turn>,
}

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) own: OwnCounts,
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
        counts: counts.own,
        patterns: policy.patterns().into_iter().map(pattern).collect(),
        turns: counts.turns.iter().copied().collect(),
    }
}
