//! What a file costs whoever has to fetch it from the source himself: where that is little, a crowd of workers
//! only takes processors from those it works for.
//!
//! What must stay true: it is learned from what requests of others waited for the source, never from our own work, so that
//! our own crowding cannot pass for a slow source for long; both answers are safe, only one of them faster.

use std::time::Duration;

/// Where a file costs less, a few workers, in the order of need, are enough: bringing one in ahead costs 0.15 to 0.25 ms of
/// processor time (measured on two cores, small files, path `resident`).
const CHEAP: Duration = Duration::from_micros(500);
/// Not to and fro at the line.
const DEAR: Duration = Duration::from_micros(800);
/// Files seen before the first verdict.
const FILES: f64 = 4.0;
/// A request counts for no more: one that was held up by something else says nothing of the source.
const MOST: Duration = Duration::from_millis(5);
/// Weight that is left of what was seen before each file: the last thirty or so count.
const MEMORY: f64 = 0.97;

/// The measuring.
#[derive(Debug, Default)]
pub(crate) struct Worth {
    /// Time waited for the source and files it was waited for, older ones weighing less.
    micros: f64,
    files: f64,
    cheap: bool,
}

impl Worth {
    /// Somebody waited `took` for the source: for the beginning of a file's data, or for anything else.
    pub(crate) fn waited(&mut self, beginning: bool, took: Duration) {
        self.micros += took.min(MOST).as_secs_f64() * 1e6;
        if beginning {
            self.micros *= MEMORY;
            self.files = self.files * MEMORY + 1.0;
        }
        if self.files >= FILES * MEMORY * MEMORY * MEMORY {
            let line = if self.cheap { DEAR } else { CHEAP };
            self.cheap = self.micros / self.files < line.as_secs_f64() * 1e6;
        }
    }

    /// Does a file that was not brought ahead cost little?
    pub(crate) fn is_cheap(&self) -> bool {
        self.cheap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `files` files, each of them a name and its data; the names of 15 in 16 are found with that of the first.
    fn run(worth: &mut Worth, files: u32, latency: Duration) {
        for file in 0..files {
            worth.waited(false, if file % 16 == 0 { latency } else { Duration::from_micros(5) });
            worth.waited(true, latency);
        }
    }

    #[test]
    fn flash_is_cheap_and_disks_and_networks_are_not() {
        for (micros, cheap) in [(50, true), (200, true), (1_000, false), (8_000, false)] {
            let mut worth = Worth::default();
            run(&mut worth, 3, Duration::from_micros(micros));
            assert!(!worth.is_cheap(), "too few were seen");
            run(&mut worth, 20, Duration::from_micros(micros));
            assert_eq!(worth.is_cheap(), cheap, "{micros} us");
        }
    }

    #[test]
    fn data_in_a_row_does_not_make_a_disk_whose_inodes_are_far_away_cheap() {
        let mut worth = Worth::default();
        for _ in 0..100 {
            worth.waited(false, Duration::from_millis(8));
            worth.waited(true, Duration::from_micros(60));
        }
        assert!(!worth.is_cheap());
    }

    #[test]
    fn one_that_was_held_up_changes_nothing_and_another_source_does() {
        let mut worth = Worth::default();
        run(&mut worth, 100, Duration::from_micros(100));
        worth.waited(true, Duration::from_secs(3));
        assert!(worth.is_cheap());
        run(&mut worth, 100, Duration::from_millis(2));
        assert!(!worth.is_cheap());
        run(&mut worth, 200, Duration::from_micros(100));
        assert!(worth.is_cheap());
    }
}
