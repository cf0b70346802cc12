//! What kind of source lies below: one head that serves requests one after another, or many ways that
//! serve them side by side.
//!
//! What must stay true: it is learned from durations alone (of requests that had the source to
//! themselves, and of jobs among many), and both answers are safe, only one of them faster. With one
//! head a job among many takes many times as long as a request alone; with many ways it takes as
//! long as ever.

use std::time::Duration;

/// Jobs at once on one head: the device sorts what it has pending, and a deeper queue sorts better.
pub(crate) const ONE_HEAD: usize = 32;
/// Jobs at once on many ways: what network file systems and flash serve side by side.
pub(crate) const MANY_WAYS: usize = 64;

/// Requests seen alone, and jobs among many, before a verdict.
const SAMPLES_ALONE: u32 = 3;
const SAMPLES_AMONG: u32 = 12;
/// "Alone": at most so many at once.
const FEW: usize = 2;
/// "Among many": at least so many at once.
const MANY: usize = 16;
/// Faster than this was answered from some memory below us, and says nothing about the device.
const COLD: Duration = Duration::from_micros(200);
/// One head makes a job among 16 or more take at least 8 times as long as one alone, unless
/// sorting helps (four-fold, seen on a simulated disk); many ways leave it as it was, unless the
/// processors are short (twofold). The line lies between.
const STRETCH: f64 = 3.0;
/// Larger jobs take long because they are large.
const SMALL: u64 = 256 << 10;
/// Weight of a new sample: the last ten or so count.
const WEIGHT: f64 = 0.1;

/// What the source seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Not enough was seen.
    Unknown,
    /// Requests are served one after another.
    One,
    /// Requests are served side by side.
    Many,
    /// It answers so fast that few requests at once are best (see `worth`).
    Fast,
}

/// The measuring.
#[derive(Debug)]
pub(crate) struct Pace {
    alone: Average,
    among: Average,
    verdict: Ways,
}

#[derive(Debug, Default)]
struct Average {
    micros: f64,
    samples: u32,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Pace { alone: Average::default(), among: Average::default(), verdict: Ways::Unknown }
    }

    /// Something that fetched `bytes` (0 for a name) from the source took `took`, with up to `at_once`
    /// requests (itself and the foreground's included) at the source. Says whether anything changed.
    pub(crate) fn record(&mut self, bytes: u64, took: Duration, at_once: usize) -> bool {
        if took < COLD || bytes > SMALL {
            return false;
        }
        let before = (self.verdict, self.width());
        if at_once <= FEW {
            self.alone.add(took);
        } else if at_once >= MANY {
            self.among.add(took);
        }
        self.judge();
        before != (self.verdict, self.width())
    }

    /// How many jobs may be under way at once.
    pub(crate) fn width(&self) -> usize {
        match self.verdict {
            Ways::Unknown | Ways::One => ONE_HEAD,
            Ways::Many | Ways::Fast => MANY_WAYS,
        }
    }

    pub(crate) fn ways(&self) -> Ways {
        self.verdict
    }

    fn judge(&mut self) {
        if self.alone.samples < SAMPLES_ALONE || self.among.samples < SAMPLES_AMONG {
            return;
        }
        let stretch = self.among.micros / self.alone.micros.max(1.0);
        self.verdict = match self.verdict {
            // Not to and fro at the line.
            Ways::One if stretch > STRETCH * 0.8 => Ways::One,
            Ways::Many if stretch < STRETCH * 1.25 => Ways::Many,
            _ if stretch > STRETCH => Ways::One,
            _ => Ways::Many,
        };
    }
}

impl Average {
    fn add(&mut self, took: Duration) {
        let micros = took.as_secs_f64() * 1e6;
        let weight = WEIGHT.max(1.0 / f64::from(self.samples + 1));
        self.micros += (micros - self.micros) * weight;
        self.samples = self.samples.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests alone, then jobs, on a source that takes `took(at_once)` for each.
    fn run(pace: &mut Pace, jobs: usize, took: impl Fn(usize) -> u64) {
        for _ in 0..SAMPLES_ALONE {
            pace.record(4096, Duration::from_micros(took(1)), 1);
        }
        for _ in 0..jobs {
            let at_once = pace.width();
            pace.record(4096, Duration::from_micros(took(at_once)), at_once);
        }
    }

    #[test]
    fn one_head_and_many_ways_are_told_apart() {
        let mut disk = Pace::new();
        assert_eq!((disk.ways(), disk.width()), (Ways::Unknown, ONE_HEAD));
        run(&mut disk, 100, |at_once| 2_000 * at_once as u64);
        assert_eq!((disk.ways(), disk.width()), (Ways::One, ONE_HEAD));

        let mut net = Pace::new();
        run(&mut net, 100, |at_once| 1_000 + 20 * at_once as u64);
        assert_eq!((net.ways(), net.width()), (Ways::Many, MANY_WAYS));
    }

    #[test]
    fn what_was_in_memory_or_large_says_nothing() {
        let mut pace = Pace::new();
        for _ in 0..100 {
            assert!(!pace.record(4096, Duration::from_micros(5), 1));
            assert!(!pace.record(1 << 30, Duration::from_secs(9), 1));
        }
        assert_eq!((pace.ways(), pace.width()), (Ways::Unknown, ONE_HEAD));
    }

    #[test]
    fn a_source_that_changes_is_seen_again() {
        let mut pace = Pace::new();
        run(&mut pace, 100, |at_once| 2_000 * at_once as u64);
        assert_eq!(pace.ways(), Ways::One);
        for _ in 0..200 {
            pace.record(4096, Duration::from_millis(1), 1);
            pace.record(4096, Duration::from_millis(1), 32);
        }
        assert_eq!(pace.ways(), Ways::Many);
    }
}
