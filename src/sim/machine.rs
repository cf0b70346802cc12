//! The simulated machine: processes, a kernel's memory, a device and the engine's driver, in virtual time.
//!
//! What must stay true: events are taken in the order of time, and of their making where the time is
//! the same, so that the same workload gives the same run; a pass ends when all its steps are done
//! and the workers are idle.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use super::driver::Driver;
use super::kernel::{Item, Kernel};
use super::layout;
use super::order::Order;
use super::run::Settings;
use super::task::{Progress, Task, Who};
use super::workload::{Deed, Pass, Workload};
use crate::clock::Micros;
use crate::device::{Device, Nanos};
use crate::engine::{Outcome, Step as Told};
use crate::event::{Op, Origin, Residency};
use crate::id::{GroupId, JobId, StreamId};

/// Using a file that is in memory: open, read and close of a small file through the `resident` path take
/// 3.3 us, 4.6 us while opens are watched.
pub(super) const USE: Nanos = 4_000;
/// Between two looks at the clock, as in `live::driver`.
const BEAT: Nanos = 100_000_000;
/// Between two passes: longer than the engine takes to see that a group is over.
const REST: Nanos = 4_000_000_000;
/// How long a process waits for a job at most: the default of `join_wait`.
const JOIN_WAIT: Nanos = 300_000_000;

/// See the module's head.
pub(super) struct Machine<'a> {
    workload: &'a Workload,
    pub(super) driver: Driver,
    pub(super) kernel: Kernel<'a>,
    device: Device,
    pub(super) now: Nanos,
    /// Processes that wait for the source and for nobody's job.
    pub(super) foreground: usize,
    timers: BinaryHeap<Reverse<(Nanos, u64, Timer)>>,
    /// Tasks that wait, by number.
    tasks: HashMap<u64, Task>,
    /// What is being read: for whom, and up to where.
    flights: HashMap<Item, (Vec<u64>, u64)>,
    requests: HashMap<u64, Item>,
    joiners: HashMap<JobId, Vec<u64>>,
    /// Numbers for timers, tasks and requests.
    numbers: u64,
    streams: u32,
    groups: u32,
    alive: BTreeSet<StreamId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A step's process has thought enough.
    Ready(usize),
    /// A step is done.
    Done(usize),
    /// A task has waited long enough for a job.
    Impatient(u64, JobId),
    Beat,
}

impl<'a> Machine<'a> {
    pub(super) fn new(workload: &'a Workload, settings: &Settings) -> Machine<'a> {
        Machine {
            workload,
            driver: Driver::new(settings.engine(workload), settings.script || settings.cost),
            kernel: Kernel::new(workload, settings.cache, settings.policy),
            device: Device::new(settings.device, layout::device_size(workload), settings.seed),
            now: 0,
            foreground: 0,
            timers: BinaryHeap::new(),
            tasks: HashMap::new(),
            flights: HashMap::new(),
            requests: HashMap::new(),
            joiners: HashMap::new(),
            numbers: 0,
            streams: 0,
            groups: 0,
            alive: BTreeSet::new(),
        }
    }

    /// Does a pass to its end, and rests until all of it is over. The time from its first step to its last.
    pub(super) fn run(&mut self, pass: &Pass) -> Nanos {
        let start = self.now;
        let mut order = Order::of(pass);
        order.first().into_iter().for_each(|step| self.think(pass, step));
        self.set_timer(start + BEAT, Timer::Beat);
        while !order.is_over() && self.happen(pass, &mut order) {}
        let end = self.now;
        for stream in std::mem::take(&mut self.alive) {
            self.driver.tell(Told::End(stream));
        }
        while self.now < end + REST || !self.is_calm() {
            self.happen(pass, &mut order);
        }
        self.timers.clear();
        (self.streams, self.groups) = (self.streams + pass.streams, self.groups + pass.groups);
        end - start
    }

    /// The moment, as the engine has it.
    pub(super) fn micros(&self) -> Micros {
        Micros(self.now / 1000)
    }

    /// Has the task wait for a job, but not for ever.
    pub(super) fn await_job(&mut self, task: u64, job: JobId) {
        self.joiners.entry(job).or_default().push(task);
        self.set_timer(self.now + JOIN_WAIT, Timer::Impatient(task, job));
    }

    /// Has the task wait until something has come, of a file up to `to`. Says whether it was not on its way yet.
    pub(super) fn request(&mut self, task: u64, item: Item, to: u64, urgent: bool) -> bool {
        if let Some((waiting, _)) = self.flights.get_mut(&item) {
            waiting.push(task);
            return false;
        }
        let (number, span) = (self.number(), self.kernel.span(item, to));
        self.flights.insert(item, (vec![task], to));
        self.requests.insert(number, item);
        if urgent {
            self.device.arrive(self.now, number, span);
        } else {
            self.device.arrive_patiently(self.now, number, span);
        }
        true
    }

    fn is_calm(&self) -> bool {
        self.driver.is_idle() && self.flights.is_empty() && self.tasks.is_empty()
    }

    /// The next event, and all that follows from it at the same moment. False when there is none.
    fn happen(&mut self, pass: &Pass, order: &mut Order) -> bool {
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        match (self.device.next_done(), timer) {
            (Some(done), timer) if timer.is_none_or(|timer| done <= timer) => {
                self.now = done;
                if let Some(number) = self.device.finish(done) {
                    self.arrive(number);
                }
            }
            _ => {
                let Some(Reverse((at, _, timer))) = self.timers.pop() else { return false };
                self.now = at;
                self.ring(timer, pass, order);
            }
        }
        self.settle_down();
        true
    }

    fn ring(&mut self, timer: Timer, pass: &Pass, order: &mut Order) {
        match timer {
            Timer::Ready(step) => self.begin_step(pass, step),
            Timer::Done(step) => order.done(step).into_iter().for_each(|next| self.think(pass, next)),
            Timer::Impatient(task, job) => self.give_up_waiting(task, job),
            // The others' end is the loop's; this one goes on until then.
            Timer::Beat => self.set_timer(self.now + BEAT, Timer::Beat),
        }
    }

    /// Lets the engine's wishes be carried out, and workers begin what they can.
    fn settle_down(&mut self) {
        self.driver.carry_out(self.micros());
        while let Some(job) = self.driver.begin_job() {
            let chain = self.workload.chain(job.file);
            let task = Task::new(self.number(), Who::Engine(job), job.file, chain, self.now);
            self.advance(task);
            self.driver.carry_out(self.micros());
        }
        self.driver.beat(self.micros());
    }

    /// Something has come from the device.
    fn arrive(&mut self, number: u64) {
        let Some(item) = self.requests.remove(&number) else { return };
        let Some((waiting, to)) = self.flights.remove(&item) else { return };
        let account = &mut self.driver.account;
        self.kernel.take_in(item, to, |file| account.gone(file));
        for task in waiting {
            let Some(mut task) = self.tasks.remove(&task) else { continue };
            if matches!(item, Item::Data(_)) {
                task.seen = task.seen.max(to);
            }
            self.advance(task);
        }
    }

    fn advance(&mut self, mut task: Task) {
        match (self.go_on(&mut task), task.who) {
            (Progress::Waits, _) => {
                self.tasks.insert(task.number, task);
            }
            (Progress::Done(_), Who::Process { step, .. }) => {
                self.set_timer(self.now + USE, Timer::Done(step));
            }
            (Progress::Done(outcome), Who::Engine(job)) => {
                let at = self.micros();
                self.driver.end_job(at, &job, outcome, task.age(self.now), self.foreground);
                self.release(job.id, outcome);
            }
        }
    }

    /// Who waited for a job goes on.
    fn release(&mut self, job: JobId, outcome: Outcome) {
        for task in self.joiners.remove(&job).unwrap_or_default() {
            let Some(mut task) = self.tasks.remove(&task) else { continue };
            self.driver.leave(job);
            task.joining = None;
            // A job that fails leaves nothing to be found.
            task.found = Some(Residency::Partial).filter(|_| outcome != Outcome::Failed);
            self.advance(task);
        }
    }

    fn give_up_waiting(&mut self, task: u64, job: JobId) {
        if self.tasks.get(&task).is_none_or(|task| task.joining != Some(job)) {
            return;
        }
        if let Some(joiners) = self.joiners.get_mut(&job) {
            joiners.retain(|&joiner| joiner != task);
        }
        self.driver.leave(job);
        if let Some(mut task) = self.tasks.remove(&task) {
            task.joining = None;
            self.advance(task);
        }
    }

    fn think(&mut self, pass: &Pass, step: usize) {
        let think = pass.steps[step].think.min(Duration::from_secs(1 << 20));
        self.set_timer(self.now + think.as_nanos() as Nanos, Timer::Ready(step));
    }

    fn begin_step(&mut self, pass: &Pass, number: usize) {
        let step = pass.steps[number];
        let stream = self.stream(step.stream);
        match step.deed {
            Deed::Access(file, op) => {
                let expected = if op == Op::Open { self.driver.next(stream) } else { None };
                let walks = matches!(op, Op::Open | Op::List | Op::Lookup);
                let chain = if walks { self.workload.chain(file) } else { Vec::new() };
                let who = Who::Process { step: number, stream, op, expected };
                let task = Task::new(self.number(), who, file, chain, self.now);
                return self.advance(task);
            }
            Deed::Begin(origin) => {
                self.alive.insert(stream);
                let parent = origin.parent.map(|parent| self.stream(parent));
                let group = GroupId(self.groups + origin.group.0);
                self.driver.tell(Told::Begin(stream, Origin { parent, group, ..origin }));
            }
            Deed::Exec(program) => self.driver.tell(Told::Exec(stream, program)),
            Deed::End => {
                self.alive.remove(&stream);
                self.driver.tell(Told::End(stream));
            }
        }
        self.set_timer(self.now, Timer::Done(number));
    }

    /// A stream of the present pass, numbered among those of all passes.
    fn stream(&self, stream: StreamId) -> StreamId {
        StreamId(self.streams + stream.0)
    }

    fn set_timer(&mut self, at: Nanos, timer: Timer) {
        let number = self.number();
        self.timers.push(Reverse((at, number, timer)));
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}
