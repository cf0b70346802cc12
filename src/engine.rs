//! The decision core: told what happens, it says what to fetch. Pure and deterministic: the same
//! inputs give the same effects, whether a mount, a simulator or a test drives it.

use crate::id::{FileId, JobId};

/// What a job brings in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The name and the inode (for a directory: its entries).
    Attributes,
    /// The bytes of the file.
    Data,
    /// Nothing: look at a file that was just used and report its `Facts`.
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
}

/// What the engine asks of its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Do this.
    Prefetch(Job),
    /// Do not do this after all, if it has not begun.
    Withdraw(JobId),
}

/// What is known of a file's place on the device and its size; used for order and budget only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Inode number in the source.
    pub inode: u64,
    /// Size in bytes (as of the last look).
    pub size: u64,
    /// Byte address of the first extent on the device, 0 when unknown.
    pub extent: u64,
    /// Is it a directory?
    pub directory: bool,
}

/// How a job ended.
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
