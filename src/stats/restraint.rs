//! Prefetching that pays or gets out of the way, in figures: what it saved, what was dropped, why it holds itself back.
//!
//! Must stay true: one definition of what was saved. **Saved** = files that were in memory when they were wanted because they had
//! been fetched ahead, times what a file costs that was not. **What a file costs** = all the time requests waited for the source
//! themselves (for names and for data), divided by the files whose data they waited for: those held back on purpose, those not
//! foreseen, those of first runs. Waiting for a fetch under way is in neither; files that came late count as nothing saved.
//!
//! On the path `resident` opens are no requests, but names and reads that find nothing are, so nothing is missed there. On
//! `passthrough` reads do not reach us: no file is seen to cost anything, and nothing is claimed. Nor is it on a source so fast that
//! what somebody waited says more of the machine's load than of the source.

use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Choice, Count};

/// Files that must have been waited for before anything is said of what one costs.
const ENOUGH: u64 = 8;

/// A request counts for no more: one that waited longer was held up by something else.
const MOST: Duration = Duration::from_millis(100);

/// Why a job was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Its file has gone.
    Vanished,
    /// The user whom it was for may not look at it, or read it.
    Forbidden,
    /// Its file is something else now.
    Changed,
    /// The source failed.
    Faulty,
}

impl Dropped {
    /// By the error that ended the job, if it was one.
    pub fn because(error: Option<Errno>) -> Self {
        match error {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::STALE) => Dropped::Vanished,
            Some(Errno::ACCESS | Errno::PERM) => Dropped::Forbidden,
            // What is neither a regular file nor a directory, or has become a link.
            Some(Errno::INVAL | Errno::LOOP | Errno::ISDIR | Errno::XDEV) => Dropped::Changed,
            _ => Dropped::Faulty,
        }
    }
}

/// What is counted while the mount runs.
#[derive(Debug, Default)]
pub struct RestraintCounts {
    /// Jobs dropped, by reason.
    pub vanished: Count,
    /// The same.
    pub forbidden: Count,
    /// The same.
    pub changed: Count,
    /// Time requests waited for the source, in microseconds.
    pub waited_us: Count,
    /// Files whose data they waited for.
    pub unhelped_files: Count,
    /// Files held back to compare with.
    pub held_back: Count,
    /// Runs in which something was in time.
    pub runs: Count,
    /// Files that were fetched ahead and gone again when they were wanted.
    pub evicted_files: Count,
    /// Times the budget was cut because memory was short.
    pub cuts: Count,
    /// Bytes released after their only use because memory was short.
    pub released_bytes: Count,
}

impl RestraintCounts {
    /// Somebody waited for the source: for the beginning of a file's data, or for anything else.
    pub fn waited(&self, beginning: bool, took: Duration) {
        self.waited_us.add(took.min(MOST).as_micros() as u64);
        if beginning {
            self.unhelped_files.one();
        }
    }

    /// The numbers now.
    pub(super) fn totals(&self, failed: u64, helped_files: u64) -> Restraint {
        let (vanished, forbidden, changed) = (self.vanished.get(), self.forbidden.get(), self.changed.get());
        let savings = Savings {
            helped_files,
            unhelped_files: self.unhelped_files.get(),
            waited_us: self.waited_us.get(),
            held_back_files: self.held_back.get(),
            runs: self.runs.get(),
            saved_us: 0,
            fast: false,
        };
        Restraint {
            turned_down: Choice::default(),
            savings: savings.on_a_source(false),
            dropped: Drops {
                vanished,
                forbidden,
                changed,
                faulty: failed.saturating_sub(vanished + forbidden + changed),
            },
            evicted_files: self.evicted_files.get(),
            budget_cuts: self.cuts.get(),
            released_bytes: self.released_bytes.get(),
        }
    }
}

/// See the module's head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restraint {
    /// Does it do less than it could, because that would not pay, and why?
    pub turned_down: Choice<bool>,
    /// What was saved.
    pub savings: Savings,
    /// Jobs dropped without a word: they add up to `prefetch.failed`.
    pub dropped: Drops,
    /// Files that were fetched ahead and gone again when they were wanted; they count as wasted.
    pub evicted_files: u64,
    /// Times the budget was cut because memory was short.
    pub budget_cuts: u64,
    /// Bytes released after their only use because memory was short.
    pub released_bytes: u64,
}

/// What was saved, and what that is worked out from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Savings {
    /// Waiting saved, in microseconds; 0 while nothing can be said.
    pub saved_us: u64,
    /// The source is too fast for anything to be said.
    pub fast: bool,
    /// Runs in which something fetched ahead was in time.
    pub runs: u64,
    /// Files fetched ahead in time.
    pub helped_files: u64,
    /// Files whose data a request had to wait for.
    pub unhelped_files: u64,
    /// Of these, such as were foreseen, and held back to compare with (whether they were used in the end or not).
    pub held_back_files: u64,
    /// Time requests waited for the source themselves, in microseconds.
    pub waited_us: u64,
}

/// Dropped jobs by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drops {
    /// The file has gone.
    pub vanished: u64,
    /// The user whom it was for may not read it.
    pub forbidden: u64,
    /// The file is something else now.
    pub changed: u64,
    /// The source failed, or a worker.
    pub faulty: u64,
}

impl Savings {
    /// The same, on a source of which is known whether it is fast.
    pub fn on_a_source(self, fast: bool) -> Savings {
        let savings = Savings { fast, ..self };
        Savings { saved_us: savings.saved().map_or(0, |saved| saved.as_micros() as u64), ..savings }
    }

    /// In words; `None` while nothing can be said.
    pub fn told(&self) -> Option<String> {
        let (saved, each) = (self.saved()?, self.cost_of_a_file()?);
        let runs = if self.runs == 1 { "1 run".into() } else { format!("{} runs", self.runs) };
        Some(format!("about {} of waiting in {runs}, {} a file", spell(saved), spell(each)))
    }

    /// What a file costs that is not fetched ahead; `None` while too few were seen.
    pub fn cost_of_a_file(&self) -> Option<Duration> {
        let seen = Some(self.unhelped_files).filter(|&files| files >= ENOUGH)?;
        Some(Duration::from_micros(self.waited_us / seen))
    }

    /// What was saved; `None` while nothing can be said.
    pub fn saved(&self) -> Option<Duration> {
        let each = self.cost_of_a_file().filter(|_| !self.fast)?.as_micros() as u64;
        Some(Duration::from_micros(self.helped_files.saturating_mul(each)))
    }
}

/// `14.2 s`, `3.4 ms`.
fn spell(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_is_files_in_time_times_what_one_costs() {
        let counts = RestraintCounts::default();
        for _ in 0..ENOUGH - 1 {
            counts.waited(true, Duration::from_millis(3));
            counts.waited(false, Duration::from_millis(1));
        }
        let few = counts.totals(0, 100).savings;
        assert_eq!((few.saved(), few.saved_us), (None, 0));
        counts.waited(true, Duration::from_millis(4));
        let savings = counts.totals(0, 100).savings;
        assert_eq!(savings.cost_of_a_file(), Some(Duration::from_millis(4)));
        assert_eq!((savings.saved_us, savings.unhelped_files), (400_000, ENOUGH));
        assert_eq!(counts.totals(0, 0).savings.saved_us, 0);
        assert_eq!(savings.told().as_deref(), Some("about 400.0 ms of waiting in 0 runs, 4.0 ms a file"));
        assert_eq!((savings.on_a_source(true).saved_us, savings.on_a_source(true).told()), (0, None));
        counts.waited(false, Duration::from_secs(3));
        assert_eq!(
            counts.totals(0, 0).savings.waited_us,
            ENOUGH * 4_000 + 100_000,
            "one that was held up by something else"
        );
        let counts = RestraintCounts::default();
        (0..ENOUGH).for_each(|_| counts.waited(true, Duration::from_millis(4)));
        counts.runs.one();
        let told = counts.totals(0, 3550).savings.told();
        assert_eq!(told.as_deref(), Some("about 14.2 s of waiting in 1 run, 4.0 ms a file"));
    }

    #[test]
    fn dropped_jobs_add_up() {
        use Dropped::{Changed, Faulty, Forbidden, Vanished};
        let reasons =
            [Errno::NOENT, Errno::ACCESS, Errno::INVAL, Errno::IO].map(|error| Dropped::because(Some(error)));
        assert_eq!(reasons, [Vanished, Forbidden, Changed, Faulty]);
        assert_eq!(Dropped::because(None), Faulty);
        let counts = RestraintCounts::default();
        counts.forbidden.add(2);
        counts.vanished.one();
        let drops = counts.totals(5, 0).dropped;
        assert_eq!(drops, Drops { vanished: 1, forbidden: 2, changed: 0, faulty: 2 });
    }
}
