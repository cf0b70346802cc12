//! Where a process stands, as far as habits go: its program, its last files, and what the process before it
//! began with.
//!
//! What must stay true: a context can be made again from what the runs say; it is never saved.

use super::habits;
use super::panel::Expert;
use crate::id::{FileId, IdMap, ProgramId};

/// Stands for "no file".
pub(super) const NOTHING: u32 = u32::MAX;

/// Kinds of context.
const LAST_TWO: u32 = 1;
const LAST: u32 = 2;
const BEGINNING: u32 = 3;

/// See the module's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) program: ProgramId,
    /// Nothing was opened since it began to run its program.
    pub(super) begins: bool,
    /// Its last two files and those of its parent before, newest first.
    pub(super) recent: [u32; 2],
    /// What the last process of the group that ran the same program opened first.
    pub(super) elder: u32,
}

impl Context {
    /// Its keys, the most telling first, and whose business each is.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Expert, u32)> {
        let [last, before] = self.recent;
        let program = self.program.0;
        let two =
            (before != NOTHING).then(|| (Expert::LastTwo, habits::key([LAST_TWO, program, before, last])));
        let one = (last != NOTHING).then(|| (Expert::Last, habits::key([LAST, program, last, 0])));
        let none = self.begins.then(|| (Expert::Beginning, habits::key([BEGINNING, program, self.elder, 0])));
        [none, two, one].into_iter().flatten()
    }

    /// One file further.
    pub(super) fn step(&mut self, file: FileId) {
        self.recent = [file.0, self.recent[0]];
        self.begins = false;
    }

    /// Forgets files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        let [last, before] = &mut self.recent;
        for file in [last, before, &mut self.elder] {
            if *file != NOTHING && gone(FileId(*file)) {
                *file = NOTHING;
            }
        }
    }
}

/// What the processes of a group began with, by their program: the last one of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Elders(IdMap<ProgramId, u32>);

impl Elders {
    /// What the last one began with.
    pub(super) fn of(&self, program: ProgramId) -> u32 {
        self.0.get(&program).copied().unwrap_or(NOTHING)
    }

    /// One begins with this.
    pub(super) fn begins(&mut self, program: ProgramId, file: FileId) {
        self.0.insert(program, file.0);
    }

    /// Forgets files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.0.retain(|_, file| !gone(FileId(*file)));
    }
}
