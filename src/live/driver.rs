//! The engine thread: tells the engine what happens and carries out what it asks for.
//!
//! What must stay true: only this thread touches the engine, and it waits for nobody but its inputs. A stream is
//! announced to the engine before its first access. Idle means asleep: without inputs nothing wakes
//! it, except a model that is due to be saved. If the engine panics, prefetching is over, whoever waits is
//! released, and nothing else notices.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use parking_lot::Mutex;

use super::behind::Behind;
use super::crew::{self, Crew};
use super::desk::{Desk, Input};
use super::pace::Ways;
use super::pressure::{Pressure, Sight};
use super::processes::Announcement;
use super::tape::Tape;
use super::users::Users;
use super::verdicts::{Open, Verdicts};
use crate::clock::Micros;
use crate::config::InodeWindow;
use crate::engine::{Effect, Engine, Job, Outcome, Step, Target, Window};
use crate::event::{AccessEvent, Op, Residency};
use crate::id::{JobId, ProgramId, StreamId};
use crate::names::Programs;
use crate::replace::Labels;
use crate::sys::cgroup::Groups;
use crate::sys::memory;

/// Between two looks at opens that wait for their judgement, while there is anything to look at.
const BEAT: Duration = Duration::from_millis(100);
/// The engine wants to hear of the time about so often.
const TICK: Duration = Duration::from_secs(1);
/// After so long without inputs the thread sleeps until the next one. Longer than the engine takes to
/// see that a group is over (2 s).
const CALM: Duration = Duration::from_secs(5);
/// Inputs faster than this are taken in together, after a nap: waking the thread for each costs its sender
/// more than the work is worth.
const NAP: Duration = Duration::from_millis(1);
/// The same while nothing is fetched for anybody: all there is to do is to learn, and a job that begins to
/// wait for the device loses one of them.
const CALM_NAP: Duration = Duration::from_millis(5);
/// Inputs taken before the clock is looked at again.
const GULP: usize = 1024;

/// Done by the engine thread before it takes inputs.
pub(crate) type Preparation = Box<dyn FnOnce(&mut Engine) + Send>;

/// What the engine thread owns.
pub(crate) struct Driver {
    pub(crate) engine: Engine,
    pub(crate) desk: Arc<Desk>,
    pub(crate) crew: Arc<Crew>,
    pub(crate) programs: Arc<Mutex<Programs>>,
    pub(crate) tape: Arc<Tape>,
    /// Called, with what was learned since, when the model is due to be saved. Must not block.
    pub(crate) save: Option<(Duration, Box<dyn FnMut() + Send>)>,
    pub(crate) inode_window: InodeWindow,
    pub(crate) pressure: Pressure,
    /// The control groups we are in.
    pub(crate) groups: Groups,
    pub(crate) behind: Behind,
    /// What is left to be done before the first input.
    pub(crate) preparation: Option<Preparation>,
    pub(crate) rounds: Rounds,
}

/// The thread's own notes.
#[derive(Default)]
pub(crate) struct Rounds {
    verdicts: Verdicts,
    effects: Vec<Effect>,
    posts: Vec<Job>,
    /// Questions about files: they can wait for the next beat, and wake one worker then instead of one each.
    questions: Vec<Job>,
    announcements: Vec<Announcement>,
    users: Users,
    streams: HashMap<StreamId, Program>,
    labels: Labels,
    last_input: Micros,
    last_tick: Micros,
    last_questions: Micros,
    last_save: Micros,
    /// Something was learned since the last save.
    dirty: bool,
    /// What the engine was last told of the source, and whether it is paused.
    told: Option<(Ways, bool)>,
}

#[derive(Clone)]
struct Program {
    id: ProgramId,
    name: Arc<str>,
}

impl Driver {
    /// Runs until it is told to stop; returns at once if the engine panics.
    pub(crate) fn run(mut self, inputs: &Receiver<Input>) {
        let (desk, crew, tape) = (self.desk.clone(), self.crew.clone(), self.tape.clone());
        // The engine is dropped with the panic: nobody sees what it left half done.
        let result = catch_unwind(AssertUnwindSafe(move || self.follow(inputs)));
        if result.is_err() {
            log::error!("the engine failed: prefetching is off, the mount goes on");
        }
        desk.turn_off();
        crew.close();
        if result.is_err() {
            tape.end(None);
        }
    }

    fn follow(&mut self, inputs: &Receiver<Input>) {
        if let Some(prepare) = self.preparation.take() {
            prepare(&mut self.engine);
        }
        self.tell(Step::InodeWindow(self.inode_window));
        loop {
            let woken = self.desk.clock.now();
            let input = match self.patience(woken) {
                Some(patience) => inputs.recv_timeout(patience),
                None => inputs.recv().map_err(RecvTimeoutError::from),
            };
            match input {
                Ok(input) => {
                    if self.take(input, inputs, woken).is_break() {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.beat();
        }
    }

    /// Takes an input and those behind it.
    fn take(
        &mut self,
        first: Input,
        inputs: &Receiver<Input>,
        waited_since: Micros,
    ) -> std::ops::ControlFlow<()> {
        let mut now = self.desk.clock.now();
        let nap = if self.engine.armed() { NAP } else { CALM_NAP };
        if now.since(waited_since) < nap {
            std::thread::sleep(nap);
            now = self.desk.clock.now();
        }
        self.rounds.last_input = now;
        self.desk.counters.stir.tell();
        let mut gulp = vec![first];
        gulp.extend(inputs.try_iter().take(GULP));
        // Whoever handed an access in had announced its stream before.
        self.hear_announcements();
        for input in gulp {
            match input {
                Input::Access(event) => self.access(&event),
                Input::Accesses(events) => events.iter().for_each(|event| self.access(event)),
                Input::Started(job) => self.tell(Step::Started(job)),
                Input::Settled(job, outcome) => self.settle(now, job, outcome),
                Input::Wake => {}
                Input::Listed(pieces) => pieces.into_iter().for_each(|piece| self.tell(Step::Listed(piece))),
                Input::Visit(visit) => visit(&mut self.engine),
                Input::Stop => return std::ops::ControlFlow::Break(()),
            }
            self.carry_out(now);
        }
        std::ops::ControlFlow::Continue(())
    }

    fn hear_announcements(&mut self) {
        self.desk.processes.announcements(&mut self.rounds.announcements);
        for announcement in std::mem::take(&mut self.rounds.announcements) {
            match announcement {
                Announcement::Begin(stream, origin) => {
                    self.tell(Step::Begin(stream, origin));
                    self.runs(stream, origin.program);
                    self.rounds.users.is(stream, self.desk.processes.user(stream));
                }
                Announcement::User(stream) => {
                    self.rounds.users.is(stream, self.desk.processes.user(stream));
                }
                Announcement::Exec(stream, program) => {
                    self.tell(Step::Exec(stream, program));
                    self.runs(stream, program);
                }
                Announcement::End(stream) => {
                    self.tell(Step::End(stream));
                    self.rounds.streams.remove(&stream);
                    self.rounds.users.end(stream);
                }
            }
        }
    }

    fn runs(&mut self, stream: StreamId, id: ProgramId) {
        let known = self.rounds.streams.get(&stream).is_some_and(|program| program.id == id);
        if known {
            return;
        }
        let programs = self.programs.lock();
        let path = programs.identity(id).filter(|path| !path.is_empty()).unwrap_or("(unknown)");
        let name = path.rsplit('/').next().unwrap_or(path).into();
        self.rounds.streams.insert(stream, Program { id, name });
    }

    fn access(&mut self, event: &AccessEvent) {
        self.desk.counters.events.seen.one();
        self.rounds.dirty = true;
        let &AccessEvent { at, stream, file, op, residency } = event;
        if !self.engine.knows(stream)
            && let Some(origin) = self.desk.processes.origin(stream)
        {
            // The engine had forgotten it for being idle.
            self.tell(Step::Begin(stream, origin));
        }
        if let Some(group) = self.engine.group(stream) {
            self.rounds.users.access(stream, group);
        }
        match op {
            Op::Open if residency == Residency::Unknown => self.rounds.verdicts.opened(at, stream, file),
            Op::Open => self.count(stream, residency),
            Op::Read(span) => {
                let first = self.rounds.verdicts.read(at, stream, file, residency);
                if first && span.offset == 0 && self.desk.reads_stand_in(at) {
                    self.count(stream, residency);
                    let open = AccessEvent { op: Op::Open, ..*event };
                    self.tell(Step::Access(open));
                }
            }
            _ => {}
        }
        self.label(event);
        self.tell(Step::Access(*event));
    }

    /// Notes how the program refers to its files, and says so when that has changed.
    fn label(&mut self, event: &AccessEvent) {
        let Rounds { streams, labels, .. } = &mut self.rounds;
        let Some(program) = streams.get(&event.stream) else { return };
        let turn = match event.op {
            Op::Open => labels.open(program.id, event.file),
            Op::Read(span) => labels.read(program.id, event.file, span),
            _ => None,
        };
        if let Some(turn) = turn {
            log::debug!("{}", turn.told_of(&program.name));
            self.desk.counters.label(&program.name, turn.to.as_str());
        }
    }

    /// Tells the engine, and keeps what it asks for.
    fn tell(&mut self, step: Step) {
        let before = self.rounds.effects.len();
        self.engine.take(&step, &mut self.rounds.effects);
        self.tape.step(&step, &self.rounds.effects[before..]);
    }

    fn count(&self, stream: StreamId, found: Residency) {
        let name = self.rounds.streams.get(&stream).map_or("(unknown)", |program| &program.name);
        self.desk.counters.open(name, found);
    }

    fn settle(&mut self, at: Micros, job: JobId, outcome: Outcome) {
        self.tell(Step::Settled(at, job, outcome));
    }

    /// Carries out what the engine asked for, and what it asks for meanwhile.
    fn carry_out(&mut self, at: Micros) {
        while !self.rounds.effects.is_empty() {
            let effects = std::mem::take(&mut self.rounds.effects);
            for effect in effects {
                match effect {
                    Effect::Prefetch(job) if job.target == Target::Facts => self.rounds.questions.push(job),
                    Effect::Prefetch(job) => self.rounds.posts.push(job),
                    Effect::Withdraw(job) => {
                        // It may be among those not posted yet.
                        self.post();
                        if self.crew.withdraw(job) {
                            self.settle(at, job, Outcome::Withdrawn);
                        }
                    }
                }
            }
        }
        self.post();
    }

    fn post(&mut self) {
        if !self.rounds.posts.is_empty() {
            let whose = |job: &Job| Some((job.id, self.rounds.users.of(self.engine.group_of_job(job.id)?)));
            self.crew.are_for(self.rounds.posts.iter().filter_map(whose));
            self.crew.post(&self.rounds.posts);
            self.rounds.posts.clear();
        }
    }

    /// What the passing of time asks for.
    fn beat(&mut self) {
        let now = self.desk.clock.now();
        if now.since(self.rounds.last_questions) >= BEAT {
            self.rounds.last_questions = now;
            self.rounds.posts.append(&mut self.rounds.questions);
            self.post();
            self.leave_behind(now);
        }
        self.judge(now);
        self.tune();
        if now.since(self.rounds.last_tick) >= TICK {
            self.rounds.last_tick = now;
            self.desk.processes.sweep();
            self.rounds.users.sweep(|group| self.engine.knows_group(group));
            self.hear_announcements();
            self.tell(Step::Tick(now));
            self.carry_out(now);
            super::figures::publish(&self.engine, &self.desk.counters);
            self.mind_memory(now);
        }
        if self.save_due(now) == Some(Duration::ZERO) {
            self.rounds.last_save = now;
            self.rounds.dirty = false;
            if let Some((_, save)) = &mut self.save {
                save();
            }
        }
        self.tape.flush();
    }

    /// Tells the engine how much to ask for, when that has changed.
    fn tune(&mut self) {
        let (ways, _) = self.crew.standing();
        let paused = self.desk.tuning.is_paused();
        if self.rounds.told.replace((ways, paused)) != Some((ways, paused)) {
            let window = crew::window(ways);
            // An empty window asks for nothing; what was learned stays, and more is.
            self.tell(Step::Window(if paused { Window { files: 0, ..window } } else { window }));
        }
        if let Some(budget) = self.desk.tuning.new_budget() {
            self.pressure.ask(Some(budget), budget);
            self.tell(Step::Budget(budget));
        }
    }

    /// While memory is full, what walks leave behind does not stay in it.
    fn leave_behind(&mut self, now: Micros) {
        if self.engine.armed() && self.pressure.see(memory::now(&mut self.groups)) {
            self.mind_memory(now);
        }
        let Some(room) = self.pressure.room() else { return };
        let mut files = Vec::new();
        self.engine.left_behind(room, &mut files);
        self.behind.leave(&files, &self.crew, &self.desk);
    }

    /// Adapts the budget to the memory there is.
    fn mind_memory(&mut self, now: Micros) {
        let evicted = self.desk.counters.restraint.evicted_files.get();
        let sight = Sight { memory: memory::now(&mut self.groups), stalls: memory::stalls(), evicted };
        if let Some((budget, cut)) = self.pressure.look(sight) {
            self.desk.counters.restraint.cuts.add(cut.into());
            self.tell(Step::Budget(budget));
            self.carry_out(now);
        }
    }

    fn judge(&mut self, now: Micros) {
        let mut judged: Vec<(Open, Residency)> = Vec::new();
        self.rounds.verdicts.judge(now, false, |open, found| judged.push((open, found)));
        for (open, found) in judged {
            self.count(open.stream, found);
            self.tell(Step::Judge(now, open.stream, open.file, found));
        }
        self.carry_out(now);
    }

    /// How long to sleep at most; `None` is until something comes.
    fn patience(&self, now: Micros) -> Option<Duration> {
        let busy = now.since(self.rounds.last_input) < CALM || !self.rounds.verdicts.is_empty();
        if busy { Some(BEAT) } else { self.save_due(now) }
    }

    /// Time left until the model is due to be saved, if it is worth saving at all.
    fn save_due(&self, now: Micros) -> Option<Duration> {
        let (interval, _) = self.save.as_ref().filter(|_| self.rounds.dirty)?;
        let interval = self.desk.tuning.save_interval().unwrap_or(*interval);
        Some(interval.saturating_sub(now.since(self.rounds.last_save)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Scope;
    use crate::engine::Settings;
    use crate::live::backing::{Backing, Scratch};
    use crate::live::board::Want;
    use crate::live::processes::Processes;
    use crate::predict::PredictorChoice;

    struct Nowhere;

    impl Backing for Nowhere {
        fn warm(&self, _: &Job, _: &mut Scratch, _: &dyn Fn(Want)) -> Outcome {
            Outcome::Failed
        }
    }

    fn driver(save: Option<Duration>) -> (Driver, Receiver<Input>) {
        let (desk, inputs) = Desk::new(Processes::new(Box::new(|_| ProgramId(0))), Arc::default());
        let desk = Arc::new(desk);
        let driver = Driver {
            engine: Engine::new(Settings {
                predictor: PredictorChoice::Match,
                scope: Scope::Job,
                budget: 1 << 20,
            }),
            crew: Arc::new(Crew::new(Box::new(Nowhere), desk.clone(), Duration::ZERO, None)),
            desk,
            programs: Arc::default(),
            tape: Arc::new(Tape::new(Arc::default(), Arc::default())),
            save: save.map(|interval| (interval, Box::new(|| {}) as Box<dyn FnMut() + Send>)),
            inode_window: InodeWindow::Off,
            pressure: Pressure::new(Some(1 << 20), 1 << 20),
            groups: Groups::default(),
            behind: Behind::default(),
            preparation: None,
            rounds: Rounds::default(),
        };
        (driver, inputs)
    }

    const SOON: Micros = Micros(1_000_000);
    const LATER: Micros = Micros(60_000_000);

    #[test]
    fn idle_is_asleep() {
        let (driver, _inputs) = driver(Some(Duration::from_secs(300)));
        assert_eq!(driver.patience(SOON), Some(BEAT));
        assert_eq!(driver.patience(LATER), None, "nothing was learned: nothing to save either");
    }

    #[test]
    fn what_is_left_to_do_wakes_in_time() {
        let (mut driver, _inputs) = driver(Some(Duration::from_secs(300)));
        driver.rounds.dirty = true;
        assert_eq!(driver.patience(LATER), Some(Duration::from_secs(240)));
        driver.rounds.verdicts.opened(LATER, StreamId(0), crate::id::FileId(1));
        assert_eq!(driver.patience(LATER), Some(BEAT));
    }

    #[test]
    fn streams_have_begun_before_their_accesses() {
        let (mut driver, inputs) = driver(None);
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stream = driver.desk.processes.process(child.id()).stream;
        driver.desk.access(stream, crate::id::FileId(1), Op::Open, Residency::Hit);
        let first = inputs.recv().unwrap();
        assert!(driver.take(first, &inputs, Micros(0)).is_continue());
        assert!(driver.engine.knows(stream));
        driver.engine.end(stream);
        driver.desk.access(stream, crate::id::FileId(2), Op::Open, Residency::Hit);
        let second = inputs.recv().unwrap();
        assert!(driver.take(second, &inputs, Micros(0)).is_continue());
        assert!(driver.engine.knows(stream), "forgotten, and begun again");
        let mut child = child;
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
