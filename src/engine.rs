//! The decision core: told what happens, it says what to fetch. Pure and deterministic: the same
//! inputs give the same effects, whether a mount, a simulator or a test drives it.
//!
//! How to drive it: `begin` each stream before its first access (parents first), `exec` and `end` it;
//! `observe` every access; carry out the effects in order, tell it `started` when a worker takes a job
//! up, and `settle` each job exactly once, withdrawn ones too; `tick` about once a second.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Micros;
use crate::config::Scope;
use crate::event::{AccessEvent, Op, Origin, Residency};
use crate::id::{FileId, GroupId, JobId, ProgramId, SessionId, StreamId};
use crate::plan::Planner;
use crate::predict::{Access, Kind, LoadError, Prediction, Predictor, PredictorChoice};
use crate::stream::{Stream, Streams};
use crate::walk::Walks;

mod account;
mod sight;
mod snapshot;
mod step;
mod upkeep;

pub use crate::event::Facts;
pub use crate::model::Learned;
pub use crate::plan::{
    Account, Effect, FactTable, Fate, Job, Last, Outcome, ParentOf, Parts, Standing, Target, Window,
};
pub use crate::predict::{Scans, Sightings};
pub use account::FileAccount;
use sight::Sight;
pub use snapshot::{Opens, Snapshot};
pub use step::Step;

/// What an engine is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How to predict.
    pub predictor: PredictorChoice,
    /// Whose accesses form one stream.
    pub scope: Scope,
    /// Bytes that may be on their way or unused at any time.
    pub budget: u64,
}

/// See the module's head.
pub struct Engine {
    predictor: Box<dyn Predictor>,
    streams: Streams,
    planner: Planner,
    walks: Walks,
    budget: u64,
    /// The latest moment anybody spoke of.
    now: Micros,
    events: u64,
    /// Names are not looked through before so many events: it would be in vain.
    untidy_until: u64,
    opens: Opens,
    programs: BTreeMap<ProgramId, Opens>,
}

impl Engine {
    /// An engine that knows nothing.
    pub fn new(settings: Settings) -> Self {
        Engine {
            predictor: settings.predictor.build(),
            streams: Streams::new(settings.scope),
            planner: Planner::new(settings.budget),
            walks: Walks::default(),
            budget: settings.budget,
            now: Micros(0),
            events: 0,
            untidy_until: 0,
            opens: Opens::default(),
            programs: BTreeMap::new(),
        }
    }

    /// Lets the plan ask which directory a file is in (`Names::parent`). It is called from within
    /// `observe`, `judge`, `settle` and `tick`: do not hold the names' lock around those.
    pub fn set_parents(&mut self, parent_of: ParentOf) {
        self.planner.set_parents(parent_of);
    }

    /// A stream starts; before its first access, and after its parent.
    pub fn begin(&mut self, stream: StreamId, origin: Origin) {
        if self.streams.get(stream).is_some() {
            self.end(stream);
        }
        for gone in self.streams.begin(stream, &origin, self.now) {
            self.predictor.end(gone);
        }
        let group = self.streams.group_of(stream, &origin);
        self.predictor.begin(stream, &Origin { group, ..origin });
    }

    /// The stream runs another program.
    pub fn exec(&mut self, stream: StreamId, program: ProgramId) {
        if self.streams.exec(stream, program, self.now)
            && let Some(&Stream { group, .. }) = self.streams.get(stream)
        {
            // In another group it starts from where it stands.
            let origin = Origin { parent: Some(stream), program, group, session: SessionId(0) };
            return self.predictor.begin(stream, &origin);
        }
        self.end_walk(stream);
        self.predictor.exec(stream, program);
    }

    /// The stream is over. Its group is over when it has been without streams for two seconds.
    pub fn end(&mut self, stream: StreamId) {
        self.end_walk(stream);
        if self.streams.end(stream, self.now) {
            self.predictor.end(stream);
        }
    }

    /// Is this stream known? (Of very many, the longest idle ones are forgotten: begin them again.)
    pub fn knows(&self, stream: StreamId) -> bool {
        self.streams.get(stream).is_some()
    }

    /// The group that a stream belongs to.
    pub fn group(&self, stream: StreamId) -> Option<GroupId> {
        self.streams.get(stream).map(|stream| stream.group)
    }

    /// Files that one-pass walks have left behind, when there is room for `room` bytes of what one of them goes through: they
    /// need not stay in memory. Each is told once; whether they are let go makes no difference here.
    pub fn left_behind(&mut self, room: u64, out: &mut Vec<FileId>) {
        self.planner.left_behind(room, out);
    }

    /// Is the group not over yet?
    pub fn knows_group(&self, group: GroupId) -> bool {
        self.streams.knows_group(group)
    }

    /// The group that a job under way was asked for; `None` of one that only looks.
    pub fn group_of_job(&self, job: JobId) -> Option<GroupId> {
        self.planner.group_of(job)
    }

    /// An access. Those of unknown streams are counted, no more.
    pub fn observe(&mut self, event: &AccessEvent, effects: &mut Vec<Effect>) {
        self.events += 1;
        self.now = self.now.max(event.at);
        let stream = self.streams.hear(event.stream);
        match event.op {
            Op::Open => self.count_open(stream, event.residency),
            Op::Remove => return self.planner.drop_file(event.file, effects),
            Op::Close => return self.inquire(event.file, true, effects),
            Op::Write => return,
            Op::Read(span) => self.planner.read(event.file, span),
            Op::Lookup | Op::List => {}
        }
        match stream {
            Some(Stream { group, .. }) => self.learn(event, group, effects),
            None if event.op == Op::Lookup => {}
            None => {
                self.planner.used(event.file, event.at);
            }
        }
    }

    /// What an earlier open turned out to have found.
    pub fn judge(
        &mut self,
        at: Micros,
        stream: StreamId,
        file: FileId,
        residency: Residency,
        effects: &mut Vec<Effect>,
    ) {
        self.now = self.now.max(at);
        let Some(&Stream { program, group, .. }) = self.streams.get(stream) else {
            return self.opens.judge(residency);
        };
        self.opens.judge(residency);
        self.programs.entry(program).or_default().judge(residency);
        if matches!(residency, Residency::Partial | Residency::Miss) {
            self.missed(group, file);
            self.advance(group, effects);
        }
    }

    /// A worker took the job up; it will not be withdrawn any more.
    pub fn started(&mut self, job: JobId) {
        self.planner.started(job);
    }

    /// A job is done, one way or the other. Exactly once for each.
    pub fn settle(&mut self, at: Micros, job: JobId, outcome: Outcome, effects: &mut Vec<Effect>) {
        self.now = self.now.max(at);
        if let Some(group) = self.planner.settle(at, job, outcome, effects) {
            self.advance(group, effects);
        }
    }

    /// Time passes: ends groups, gives up what waited too long, goes on with plans.
    pub fn tick(&mut self, at: Micros, effects: &mut Vec<Effect>) {
        self.now = self.now.max(at);
        for group in self.streams.ended_groups(self.now) {
            self.predictor.end_group(group);
            self.planner.end_group(group, effects);
        }
        self.planner.age(self.now);
        let mut sight = Sight { predictor: self.predictor.as_mut(), walks: &mut self.walks };
        self.planner.advance_all(&mut sight, effects);
    }

    /// Sets the budget in bytes.
    pub fn set_budget(&mut self, budget: u64) {
        self.budget = budget;
        self.planner.set_budget(budget);
    }

    /// Sets how much one group asks for at once.
    pub fn set_window(&mut self, window: Window) {
        self.planner.set_window(window);
    }

    /// Forgets a file: its history, its facts, and what is under way for it.
    pub fn forget(&mut self, file: FileId, effects: &mut Vec<Effect>) {
        self.planner.drop_file(file, effects);
        self.planner.forget(file);
        self.predictor.forget(&|other| other == file);
    }

    /// Forgets what a model says of files that have no name any more: their numbers are to be given to others.
    pub fn forget_nameless(&mut self, nameless: &[FileId]) {
        let sorted: BTreeSet<FileId> = nameless.iter().copied().collect();
        nameless.iter().for_each(|&file| self.planner.forget(file));
        self.walks.forget();
        self.predictor.forget(&|file| sorted.contains(&file));
    }

    /// The file that the stream is expected to open next, as far as anything is expected.
    pub fn next(&self, stream: StreamId) -> Option<Prediction> {
        self.predictor.next(stream)
    }

    /// Is anything fetched ahead for anybody at the moment?
    pub fn armed(&self) -> bool {
        self.planner.armed() > 0
    }

    /// What is known of a file.
    pub fn facts(&self, file: FileId) -> Option<Facts> {
        self.planner.facts().get(file)
    }

    /// Nothing will happen any more: what waits for its use was wasted.
    pub fn close(&mut self) {
        self.planner.give_up();
    }

    /// What it was made with, with the budget it has now.
    pub fn settings(&self) -> Settings {
        let (predictor, scope) = (self.predictor.choice(), self.streams.scope());
        Settings { predictor, scope, budget: self.budget }
    }

    /// The figures now.
    pub fn snapshot(&self) -> Snapshot {
        let footprint = self.predictor.footprint();
        Snapshot {
            predictor: self.predictor.choice().to_string(),
            files: footprint.files,
            nodes: footprint.nodes,
            bytes: footprint.bytes + self.planner.bytes() as u64,
            followers: footprint.followers,
            armed: self.planner.armed() as u64,
            streams: self.streams.len() as u64,
            events: self.events,
            opens: self.opens,
            programs: self.programs.iter().map(|(&program, &opens)| (program, opens)).collect(),
            prefetch: self.planner.fate(),
            scans: self.predictor.scans(),
            budget: self.budget,
        }
    }

    /// Everything worth keeping.
    pub fn learned(&self) -> Learned {
        let mut learned = Learned { predictor: self.predictor.choice().to_string(), ..Learned::default() };
        self.planner.facts().save(&mut learned.facts);
        self.predictor.save(&mut learned.history);
        learned
    }

    /// Takes up what an earlier engine learned about files numbered below `files`. The history of
    /// another predictor, or of other parameters, is left aside; says whether it was taken.
    ///
    /// # Errors
    /// When the bytes are damaged; then nothing was taken.
    pub fn restore(&mut self, learned: &Learned, files: usize) -> Result<bool, LoadError> {
        let facts = FactTable::load(&learned.facts, files)?;
        let same = learned.predictor == self.predictor.choice().to_string();
        if same {
            self.predictor.load(&learned.history, files)?;
        }
        self.planner.set_facts(facts, files);
        Ok(same)
    }

    /// Facts serve predictions: without any, nobody is asked for them.
    fn inquire(&mut self, file: FileId, again: bool, effects: &mut Vec<Effect>) {
        if self.predictor.choice() != PredictorChoice::None {
            self.planner.inquire(file, again, effects);
        }
    }

    fn count_open(&mut self, stream: Option<Stream>, residency: Residency) {
        self.opens.total += 1;
        self.opens.judge(residency);
        if let Some(Stream { program, .. }) = stream {
            let opens = self.programs.entry(program).or_default();
            opens.total += 1;
            opens.judge(residency);
        }
    }

    fn learn(&mut self, event: &AccessEvent, group: GroupId, effects: &mut Vec<Effect>) {
        let &AccessEvent { at, stream, file, op, residency } = event;
        let kind = match op {
            Op::Open => Some(Kind::Open),
            Op::List => Some(Kind::List),
            Op::Lookup => Some(Kind::Lookup),
            _ => None,
        };
        if let Op::Read(span) = op {
            self.walks.read(stream, file, span);
        }
        let course = kind.map(|kind| self.predictor.observe(Access { stream, file, kind }));
        if let Some(kind) = kind {
            self.walk(event, kind, group);
        }
        if op == Op::Open {
            self.planner.passes(group, file);
        }
        let ours = if op == Op::Lookup {
            // Of a directory that was looked up the entries are not in memory yet.
            if !self.walks.is_directory(file) {
                self.planner.named(file);
            }
            false
        } else {
            self.planner.used(file, at)
        };
        if matches!(op, Op::Open | Op::List) {
            self.inquire(file, false, effects);
        }
        if let Some(course) = course {
            self.steer(group, course, effects);
        }
        if residency == Residency::Miss && matches!(op, Op::Read(span) if span.offset == 0) {
            self.planner.gone_again(file);
        }
        if matches!(residency, Residency::Partial | Residency::Miss) {
            self.missed(group, file);
        } else if op == Op::Open {
            self.planner.opened(group, ours, effects);
        }
        self.advance(group, effects);
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
