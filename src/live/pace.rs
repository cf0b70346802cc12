//! What kind of source lies below: one head that serves requests one after another, or many ways that
//! serve them side by side.
//!
//! It is found out by asking two questions of the same kind at two depths of the queue: how long jobs for
//! files' bytes take while many are under way, and how long right after, while few are. With one head the time grows
//! with the number under way, wherever the bytes lie; with many ways it stays.
//!
//! What must stay true: it is learned from durations alone; both answers are safe, only one of them
//! faster; jobs for names say nothing, for many of them wait for one and the same block of inodes.

use std::time::Duration;

mod samples;

use samples::Samples;

/// Jobs at once on one head: the device sorts what it has pending, and a deeper queue sorts better.
pub(crate) const ONE_HEAD: usize = 32;
/// Jobs at once on many ways: what network file systems and flash serve side by side.
pub(crate) const MANY_WAYS: usize = 64;

/// Jobs at once while many shall be under way. No more than that: with more of them two processors have no time for
/// each, and a source a millisecond away seems slower.
const DEEP: Depth = Depth { width: 12, least: 6, most: 14 };
/// Jobs at once while few shall be.
const SHALLOW: Depth = Depth { width: 3, least: 1, most: 5 };
/// The first question is asked after so many jobs for bytes: before, most are for names.
const SOON: u32 = 8;
/// So many jobs may end at a wrong depth: others keep the source busy, or there is too little to do.
const VAIN: u32 = 256;
/// Jobs after which the question is asked again; twice as many each time the answer was the same. To take one head for
/// many ways costs most, so the first answer is soon asked for again; and asking costs: with many ways it leaves most of
/// them empty for some ninety jobs.
const AGAIN: u32 = 512;
const AGAIN_MAX: u32 = 8192;
/// Faster than this was answered from some memory below us, and says nothing about the device.
const COLD: Duration = Duration::from_micros(200);
/// Larger jobs take long because they are large.
const SMALL: u64 = 256 << 10;
/// The time grows as the number under way to the power of 1 with one head, of 0 with many ways: the line between
/// them, and how far beyond it a verdict must be to contradict the last one.
const LINE: f64 = 0.4;
const DOUBT: f64 = 0.1;

/// How many jobs shall be under way, and with how many requests at the source the time of one counts.
#[derive(Clone, Copy)]
struct Depth {
    width: usize,
    least: usize,
    most: usize,
}

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

/// Which question is being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// None, for the time being.
    Rest,
    Deep,
    Shallow,
}

/// The measuring.
#[derive(Debug)]
pub(crate) struct Pace {
    verdict: Ways,
    phase: Phase,
    /// Jobs for bytes that ended in this phase, and those of them at its depth.
    jobs: u32,
    fitting: u32,
    /// Jobs until the next question.
    rest: u32,
    deep: Samples,
    shallow: Samples,
}

impl Pace {
    pub(crate) fn new() -> Self {
        let (deep, shallow) = (Samples::default(), Samples::default());
        Pace { verdict: Ways::Unknown, phase: Phase::Rest, jobs: 0, fitting: 0, rest: SOON, deep, shallow }
    }

    /// Fetching `bytes` of a file whose name was known took `took`, with up to `at_once` requests (itself and the
    /// foreground's included) at the source. Says whether anything changed.
    pub(crate) fn record(&mut self, bytes: u64, took: Duration, at_once: usize) -> bool {
        if bytes == 0 || bytes > SMALL {
            return false;
        }
        let before = (self.verdict, self.width());
        self.jobs = self.jobs.saturating_add(1);
        match self.phase {
            Phase::Rest if self.jobs >= self.rest => self.turn(Phase::Deep),
            Phase::Rest => {}
            Phase::Deep => self.see(DEEP, took, at_once),
            Phase::Shallow => self.see(SHALLOW, took, at_once),
        }
        before != (self.verdict, self.width())
    }

    /// How many jobs may be under way at once.
    pub(crate) fn width(&self) -> usize {
        match (self.phase, self.verdict) {
            (Phase::Deep, _) => DEEP.width,
            (Phase::Shallow, _) => SHALLOW.width,
            (Phase::Rest, Ways::Many | Ways::Fast) => MANY_WAYS,
            (Phase::Rest, Ways::Unknown | Ways::One) => ONE_HEAD,
        }
    }

    pub(crate) fn ways(&self) -> Ways {
        self.verdict
    }

    fn see(&mut self, depth: Depth, took: Duration, at_once: usize) {
        let samples = if self.phase == Phase::Deep { &mut self.deep } else { &mut self.shallow };
        if (depth.least..=depth.most).contains(&at_once) {
            self.fitting += 1;
            // The first ones began at another depth.
            if self.fitting > 2 * depth.width as u32 && took >= COLD {
                samples.add(took, at_once);
            }
        }
        match self.phase {
            Phase::Deep if samples.are_enough() => self.turn(Phase::Shallow),
            _ if samples.are_enough() => {
                self.judge();
                self.turn(Phase::Rest);
            }
            _ if self.jobs >= VAIN => self.turn(Phase::Rest),
            _ => {}
        }
    }

    fn turn(&mut self, phase: Phase) {
        (self.phase, self.jobs, self.fitting) = (phase, 0, 0);
        if phase == Phase::Deep {
            (self.deep, self.shallow) = (Samples::default(), Samples::default());
            // If there is no answer, later.
            self.rest = self.rest.max(AGAIN);
        }
    }

    fn judge(&mut self) {
        let growth = self.deep.growth_since(&self.shallow);
        // Not to and fro at the line.
        let line = match self.verdict {
            Ways::Unknown | Ways::Fast => LINE,
            Ways::One => LINE - DOUBT,
            Ways::Many => LINE + DOUBT,
        };
        let verdict = if growth > line { Ways::One } else { Ways::Many };
        let same = std::mem::replace(&mut self.verdict, verdict) == verdict;
        self.rest = if same { (self.rest * 2).min(AGAIN_MAX) } else { AGAIN };
    }
}

#[cfg(test)]
mod tests;
