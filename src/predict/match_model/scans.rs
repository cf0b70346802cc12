//! Scans: one pass over very many files, as a search database or a backup makes. They teach nothing
//! about jobs, and are as long as many of them.
//!
//! A run is a scan when it has used 32,768 files, nearly each of them once, mostly from directory to
//! directory. Jobs stay clear of that: an indexer over 4,000 files is shorter, a build opens the same
//! headers again and again, a training job that shuffles its samples keeps to no directory. A search through
//! a tree of 80,000 sources counts as a scan, and is predicted like any other as far as it is kept.
//!
//! What must stay true: what a scan is allowed to keep does not depend on how long it goes on.

use crate::id::FileId;

/// Accesses of a run that may be a scan: several times what the largest source trees' jobs use once.
const LENGTH: u32 = 32_768;
/// Of a hundred accesses, at least so many are of files that the run has not used before.
const FRESH_PERCENT: u64 = 97;
/// Numbers are given in the order of first sight, so that files of one directory have near ones: no
/// further apart than a large directory is long.
const NEAR: u32 = 1024;
/// Of a hundred steps from file to file, at least so many are near.
const NEAR_PERCENT: u64 = 75;
/// The part of the history that all scans together may keep.
const SHARE: usize = 8;

/// What scans did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scans {
    /// Scans going on.
    pub running: u64,
    /// Scans recognised so far, those included.
    pub seen: u64,
    /// Their accesses since they were recognised.
    pub accesses: u64,
}

/// Entries that scans may keep in a history of `capacity`.
pub(super) fn share(capacity: usize) -> usize {
    capacity / SHARE
}

/// Watches one run for signs of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanWatch {
    scan: bool,
    uses: u32,
    fresh: u32,
    near: u32,
    last: u32,
}

impl ScanWatch {
    /// Is it a scan, as far as is known?
    pub(super) fn is_scan(&self) -> bool {
        self.scan
    }

    /// Does it look so much like one that it should give way to jobs when room is scarce? Half of what makes a
    /// scan: shorter ones are jobs like any other.
    pub(super) fn is_suspect(&self) -> bool {
        self.scan || (self.uses >= LENGTH / 2 && self.looks())
    }

    fn looks(&self) -> bool {
        let part = |count: u32, percent: u64| u64::from(count) * 100 >= u64::from(self.uses) * percent;
        part(self.fresh, FRESH_PERCENT) && part(self.near, NEAR_PERCENT)
    }

    /// The run uses a file, for the first time if `fresh`. True when that makes it a scan.
    pub(super) fn uses(&mut self, file: FileId, fresh: bool, capacity: usize) -> bool {
        self.uses = self.uses.saturating_add(1);
        self.fresh = self.fresh.saturating_add(u32::from(fresh));
        self.near = self.near.saturating_add(u32::from(file.0.abs_diff(self.last) <= NEAR));
        self.last = file.0;
        // In a small history a scan must be seen before it has filled it.
        let long = self.uses >= LENGTH.min(capacity as u32 / 2);
        let turned = !self.scan && long && self.looks();
        self.scan |= turned;
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 1 << 20;

    fn recognised(files: impl Iterator<Item = (u32, bool)>) -> Option<usize> {
        let mut watch = ScanWatch::default();
        files.map(|(file, fresh)| watch.uses(FileId(file), fresh, LARGE)).position(|scan| scan)
    }

    #[test]
    fn a_walk_over_everything_is_recognised_once() {
        assert_eq!(recognised((0..100_000).map(|file| (file, true))), Some(32_767));
        let mut watch = ScanWatch::default();
        let times = (0..100_000).filter(|&file| watch.uses(FileId(file), true, LARGE)).count();
        assert_eq!((times, watch.is_scan()), (1, true));
    }

    #[test]
    fn jobs_are_not() {
        let indexer = (0..4_000).map(|file| (file, true));
        assert_eq!(recognised(indexer), None);
        let build = (0..200_000).map(|step| (step % 5_000, step < 5_000 || step % 20 == 0));
        assert_eq!(recognised(build), None);
        let shuffled = (0..200_000u32).map(|step| (step.wrapping_mul(48_271) % 200_003, true));
        assert_eq!(recognised(shuffled), None);
    }
}
