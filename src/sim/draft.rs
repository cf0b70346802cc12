//! Writing a workload down: files by path, and what processes do, step by step.
//!
//! What must stay true: a directory is there before what is in it, and a path has one number.

use std::collections::HashMap;
use std::time::Duration;

use super::layout::{BLOCK, lay_out};
use super::workload::{Deed, File, Pass, Step, Workload};
use crate::event::{Facts, Op, Origin};
use crate::id::{FileId, GroupId, ProgramId, SessionId, StreamId};

/// A workload in the making.
#[derive(Debug)]
pub(super) struct Draft {
    workload: Workload,
    paths: HashMap<String, FileId>,
    programs: HashMap<String, ProgramId>,
}

/// A pass in the making, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) pass: Pass,
}

impl Draft {
    /// Nothing but the root.
    pub(super) fn new(name: &str) -> Draft {
        let mut draft = Draft {
            workload: Workload { name: name.to_owned(), ..Workload::default() },
            paths: HashMap::new(),
            programs: HashMap::new(),
        };
        draft.add(String::new(), "", FileId::ROOT, true, BLOCK);
        draft
    }

    /// The directory at a path, made with those above it when it is new.
    pub(super) fn directory(&mut self, path: &str) -> FileId {
        self.enter(path, true, BLOCK)
    }

    /// The file at a path, made with the directories above it and so many bytes when it is new.
    pub(super) fn file(&mut self, path: &str, size: u64) -> FileId {
        self.enter(path, false, size)
    }

    /// The program of that name.
    pub(super) fn program(&mut self, name: &str) -> ProgramId {
        let programs = &mut self.workload.programs;
        *self.programs.entry(name.to_owned()).or_insert_with(|| {
            programs.push(name.to_owned());
            ProgramId(programs.len() as u32 - 1)
        })
    }

    /// Sets what is known of a file.
    pub(super) fn set_facts(&mut self, file: FileId, facts: Facts) {
        self.workload.files[file.index()].facts = facts;
    }

    /// Another pass, behind those that are there.
    pub(super) fn pass(&mut self, story: Story) {
        self.workload.passes.push(story.pass);
    }

    /// The workload, with a place for every file.
    pub(super) fn finish(mut self) -> Workload {
        lay_out(&mut self.workload);
        self.workload
    }

    fn enter(&mut self, path: &str, directory: bool, size: u64) -> FileId {
        if let Some(&known) = self.paths.get(path) {
            return known;
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.enter(above, true, BLOCK);
        self.add(path.to_owned(), name, parent, directory, size)
    }

    fn add(&mut self, path: String, name: &str, parent: FileId, directory: bool, size: u64) -> FileId {
        let file = FileId(self.workload.files.len() as u32);
        let facts = Facts { size, directory, ..Facts::default() };
        self.workload.files.push(File { name: name.to_owned(), parent, facts });
        self.paths.insert(path, file);
        file
    }
}

impl Story {
    /// A process starts, in the one group there is; `parent` thinks before.
    pub(super) fn begin(
        &mut self,
        parent: Option<StreamId>,
        program: ProgramId,
        think: Duration,
    ) -> StreamId {
        let stream = StreamId(self.pass.streams);
        self.pass.streams += 1;
        self.pass.groups = 1;
        let origin = Origin { parent, program, group: GroupId(0), session: SessionId(0) };
        self.add(stream, think, Deed::Begin(origin));
        stream
    }

    /// A process runs another program.
    pub(super) fn exec(&mut self, stream: StreamId, program: ProgramId) {
        self.add(stream, Duration::ZERO, Deed::Exec(program));
    }

    /// A process ends.
    pub(super) fn end(&mut self, stream: StreamId) {
        self.add(stream, Duration::ZERO, Deed::End);
    }

    /// A process thinks, then opens and reads a file.
    pub(super) fn open(&mut self, stream: StreamId, file: FileId, think: Duration) {
        self.add(stream, think, Deed::Access(file, Op::Open));
    }

    /// A process thinks, then lists a directory.
    pub(super) fn list(&mut self, stream: StreamId, directory: FileId, think: Duration) {
        self.add(stream, think, Deed::Access(directory, Op::List));
    }

    /// A process thinks, then writes a file anew.
    pub(super) fn write(&mut self, stream: StreamId, file: FileId, think: Duration) {
        self.add(stream, think, Deed::Access(file, Op::Write));
        self.add(stream, Duration::ZERO, Deed::Access(file, Op::Close));
    }

    /// A process removes a file.
    pub(super) fn remove(&mut self, stream: StreamId, file: FileId) {
        self.add(stream, Duration::ZERO, Deed::Access(file, Op::Remove));
    }

    /// A process thinks, then does something.
    pub(super) fn add(&mut self, stream: StreamId, think: Duration, deed: Deed) {
        self.pass.steps.push(Step { stream, think, deed });
    }
}
