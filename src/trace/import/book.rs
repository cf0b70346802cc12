//! Accesses as they come in, written down as steps: processes become streams, process trees groups.

use std::collections::HashMap;
use std::io::Write;

use super::paths::{below, resolve};
use super::{Imported, Lines};
use crate::clock::Micros;
use crate::engine::Step;
use crate::event::{AccessEvent, Facts, Op, Origin, Residency};
use crate::id::{FileId, GroupId, ProgramId, SessionId, StreamId};
use crate::names::{Names, Programs};
use crate::trace::record::Setting;
use crate::trace::{Recorder, TraceError};

/// Bytes collected before they are written.
const ENOUGH: usize = 64 << 10;
/// Where no time is told, accesses are so far apart.
pub(super) const PACE: u64 = 1000;

/// Where an import is written down.
pub(super) struct Book<'a> {
    out: &'a mut dyn Write,
    recorder: Recorder,
    names: Names,
    programs: Programs,
    below: Vec<u8>,
    processes: HashMap<u32, Process>,
    /// Groups of trees whose root was not seen itself, by its process number.
    trees: HashMap<u32, GroupId>,
    groups: u32,
    now: Micros,
    pub(super) imported: Imported,
}

#[derive(Clone, Copy)]
struct Process {
    stream: StreamId,
    group: GroupId,
    program: ProgramId,
}

/// One access.
pub(super) struct Seen<'a> {
    /// When, as far as told.
    pub(super) at: Option<Micros>,
    /// By which process. It must have begun.
    pub(super) process: u32,
    /// What; relative paths are below the root.
    pub(super) path: &'a [u8],
    /// How.
    pub(super) op: Op,
    /// Its size in bytes, if told.
    pub(super) size: Option<u64>,
}

impl<'a> Book<'a> {
    pub(super) fn new(setting: &Setting, below: Option<&[u8]>, out: &'a mut dyn Write) -> Self {
        Book {
            out,
            recorder: Recorder::new(setting, None),
            names: Names::new(),
            programs: Programs::new(),
            below: resolve(b"", below.unwrap_or_default()),
            processes: HashMap::new(),
            trees: HashMap::new(),
            // Number 0 is for those of whose parents nothing is told.
            groups: 1,
            now: Micros(0),
            imported: Imported::default(),
        }
    }

    /// Where paths have to be below, plain.
    pub(super) fn base(&self) -> &[u8] {
        &self.below
    }

    pub(super) fn knows(&self, process: u32) -> bool {
        self.processes.contains_key(&process)
    }

    /// A process is there, with what it runs.
    pub(super) fn begin(&mut self, process: u32, parent: Option<u32>, program: &str) {
        let above = parent.and_then(|parent| self.processes.get(&parent)).copied();
        let group = match (above, parent) {
            (Some(above), _) => above.group,
            (None, Some(parent)) => self.tree(parent),
            (None, None) => GroupId(0),
        };
        let program = self.programs.intern(program);
        let stream = StreamId(self.imported.streams as u32);
        self.imported.streams += 1;
        self.processes.insert(process, Process { stream, group, program });
        let parent = above.map(|above| above.stream);
        // Nobody tells of sessions: all of it was one.
        self.step(&Step::Begin(stream, Origin { parent, program, group, session: SessionId(0) }));
    }

    /// As [`Book::begin`], from a process that goes on to run what its parent runs.
    pub(super) fn fork(&mut self, process: u32, parent: u32) {
        let program = self.processes.get(&parent).and_then(|parent| self.programs.identity(parent.program));
        let program = program.unwrap_or_default().to_owned();
        self.begin(process, Some(parent), &program);
    }

    /// The process runs this now.
    pub(super) fn runs(&mut self, process: u32, program: &str) {
        let program = self.programs.intern(program);
        if let Some(known) = self.processes.get_mut(&process)
            && known.program != program
        {
            known.program = program;
            let stream = known.stream;
            self.step(&Step::Exec(stream, program));
        }
    }

    /// The process is over.
    pub(super) fn end(&mut self, process: u32) {
        if let Some(known) = self.processes.remove(&process) {
            self.step(&Step::End(known.stream));
        }
    }

    /// An access. What lies elsewhere is left out and counted.
    pub(super) fn access(&mut self, seen: &Seen<'_>) -> Result<(), TraceError> {
        // Clocks that go back stand still here.
        self.now = seen.at.map_or(Micros(self.now.0 + PACE), |at| at.max(self.now));
        let path = resolve(b"", seen.path);
        let file = below(&self.below, &path).map(|path| self.names.intern_path(path));
        let (Some(file), Some(&process)) = (
            file.filter(|&file| file != FileId::ROOT || seen.op == Op::List),
            self.processes.get(&seen.process),
        ) else {
            self.imported.left_out += 1;
            return Ok(());
        };
        if let Some(size) = seen.size {
            self.recorder.facts(file, Facts { size, ..Facts::default() }, &self.names);
        }
        let (at, stream) = (self.now, process.stream);
        let event = AccessEvent { at, stream, file, op: seen.op, residency: Residency::Unknown };
        self.imported.accesses += 1;
        self.step(&Step::Access(event));
        self.write(ENOUGH)
    }

    /// A line could not be understood.
    pub(super) fn misread<R>(&mut self, lines: &Lines<R>)
    where
        R: std::io::BufRead,
    {
        self.imported.unreadable += 1;
        self.imported.first_unreadable.get_or_insert(lines.number());
    }

    pub(super) fn left_out(&mut self) {
        self.imported.left_out += 1;
    }

    /// Writes the end.
    pub(super) fn finish(mut self) -> Result<Imported, TraceError> {
        self.write(0)?;
        self.imported.files = self.names.len() as u64 - 1;
        self.out.write_all(&self.recorder.finish()).map_err(unwritten)?;
        Ok(self.imported)
    }

    fn tree(&mut self, root: u32) -> GroupId {
        let groups = &mut self.groups;
        *self.trees.entry(root).or_insert_with(|| {
            *groups += 1;
            GroupId(*groups - 1)
        })
    }

    fn step(&mut self, step: &Step) {
        self.recorder.step(step, &[], &self.names, &self.programs);
    }

    fn write(&mut self, enough: usize) -> Result<(), TraceError> {
        if self.recorder.waiting() <= enough {
            return Ok(());
        }
        self.out.write_all(&self.recorder.take()).map_err(unwritten)
    }
}

fn unwritten(error: std::io::Error) -> TraceError {
    TraceError::Write { name: "the trace".into(), error }
}
