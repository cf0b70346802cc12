//! The engine's figures at one moment, as plain data.

use crate::event::Residency;
use crate::id::ProgramId;
use crate::plan::Fate;
use crate::predict::Scans;

/// Opens and what they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opens {
    /// All of them, judged or not.
    pub total: u64,
    /// Found everything in memory.
    pub hit: u64,
    /// Found part, or data on its way.
    pub partial: u64,
    /// Found nothing.
    pub miss: u64,
}

impl Opens {
    pub(super) fn judge(&mut self, residency: Residency) {
        match residency {
            Residency::Hit => self.hit += 1,
            Residency::Partial => self.partial += 1,
            Residency::Miss => self.miss += 1,
            Residency::Unknown => {}
        }
    }
}

/// What the engine knows, has done, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The predictor, as its option spells it.
    pub predictor: String,
    /// Files it knows.
    pub files: u64,
    /// Entries of its history or trie.
    pub nodes: u64,
    /// Memory of predictor and plan, in bytes.
    pub bytes: u64,
    /// Groups a course is predicted for.
    pub followers: u64,
    /// Groups that prefetching is on for.
    pub armed: u64,
    /// Living streams.
    pub streams: u64,
    /// Accesses seen.
    pub events: u64,
    /// Opens of all programs.
    pub opens: Opens,
    /// Opens by program, in order of their numbers.
    pub programs: Vec<(ProgramId, Opens)>,
    /// Jobs and bytes, and what became of them.
    pub prefetch: Fate,
    /// What was noticed of scans.
    pub scans: Scans,
    /// The budget in bytes.
    pub budget: u64,
}
