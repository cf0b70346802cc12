//! What the engine asks for, and what it hears back.

use super::Parts;
use crate::event::{Facts, Span};
use crate::id::{FileId, JobId};

/// What a job brings in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The name and the inode (for a directory: its entries).
    Attributes,
    /// The bytes of the file.
    Data,
    /// Of a directory: what `Attributes` bring, and the inodes of what is in it. Of another file: the inodes of the
    /// window of siblings that it is in. `bytes` is how many entries at most.
    Siblings,
    /// Nothing: look at a file that was just used and report its `Facts`. Never urgent.
    Facts,
}

/// One piece of work for a worker. Jobs are done in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number, never used twice.
    pub id: JobId,
    /// The file it concerns.
    pub file: FileId,
    /// What to do.
    pub target: Target,
    /// How many bytes of the file to bring at most; `u64::MAX` is all of it.
    pub bytes: u64,
    /// Which; from the start on where there are none.
    pub parts: Parts,
}

impl Job {
    /// Which bytes of the file it brings, when that has `size` bytes; in the order of the file.
    pub fn spans(&self, size: u64) -> Vec<Span> {
        let mut spans = self.parts.spans(size);
        if self.parts.are_none() {
            spans.push(Span { offset: 0, len: size });
        }
        let mut room = self.bytes;
        for span in &mut spans {
            span.len = span.len.min(room);
            room -= span.len;
        }
        spans.retain(|span| span.len > 0);
        spans
    }
}

/// What the engine asks of its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Do this.
    Prefetch(Job),
    /// Do not do this after all, if it has not begun. The job is settled all the same, either way.
    Withdraw(JobId),
}

/// How a job ended. Every job is settled exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Brought in: so many bytes came from the source.
    Warmed {
        /// Bytes read from the source.
        bytes: u64,
        /// What was seen of the file.
        facts: Facts,
    },
    /// All of it was in memory already.
    Resident {
        /// What was seen of the file.
        facts: Facts,
    },
    /// Dropped before it began.
    Withdrawn,
    /// The file has gone, changed its kind, or may not be read.
    Failed,
}

impl Outcome {
    /// What was seen of the file.
    pub fn facts(&self) -> Option<Facts> {
        match *self {
            Outcome::Warmed { facts, .. } | Outcome::Resident { facts } => Some(facts).filter(Facts::known),
            Outcome::Withdrawn | Outcome::Failed => None,
        }
    }
}

/// How much is asked for at once, by one group.
///
/// On a device with one head, large windows in physical order win (thousands of files, the whole
/// budget); where many requests are served at once, small windows in order of need do (a hundred).
/// The driver knows by measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Files at most.
    pub files: usize,
    /// Bytes at most (but always at least one file).
    pub bytes: u64,
    /// Names and inodes of files in a pass of their own before the bytes: one head then sweeps over
    /// the inodes once. Elsewhere it is only one more wait, for whoever brings bytes brings names.
    pub names_first: bool,
}

impl Default for Window {
    /// In between, until the driver has measured.
    fn default() -> Self {
        Window { files: 1024, bytes: 64 << 20, names_first: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_brings_the_start_or_its_parts_and_no_more_than_it_may() {
        let job = |bytes, parts| Job { id: JobId(1), file: FileId(1), target: Target::Data, bytes, parts };
        let span = |offset, len| Span { offset, len };
        assert_eq!(job(u64::MAX, Parts::NONE).spans(10), [span(0, 10)]);
        assert_eq!(job(4, Parts::NONE).spans(10), [span(0, 4)]);
        assert_eq!(job(4, Parts::NONE).spans(0), []);
        let mut parts = Parts::NONE;
        [0, 4 << 20].into_iter().for_each(|offset| parts.add(span(offset, 1)));
        assert_eq!(job(300 << 10, parts).spans(1 << 30), [span(0, 256 << 10), span(4 << 20, 44 << 10)]);
        assert_eq!(job(256 << 10, parts).spans(1 << 30), [span(0, 256 << 10)]);
    }
}
