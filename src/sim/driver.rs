//! Around the engine in virtual time what `live::driver` and `live::crew` are around it in real time.
//!
//! The parts of these that decide anything are the very same ones: the board's order, the judging of opens,
//! the measuring of the source.
//!
//! What must stay true: the engine is told what the mount tells it, in the mount's order. It takes no virtual
//! time.

use std::time::Duration;

use super::account::Account;
use crate::clock::Micros;
use crate::engine::{Effect, Engine, Job, Outcome, Step, Target};
use crate::event::{AccessEvent, Op, Residency};
use crate::id::{FileId, JobId, StreamId};
use crate::live::Want;
use crate::live::board::state::State;
use crate::live::crew;
use crate::live::pace::{Pace, Ways};
use crate::live::verdicts::{Open, Verdicts};
use crate::predict::Prediction;

/// The engine hears of the time so often, as in `live::driver`.
const TICK: Duration = Duration::from_secs(1);

/// What an engine was told and what it asked for, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// What it was told.
    pub steps: Vec<Step>,
    /// What it asked for.
    pub effects: Vec<Effect>,
}

/// See the module's head.
pub(super) struct Driver {
    pub(super) engine: Engine,
    pub(super) account: Account,
    board: State,
    pace: Pace,
    verdicts: Verdicts,
    effects: Vec<Effect>,
    /// What the engine was last told of the source.
    ways: Option<Ways>,
    last_tick: Micros,
    script: Option<Script>,
}

impl Driver {
    /// A driver of this engine. `script`: write down what happens.
    pub(super) fn new(engine: Engine, script: bool) -> Driver {
        let pace = Pace::new();
        Driver {
            engine,
            account: Account::default(),
            board: State::new(pace.width()),
            pace,
            verdicts: Verdicts::default(),
            effects: Vec::new(),
            ways: None,
            last_tick: Micros(0),
            script: script.then(Script::default),
        }
    }

    /// Tells the engine, and keeps what it asks for.
    pub(super) fn tell(&mut self, step: Step) {
        let before = self.effects.len();
        self.engine.take(&step, &mut self.effects);
        if let Some(script) = &mut self.script {
            script.steps.push(step);
            script.effects.extend_from_slice(&self.effects[before..]);
        }
    }

    /// A process accesses a file.
    pub(super) fn access(&mut self, event: AccessEvent) {
        let AccessEvent { at, stream, file, op, residency } = event;
        match op {
            Op::Open if residency == Residency::Unknown => self.verdicts.opened(at, stream, file),
            Op::Read(_) => {
                self.verdicts.read(at, stream, file, residency);
            }
            _ => {}
        }
        self.tell(Step::Access(event));
    }

    /// What the stream is expected to open next.
    pub(super) fn next(&self, stream: StreamId) -> Option<Prediction> {
        self.engine.next(stream)
    }

    /// Carries out what the engine asked for, and what it asks for meanwhile.
    pub(super) fn carry_out(&mut self, at: Micros) {
        while !self.effects.is_empty() {
            for effect in std::mem::take(&mut self.effects) {
                match effect {
                    Effect::Prefetch(job) => {
                        self.account.asked(at, &job);
                        self.board.post(&job);
                    }
                    Effect::Withdraw(id) if self.board.withdraw(id) => {
                        self.account.settled(at, id, Outcome::Withdrawn);
                        self.tell(Step::Settled(at, id, Outcome::Withdrawn));
                    }
                    Effect::Withdraw(_) => {}
                }
            }
        }
    }

    /// The next job to begin, if another may be under way.
    pub(super) fn begin_job(&mut self) -> Option<Job> {
        let job = self.board.next()?;
        self.tell(Step::Started(job.id));
        Some(job)
    }

    /// A job has ended after `took`, with `foreground` requests of others at the source.
    pub(super) fn end_job(
        &mut self,
        at: Micros,
        job: &Job,
        outcome: Outcome,
        took: Duration,
        foreground: usize,
    ) {
        let flying = self.board.flying;
        self.board.finish(job);
        self.account.settled(at, job.id, outcome);
        self.tell(Step::Settled(at, job.id, outcome));
        if let Outcome::Warmed { bytes, .. } = outcome {
            self.measure(bytes, took, flying + foreground);
        }
    }

    /// The job that a process wants to wait for, now next in line if that is wise; it is awaited until
    /// [`Driver::leave`].
    pub(super) fn join(&mut self, file: FileId, want: Want) -> Option<JobId> {
        let id = self.board.planned(file, want)?;
        if self.pace.ways() != Ways::One {
            self.board.hasten(id);
        }
        *self.board.awaited.entry(id).or_default() += 1;
        Some(id)
    }

    /// One process less waits for the job.
    pub(super) fn leave(&mut self, job: JobId) {
        self.board.leave(job);
    }

    /// Is no job waiting or under way?
    pub(super) fn is_idle(&self) -> bool {
        self.board.stages.is_empty()
    }

    /// What the passing of time asks for.
    pub(super) fn beat(&mut self, now: Micros) {
        let mut judged: Vec<(Open, Residency)> = Vec::new();
        self.verdicts.judge(now, false, |open, found| judged.push((open, found)));
        for (open, found) in judged {
            self.tell(Step::Judge(now, open.stream, open.file, found));
        }
        self.carry_out(now);
        let ways = self.pace.ways();
        if self.ways.replace(ways) != Some(ways) {
            self.tell(Step::Window(crew::window(ways)));
        }
        if now.since(self.last_tick) >= TICK {
            self.last_tick = now;
            self.tell(Step::Tick(now));
            self.carry_out(now);
        }
    }

    /// How many steps were written down.
    pub(super) fn steps(&self) -> usize {
        self.script.as_ref().map_or(0, |script| script.steps.len())
    }

    /// What was written down.
    pub(super) fn into_script(self) -> Option<Script> {
        self.script
    }

    fn measure(&mut self, bytes: u64, took: Duration, at_once: usize) {
        if self.pace.record(bytes, took, at_once) {
            self.board.width = self.pace.width();
        }
    }
}

/// Does the job bring a file's bytes?
pub(super) fn brings_data(job: &Job) -> bool {
    job.target == Target::Data
}
