//! What is simulated: files, programs, and what processes do, as plain data.
//!
//! What must stay true: file 0 is the directory everything is in, and a file's number is larger than that
//! of the directory it is in; a stream's first step is its beginning.

use std::time::Duration;

use crate::event::{Facts, Op, Origin};
use crate::id::{FileId, ProgramId, StreamId};

/// A job that is done once or several times over the same files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// What it is called in tables.
    pub name: String,
    /// Programs by number.
    pub programs: Vec<String>,
    /// Files and directories by number, the root first.
    pub files: Vec<File>,
    /// One doing of the job each; never empty when something is to be simulated.
    pub passes: Vec<Pass>,
}

/// A file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The last component of its path; the root's is empty.
    pub name: String,
    /// The directory it is in; the root's is itself.
    pub parent: FileId,
    /// Its place and size. No inode number: a place is found for it (`layout`).
    pub facts: Facts,
}

/// One doing of a job. Streams and groups are numbered from 0 in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// What is done, in an order that keeps causes before their effects.
    pub steps: Vec<Step>,
    /// Streams are numbered below this.
    pub streams: u32,
    /// Groups are numbered below this.
    pub groups: u32,
}

/// One thing a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// By whom; the new one in the case of [`Deed::Begin`].
    pub stream: StreamId,
    /// Time the process spends by itself before it, from the end of what it did (or waited for) last.
    pub think: Duration,
    /// What.
    pub deed: Deed,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is started: by its parent, which thinks before it.
    Begin(Origin),
    /// It runs another program from here on.
    Exec(ProgramId),
    /// It ends.
    End,
    /// It uses a file. Reads are part of opens and need no step of their own.
    Access(FileId, Op),
}

impl Workload {
    /// The pass that is done as the `number`-th, from 0; the last one goes on for ever.
    pub fn pass(&self, number: usize) -> Option<&Pass> {
        self.passes.get(number).or(self.passes.last())
    }

    /// The path of a file, without a leading slash.
    pub fn path(&self, file: FileId) -> String {
        let names: Vec<&str> = self.chain(file).into_iter().map(|at| self.file(at).name.as_str()).collect();
        names.join("/")
    }

    /// The file and the directories it is in, from the top, without the root.
    pub fn chain(&self, file: FileId) -> Vec<FileId> {
        let up = |&at: &FileId| Some(self.file(at).parent);
        let mut chain: Vec<FileId> =
            std::iter::successors(Some(file), up).take_while(|&at| at != FileId::ROOT).collect();
        chain.reverse();
        chain
    }

    /// What is known of a file.
    ///
    /// # Panics
    /// When it is none of the workload's.
    pub fn file(&self, file: FileId) -> &File {
        &self.files[file.index()]
    }
}

impl Pass {
    /// How often regular files are opened.
    pub fn opens(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.deed, Deed::Access(_, Op::Open))).count()
    }
}
