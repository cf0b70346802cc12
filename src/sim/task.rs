//! One thing that is under way in a simulation: a process's use of a file, or a job of the engine's.
//!
//! Both go the same way: name by name down to the file, each needing the entries it is among and its inode;
//! then the file itself. A process joins a job that brings what it wants, as in `mirror`; what is on its way
//! for anybody is not asked for again.
//!
//! What must stay true: a task that waits waits for one thing: a read, or a job and its deadline.

use std::time::Duration;

use super::kernel::Item;
use super::machine::Machine;
use crate::device::Nanos;
use crate::engine::{Facts, Job, Outcome, Target};
use crate::event::{AccessEvent, Op, Residency, Span};
use crate::id::{FileId, JobId, StreamId};
use crate::live::Want;
use crate::predict::Prediction;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) number: u64,
    pub(super) who: Who,
    file: FileId,
    /// Names to be resolved on the way to the file, from the top.
    chain: Vec<FileId>,
    /// How many of them are.
    at: usize,
    /// What the process found, of the name or the file it is at, as far as it had to wait.
    pub(super) found: Option<Residency>,
    /// Whether to join was asked for that name or file.
    asked_to_join: bool,
    pub(super) joining: Option<JobId>,
    /// The process waits for the source.
    turn: bool,
    opened: bool,
    read: bool,
    /// It had a read made for bytes, and how many.
    own_bytes: u64,
    /// Bytes of the file that it has seen come.
    pub(super) seen: u64,
    began: Nanos,
}

/// Whose task it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    /// A process's, that does a step.
    Process { step: usize, stream: StreamId, op: Op, expected: Option<Prediction> },
    /// The engine's.
    Engine(Job),
}

/// How far a task came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It waits.
    Waits,
    /// It is done, a job with this outcome.
    Done(Outcome),
}

/// What a process's task ends with: it has no outcome.
const USED: Progress = Progress::Done(Outcome::Failed);

impl Task {
    pub(super) fn new(number: u64, who: Who, file: FileId, chain: Vec<FileId>, began: Nanos) -> Task {
        Task {
            number,
            who,
            file,
            chain,
            at: 0,
            found: None,
            asked_to_join: false,
            joining: None,
            turn: false,
            opened: false,
            read: false,
            own_bytes: 0,
            seen: 0,
            began,
        }
    }

    /// How long ago it began.
    pub(super) fn age(&self, now: Nanos) -> Duration {
        Duration::from_nanos(now - self.began)
    }

    fn is_process(&self) -> bool {
        matches!(self.who, Who::Process { .. })
    }

    /// On to the next name, or to the file.
    fn next_name(&mut self) {
        self.at += 1;
        (self.found, self.asked_to_join) = (None, false);
    }
}

impl Machine<'_> {
    /// Does what can be done of a task without waiting.
    pub(super) fn go_on(&mut self, task: &mut Task) -> Progress {
        while let Some(&name) = task.chain.get(task.at) {
            if !self.resolve(task, name) {
                return Progress::Waits;
            }
            task.next_name();
        }
        match task.who {
            Who::Process { stream, op, .. } => self.use_file(task, stream, op),
            Who::Engine(job) => self.do_job(task, job),
        }
    }

    /// Is the name known? If not, what it takes is under way.
    fn resolve(&mut self, task: &mut Task, name: FileId) -> bool {
        if self.kernel.is_named(name) {
            return true;
        }
        if let Some(item) = self.kernel.missing_for_name(name) {
            if !self.join(task, name, Want::Attributes) {
                self.read(task, item, 0);
            }
            return false;
        }
        self.end_turn(task);
        if let (Who::Process { stream, .. }, Some(found)) = (task.who, task.found) {
            self.tell_access(stream, name, Op::Lookup, found);
        }
        self.kernel.name(name);
        true
    }

    fn use_file(&mut self, task: &mut Task, stream: StreamId, op: Op) -> Progress {
        match op {
            Op::Open => return self.open(task, stream),
            Op::List => return self.list(task, stream),
            Op::Write => {
                let account = &mut self.driver.account;
                self.kernel.write(task.file, |file| account.gone(file));
            }
            Op::Remove => {
                self.driver.account.gone(task.file);
                self.kernel.remove(task.file);
            }
            Op::Close => {}
            // The simulator makes these itself.
            Op::Lookup | Op::Read(_) => return USED,
        }
        self.tell_access(stream, task.file, op, Residency::Unknown);
        USED
    }

    fn open(&mut self, task: &mut Task, stream: StreamId) -> Progress {
        let (file, size) = (task.file, self.kernel.facts(task.file).size);
        if !std::mem::replace(&mut task.opened, true) {
            let Who::Process { expected, .. } = task.who else { return USED };
            let at = self.micros();
            self.driver.account.opened(at, file, expected);
            self.tell_access(stream, file, Op::Open, Residency::Unknown);
        }
        let there = self.kernel.memory.holds(file).max(task.seen);
        if there >= size && task.found.is_none() {
            return self.opened(task);
        }
        if self.join(task, file, Want::Data) {
            return Progress::Waits;
        }
        if !std::mem::replace(&mut task.read, true) {
            let found = task.found.unwrap_or(Residency::Miss);
            self.tell_access(stream, file, Op::Read(Span { offset: 0, len: size }), found);
        }
        if there >= size {
            return self.opened(task);
        }
        task.own_bytes += self.read(task, Item::Data(file), size);
        Progress::Waits
    }

    /// The file has been opened and read.
    fn opened(&mut self, task: &mut Task) -> Progress {
        self.end_turn(task);
        self.kernel.memory.touch(task.file);
        let shared = task.own_bytes == 0 && task.found == Some(Residency::Miss);
        let found = if shared { Residency::Partial } else { task.found.unwrap_or(Residency::Hit) };
        self.driver.account.found(found);
        USED
    }

    fn list(&mut self, task: &mut Task, stream: StreamId) -> Progress {
        if !std::mem::replace(&mut task.opened, true) {
            self.tell_access(stream, task.file, Op::List, Residency::Unknown);
        }
        if self.kernel.is_listed(task.file) {
            self.end_turn(task);
            return USED;
        }
        if !self.join(task, task.file, Want::Attributes) {
            self.read(task, Item::Entries(task.file), 0);
        }
        Progress::Waits
    }

    fn do_job(&mut self, task: &mut Task, job: Job) -> Progress {
        let facts = self.kernel.facts(job.file);
        let placeless = Facts { extent: 0, ..facts };
        Progress::Done(match job.target {
            _ if self.kernel.is_removed(job.file) => Outcome::Failed,
            Target::Facts => Outcome::Resident { facts },
            Target::Attributes | Target::Siblings if facts.directory && !self.kernel.is_listed(job.file) => {
                self.read(task, Item::Entries(job.file), 0);
                return Progress::Waits;
            }
            Target::Attributes | Target::Siblings => Outcome::Warmed { bytes: 0, facts: placeless },
            Target::Data if facts.directory => Outcome::Failed,
            Target::Data => {
                let wanted = facts.size.min(job.bytes);
                if self.kernel.memory.holds(job.file).max(task.seen) < wanted {
                    // What the source takes for the bytes alone is what it is judged by.
                    task.began = self.now;
                    task.own_bytes += self.read(task, Item::Data(job.file), wanted);
                    return Progress::Waits;
                }
                match task.own_bytes {
                    0 => Outcome::Resident { facts: placeless },
                    bytes => Outcome::Warmed { bytes, facts },
                }
            }
        })
    }

    /// Has a process wait for a planned job that brings what it wants, if there is one.
    fn join(&mut self, task: &mut Task, file: FileId, want: Want) -> bool {
        if !task.is_process() || std::mem::replace(&mut task.asked_to_join, true) {
            return false;
        }
        task.joining = self.driver.join(file, want);
        if let Some(job) = task.joining {
            self.await_job(task.number, job);
        }
        task.joining.is_some()
    }

    /// Has the task wait until something has come, of a file up to `to`. Says how many bytes of a file are read
    /// for it alone.
    fn read(&mut self, task: &mut Task, item: Item, to: u64) -> u64 {
        if task.is_process() && task.found.is_none() {
            task.found = Some(Residency::Miss);
            task.turn = true;
            self.foreground += 1;
        }
        let held = match item {
            Item::Data(file) => self.kernel.memory.holds(file),
            _ => 0,
        };
        let new = self.request(task.number, item, to, task.is_process());
        if new { to.saturating_sub(held) } else { 0 }
    }

    /// A process that had to wait for the source has what it wanted.
    fn end_turn(&mut self, task: &mut Task) {
        if std::mem::take(&mut task.turn) {
            self.foreground -= 1;
        }
    }

    fn tell_access(&mut self, stream: StreamId, file: FileId, op: Op, residency: Residency) {
        self.driver.access(AccessEvent { at: self.micros(), stream, file, op, residency });
    }
}
