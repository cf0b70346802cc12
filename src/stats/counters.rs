//! Everything that is counted while the mount runs.

use super::report::{Events, Opens, Prefetch, Program, Report, RequestTimes, Standing};
use super::restraint::{Dropped, RestraintCounts};
use super::{Count, Latencies, Point, Stir};
use crate::event::Residency;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Programs told apart; a machine that runs more has the rest summed up under `OTHERS`.
const MOST_PROGRAMS: usize = 500;
const OTHERS: &str = "(others)";

/// The numbers of one mount. Shared by all its threads.
#[derive(Debug, Default)]
pub struct Counters {
    /// Request times by kind.
    pub latencies: Latencies,
    /// Accesses told to the engine.
    pub events: EventCounts,
    /// Opens of regular files, by what they found.
    pub opens: OpenCounts,
    /// What was fetched ahead, and what became of it.
    pub prefetch: PrefetchCounts,
    /// How it was held back, and what it saved.
    pub restraint: RestraintCounts,
    /// Names, attributes or data the kernel was told to forget because the source had changed.
    pub invalidations: Count,
    /// Told after every request and every access.
    pub stir: Stir,
    programs: Mutex<HashMap<Box<str>, Opens>>,
    /// How programs refer to their files, where that is known.
    labels: Mutex<HashMap<Box<str>, &'static str>>,
}

/// Accesses told to the engine.
#[derive(Debug, Default)]
pub struct EventCounts {
    /// Taken in.
    pub seen: Count,
    /// Dropped because a channel was full, or lost by the kernel.
    pub lost: Count,
}

/// Opens by what they found.
#[derive(Debug, Default)]
pub struct OpenCounts {
    /// Whether the data was in memory was not looked at.
    pub unknown: Count,
    /// All of it was in memory.
    pub hit: Count,
    /// Some of it was there, or on its way.
    pub partial: Count,
    /// None of it was.
    pub miss: Count,
}

/// What was fetched ahead.
#[derive(Debug, Default)]
pub struct PrefetchCounts {
    /// Jobs handed to workers.
    pub jobs: Count,
    /// Files brought in.
    pub files: Count,
    /// Bytes brought in.
    pub bytes: Count,
    /// Bytes of files that were then used in time.
    pub used_bytes: Count,
    /// Bytes of files that were wanted before they had come.
    pub late_bytes: Count,
    /// Bytes of files that nobody wanted.
    pub wasted_bytes: Count,
    /// Bytes asked of the source and not here yet.
    pub in_flight_bytes: Count,
    /// Files that were in memory when they were wanted.
    pub files_in_time: Count,
    /// Files that were wanted before they had come.
    pub files_late: Count,
    /// Files that nobody wanted.
    pub files_wasted: Count,
    /// Files brought in that still wait for their use.
    pub files_waiting: Count,
    /// Jobs that failed: their file has gone or may not be read.
    pub failed: Count,
    /// Requests that waited for a job, and got what they wanted.
    pub joined: Count,
    /// Requests that waited for a job in vain.
    pub join_timeouts: Count,
}

impl Counters {
    /// A program opened a regular file and found it so.
    pub fn open(&self, program: &str, found: Residency) {
        let counts = &self.opens;
        match found {
            Residency::Unknown => &counts.unknown,
            Residency::Hit => &counts.hit,
            Residency::Partial => &counts.partial,
            Residency::Miss => &counts.miss,
        }
        .one();
        self.open_by(program, found);
    }

    /// A program was found to refer to its files in this way.
    pub fn label(&self, program: &str, pattern: &'static str) {
        let mut labels = self.labels.lock();
        if labels.contains_key(program) || labels.len() < MOST_PROGRAMS {
            labels.insert(program.into(), pattern);
        }
    }

    fn open_by(&self, program: &str, found: Residency) {
        let mut programs = self.programs.lock();
        let name =
            if programs.contains_key(program) || programs.len() < MOST_PROGRAMS { program } else { OTHERS };
        // Looked up before it is inserted: the name is copied only the first time.
        match programs.get_mut(name) {
            Some(opens) => opens.count(found),
            None => programs.entry(name.into()).or_default().count(found),
        }
    }

    /// A job was dropped.
    pub fn dropped(&self, why: Dropped) {
        self.prefetch.failed.one();
        match why {
            Dropped::Vanished => self.restraint.vanished.one(),
            Dropped::Forbidden => self.restraint.forbidden.one(),
            Dropped::Changed => self.restraint.changed.one(),
            Dropped::Faulty => {}
        }
    }

    /// What has been counted until now, for a line of such points.
    pub fn point(&self, at_s: u64) -> Point {
        Point { at_s, opens: self.opens.totals(), prefetch: self.prefetch.totals() }
    }

    /// What the numbers say now, together with what is not a count.
    pub fn report(&self, standing: Standing) -> Report {
        Report {
            standing,
            events: Events { seen: self.events.seen.get(), lost: self.events.lost.get() },
            opens: self.opens.totals(),
            prefetch: self.prefetch.totals(),
            restraint: self.restraint.totals(self.prefetch.failed.get(), self.prefetch.files_in_time.get()),
            invalidations: self.invalidations.get(),
            programs: self.programs(),
            flights: Vec::new(),
            requests: self.requests(),
        }
    }

    /// Most opens first.
    fn programs(&self) -> Vec<Program> {
        let (programs, labels) = (self.programs.lock(), self.labels.lock());
        let all = programs.iter();
        let mut list: Vec<_> = all
            .map(|(name, opens)| Program::new(name, *opens, labels.get(name).copied().unwrap_or_default()))
            .collect();
        list.sort_by(|a, b| b.opens.cmp(&a.opens).then_with(|| a.name.cmp(&b.name)));
        list
    }

    fn requests(&self) -> std::collections::BTreeMap<String, RequestTimes> {
        let times = self.latencies.times().into_iter();
        times
            .map(|(name, t)| (name.to_owned(), RequestTimes { count: t.count, p50: t.p50, p99: t.p99 }))
            .collect()
    }
}

impl OpenCounts {
    /// Their numbers now.
    pub fn totals(&self) -> Opens {
        let (hit, partial, miss) = (self.hit.get(), self.partial.get(), self.miss.get());
        Opens { total: self.unknown.get() + hit + partial + miss, hit, partial, miss }
    }
}

impl PrefetchCounts {
    fn totals(&self) -> Prefetch {
        Prefetch {
            jobs: self.jobs.get(),
            files: self.files.get(),
            bytes: self.bytes.get(),
            used_bytes: self.used_bytes.get(),
            late_bytes: self.late_bytes.get(),
            wasted_bytes: self.wasted_bytes.get(),
            in_flight_bytes: self.in_flight_bytes.get(),
            files_in_time: self.files_in_time.get(),
            files_late: self.files_late.get(),
            files_wasted: self.files_wasted.get(),
            files_waiting: self.files_waiting.get(),
            failed: self.failed.get(),
            joined: self.joined.get(),
            join_timeouts: self.join_timeouts.get(),
        }
    }
}

impl Opens {
    fn count(&mut self, found: Residency) {
        self.total += 1;
        match found {
            Residency::Unknown => {}
            Residency::Hit => self.hit += 1,
            Residency::Partial => self.partial += 1,
            Residency::Miss => self.miss += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_are_counted_by_mount_and_by_program() {
        let counters = Counters::default();
        for (program, found) in [
            ("grep", Residency::Hit),
            ("grep", Residency::Miss),
            ("cc1", Residency::Partial),
            ("grep", Residency::Unknown),
        ] {
            counters.open(program, found);
        }
        let report = counters.report(Standing::default());
        assert_eq!(report.opens, Opens { total: 4, hit: 1, partial: 1, miss: 1 });
        let names: Vec<_> =
            report.programs.iter().map(|p| (p.name.as_str(), p.opens, p.hit, p.miss)).collect();
        assert_eq!(names, [("grep", 3, 1, 1), ("cc1", 1, 0, 0)]);
    }

    #[test]
    fn programs_beyond_the_limit_are_summed_up() {
        let counters = Counters::default();
        for i in 0..MOST_PROGRAMS + 20 {
            counters.open(&format!("p{i}"), Residency::Hit);
        }
        let report = counters.report(Standing::default());
        assert_eq!(report.programs.len(), MOST_PROGRAMS + 1);
        assert_eq!((report.programs[0].name.as_str(), report.programs[0].opens), (OTHERS, 20));
    }
}
