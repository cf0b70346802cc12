//! Questions about files in use whose place and size nobody knows yet: asked one by one, so that the
//! next run has order and sizes from the start.
//!
//! Must stay true: few questions are open at a time, and none is asked twice before it is answered.

use std::collections::VecDeque;

use crate::id::{FileId, IdMap, JobId};

/// Questions open at a time: enough to keep a worker busy, few enough not to be in anybody's way.
const OPEN_MAX: usize = 256;
/// Files that wait to be asked about; more are left for their next use.
const WAITING_MAX: usize = 65_536;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    waiting: VecDeque<FileId>,
    open: IdMap<JobId, FileId>,
}

impl Inquiry {
    /// The file should be asked about. Says whether there was room.
    pub(super) fn add(&mut self, file: FileId) -> bool {
        let room = self.waiting.len() < WAITING_MAX;
        if room {
            self.waiting.push_back(file);
        }
        room
    }

    /// The next file to ask about, if another question may be open.
    pub(super) fn next(&mut self) -> Option<FileId> {
        if self.open.len() < OPEN_MAX { self.waiting.pop_front() } else { None }
    }

    pub(super) fn asked(&mut self, job: JobId, file: FileId) {
        self.open.insert(job, file);
    }

    /// Every file that is asked about or waits to be.
    pub(super) fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.waiting.iter().chain(self.open.values()).copied()
    }

    /// The question is answered. `None` when it was not one of these.
    pub(super) fn answered(&mut self, job: JobId) -> Option<FileId> {
        self.open.remove(&job)
    }
}
