//! What became of a simulated run: what opens found, what was expected of them, and what became of every byte
//! that was brought ahead.
//!
//! Kept by the simulator, which knows what is in memory; the engine only believes.
//!
//! What must stay true: warmed bytes = in time + late + wasted + unused, at any moment.

use super::driver::brings_data;
use crate::clock::Micros;
use crate::engine::{Job, Outcome};
use crate::event::Residency;
use crate::id::{FileId, IdMap, JobId};
use crate::predict::Prediction;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) tally: Tally,
    /// Data that was asked for and whose file was not opened since.
    asked: IdMap<FileId, Asked>,
    /// Jobs for data that were not settled.
    jobs: IdMap<JobId, Pending>,
    /// Bytes that came and were not used.
    unused: IdMap<FileId, u64>,
}

/// The figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) opens: u64,
    /// Opens whose file was the expected one, was another, and those where none was expected.
    pub(super) right: u64,
    pub(super) wrong: u64,
    pub(super) declined: u64,
    /// What opens found.
    pub(super) hit: u64,
    pub(super) partial: u64,
    pub(super) miss: u64,
    /// Bytes brought ahead, and what became of them.
    pub(super) warmed: u64,
    pub(super) in_time: u64,
    pub(super) late: u64,
    pub(super) wasted: u64,
    pub(super) unused: u64,
    /// From the asking for a file to its opening: opens of any file (itself included), and microseconds.
    pub(super) leads: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    job: JobId,
    opens: u64,
    at: Micros,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    file: FileId,
    /// Its file was opened meanwhile.
    used: bool,
}

impl Account {
    /// The engine asks for a job.
    pub(super) fn asked(&mut self, at: Micros, job: &Job) {
        if brings_data(job) {
            self.jobs.insert(job.id, Pending { file: job.file, used: false });
            self.asked.insert(job.file, Asked { job: job.id, opens: self.tally.opens, at });
        }
    }

    /// A job has ended.
    pub(super) fn settled(&mut self, _: Micros, job: JobId, outcome: Outcome) {
        let Some(pending) = self.jobs.remove(&job) else { return };
        let Outcome::Warmed { bytes, .. } = outcome else {
            // Nothing came of it: it was no look-ahead either.
            if self.asked.get(&pending.file).is_some_and(|asked| asked.job == job) {
                self.asked.remove(&pending.file);
            }
            return;
        };
        self.tally.warmed += bytes;
        if pending.used {
            self.tally.late += bytes;
        } else {
            self.tally.unused += bytes;
            *self.unused.entry(pending.file).or_default() += bytes;
        }
    }

    /// A file is about to be opened.
    pub(super) fn opened(&mut self, at: Micros, file: FileId, expected: Option<Prediction>) {
        self.tally.opens += 1;
        match expected {
            Some(prediction) if prediction.file == file => self.tally.right += 1,
            Some(_) => self.tally.wrong += 1,
            None => self.tally.declined += 1,
        }
        if let Some(asked) = self.asked.remove(&file) {
            let lead = (self.tally.opens - asked.opens, at.since(asked.at).as_micros() as u64);
            self.tally.leads.push(lead);
            if let Some(pending) = self.jobs.get_mut(&asked.job) {
                pending.used = true;
            }
        }
        if let Some(bytes) = self.unused.remove(&file) {
            self.tally.unused -= bytes;
            self.tally.in_time += bytes;
        }
    }

    /// What the open found.
    pub(super) fn found(&mut self, residency: Residency) {
        match residency {
            Residency::Miss => self.tally.miss += 1,
            Residency::Partial => self.tally.partial += 1,
            Residency::Hit | Residency::Unknown => self.tally.hit += 1,
        }
    }

    /// A file has left memory.
    pub(super) fn gone(&mut self, file: FileId) {
        if let Some(bytes) = self.unused.remove(&file) {
            self.tally.unused -= bytes;
            self.tally.wasted += bytes;
        }
    }

    /// Nothing will happen any more: what was not used was wasted. Hands the figures out and starts anew.
    pub(super) fn close(&mut self) -> Tally {
        self.unused.clear();
        self.asked.clear();
        let mut tally = std::mem::take(&mut self.tally);
        tally.wasted += std::mem::take(&mut tally.unused);
        tally
    }
}

impl Tally {
    /// Do the sums add up?
    pub(super) fn is_sound(&self) -> bool {
        self.warmed == self.in_time + self.late + self.wasted + self.unused
            && self.opens == self.right + self.wrong + self.declined
    }

    /// Takes in the figures of another pass.
    pub(super) fn add(&mut self, other: Tally) {
        self.opens += other.opens;
        self.right += other.right;
        self.wrong += other.wrong;
        self.declined += other.declined;
        self.hit += other.hit;
        self.partial += other.partial;
        self.miss += other.miss;
        self.warmed += other.warmed;
        self.in_time += other.in_time;
        self.late += other.late;
        self.wasted += other.wasted;
        self.unused += other.unused;
        self.leads.extend(other.leads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Facts, Parts, Target};
    use proptest::prelude::*;

    const FACTS: Facts = Facts { inode: 1, size: 10, extent: 0, directory: false };

    fn job(id: u64, file: u32) -> Job {
        Job { id: JobId(id), file: FileId(file), target: Target::Data, bytes: u64::MAX, parts: Parts::NONE }
    }

    #[test]
    fn each_fate_is_counted() {
        let mut account = Account::default();
        let warmed = Outcome::Warmed { bytes: 10, facts: FACTS };
        (1..=4).for_each(|n| account.asked(Micros(0), &job(n, n as u32)));
        account.settled(Micros(5), JobId(1), warmed);
        account.opened(Micros(7), FileId(1), None);
        account.opened(Micros(8), FileId(2), None);
        account.settled(Micros(9), JobId(2), warmed);
        account.settled(Micros(9), JobId(3), warmed);
        account.gone(FileId(3));
        account.settled(Micros(9), JobId(4), warmed);
        assert_eq!(account.tally.unused, 10);
        let tally = account.close();
        assert_eq!((tally.in_time, tally.late, tally.wasted, tally.unused), (10, 10, 20, 0));
        assert_eq!(tally.leads, [(1, 7), (2, 8)]);
    }

    proptest! {
        #[test]
        fn bytes_are_conserved(deeds in prop::collection::vec((0..4u8, 0..5u32, 0..50u64), 0..200)) {
            let mut account = Account::default();
            let mut under_way = Vec::new();
            for (number, (deed, file, bytes)) in deeds.into_iter().enumerate() {
                let at = Micros(number as u64);
                match deed {
                    0 => {
                        account.asked(at, &job(number as u64, file));
                        under_way.push(JobId(number as u64));
                    }
                    1 => {
                        if let Some(id) = under_way.pop() {
                            let outcome = match bytes {
                                0 => Outcome::Withdrawn,
                                bytes => Outcome::Warmed { bytes, facts: FACTS },
                            };
                            account.settled(at, id, outcome);
                        }
                    }
                    2 => account.opened(at, FileId(file), None),
                    _ => account.gone(FileId(file)),
                }
                prop_assert!(account.tally.is_sound());
            }
            let tally = account.close();
            prop_assert!(tally.is_sound() && tally.unused == 0);
        }
    }
}
