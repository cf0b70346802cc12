//! The engine as a driver sees it: a small world with a device, a page cache and a worker, which
//! checks after every step what must always hold.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

mod large;
mod life;
mod memory;
mod random;

const BUDGET: u64 = 1 << 20;
const MATCH: Settings = Settings { predictor: PredictorChoice::Match, scope: Scope::Job, budget: BUDGET };

/// Files 1..10 are directories, the others lie on the device in the reverse order of their numbers.
fn facts_of(file: FileId) -> Facts {
    let number = u64::from(file.0);
    let directory = number < 10;
    let extent = if directory { 0 } else { (100_000 - number) << 12 };
    Facts { inode: 1_000 + number, size: 4_096 * (1 + number % 3), extent, directory }
}

/// A driver that believes nothing.
struct World {
    engine: Engine,
    now: Micros,
    streams: u32,
    cached: BTreeSet<FileId>,
    /// Files that are not there: jobs for them fail.
    missing: BTreeSet<FileId>,
    failed: usize,
    /// Jobs asked for and neither settled nor withdrawn, and those withdrawn but not settled.
    queue: BTreeMap<JobId, Job>,
    begun: BTreeSet<JobId>,
    withdrawn: BTreeMap<JobId, Job>,
    /// Came and not used since.
    unused: BTreeMap<FileId, u64>,
    /// Jobs whose file was used while they were under way.
    overtaken: BTreeSet<JobId>,
    wasted: u64,
    log: Vec<Effect>,
    budget: u64,
    /// Held when the budget was cut, and not to be withdrawn: it may only become less.
    stuck: u64,
}

impl World {
    fn new(settings: Settings) -> Self {
        World {
            engine: Engine::new(settings),
            now: Micros(0),
            streams: 0,
            cached: BTreeSet::new(),
            missing: BTreeSet::new(),
            failed: 0,
            queue: BTreeMap::new(),
            begun: BTreeSet::new(),
            withdrawn: BTreeMap::new(),
            unused: BTreeMap::new(),
            overtaken: BTreeSet::new(),
            wasted: 0,
            log: Vec::new(),
            budget: settings.budget,
            stuck: 0,
        }
    }

    fn process(&mut self, program: u32, group: u32) -> StreamId {
        self.streams += 1;
        let stream = StreamId(self.streams);
        self.engine.begin(
            stream,
            Origin {
                parent: None,
                program: ProgramId(program),
                group: GroupId(group),
                session: SessionId(0),
            },
        );
        stream
    }

    fn take(&mut self, effects: Vec<Effect>) {
        // Which files were given up is the engine's own affair.
        let wasted = self.engine.snapshot().prefetch.wasted_files;
        if std::mem::replace(&mut self.wasted, wasted) != wasted {
            self.unused.clear();
        }
        for effect in effects {
            match effect {
                Effect::Prefetch(job) => self.asked(job),
                Effect::Withdraw(id) => {
                    let job = self.queue.remove(&id).expect("only what was asked for is withdrawn");
                    assert!(!self.begun.contains(&id), "what has begun is not withdrawn");
                    self.withdrawn.insert(id, job);
                }
            }
            self.log.push(effect);
        }
        self.stuck = self.stuck.min(self.held());
        self.check();
    }

    fn held(&self) -> u64 {
        let fate = self.engine.snapshot().prefetch;
        fate.in_flight_bytes + fate.unused_bytes
    }

    /// Memory is short, or not any more. What has not begun goes if it does not fit.
    fn set_budget(&mut self, budget: u64) {
        let mut effects = Vec::new();
        self.engine.take(&Step::Budget(budget), &mut effects);
        (self.budget, self.stuck) = (budget, self.held());
        self.take(effects);
        if self.held() > budget {
            let idle = |job: &&Job| job.target == Target::Data && !self.begun.contains(&job.id);
            assert_eq!(self.queue.values().find(idle), None, "it does not fit, and could be withdrawn");
        }
    }

    /// The effects of one access concern one window: names before data, known places in order, then
    /// the rest.
    fn check_order(&self, effects: &[Effect]) {
        let place = |effect: &Effect| match effect {
            Effect::Prefetch(Job { file, target: Target::Attributes, .. }) => {
                // Whether an unknown one counts as a directory is the prediction's to say.
                let facts = self.engine.facts(*file)?;
                Some((0, !facts.directory, false, facts.inode))
            }
            Effect::Prefetch(Job { file, target: Target::Data, .. }) => {
                let facts = self.engine.facts(*file);
                Some((1, true, facts.is_none(), facts.map_or(0, |facts| facts.extent)))
            }
            _ => None,
        };
        let places: Vec<_> = effects.iter().filter_map(place).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    fn asked(&mut self, job: Job) {
        let same = |other: &&Job| other.file == job.file && other.target == job.target;
        assert!(!self.queue.values().any(|other| same(&other)), "asked for twice: {job:?}");
        if job.target == Target::Data {
            assert!(!self.unused.contains_key(&job.file), "asked for though it is there: {job:?}");
        }
        assert!(self.queue.insert(job.id, job).is_none());
        assert!(!self.withdrawn.contains_key(&job.id));
    }

    fn check(&self) {
        let fate = self.engine.snapshot().prefetch;
        assert_eq!(fate.bytes, fate.used_bytes + fate.late_bytes + fate.wasted_bytes + fate.unused_bytes);
        assert_eq!(fate.files, fate.used_files + fate.late_files + fate.wasted_files + fate.unused_files);
        assert!(
            fate.in_flight_bytes + fate.unused_bytes <= self.budget.max(self.stuck),
            "over budget: {fate:?}"
        );
        let data = self.queue.values().filter(|job| job.target == Target::Data).count() as u64;
        assert!(fate.in_flight_bytes <= data * (64 << 10));
        assert!(data > 0 || fate.in_flight_bytes == 0);
    }

    fn observe(&mut self, stream: StreamId, file: u32, op: Op) {
        self.now = self.now + Duration::from_micros(100);
        let file = FileId(file);
        let hit = matches!(op, Op::Close | Op::Remove | Op::Write) || self.cached.contains(&file);
        let residency = if hit { Residency::Hit } else { Residency::Miss };
        let mut effects = Vec::new();
        self.engine.observe(&AccessEvent { at: self.now, stream, file, op, residency }, &mut effects);
        if !matches!(op, Op::Close | Op::Write | Op::Lookup) {
            self.unused.remove(&file);
            let jobs = self.queue.values().chain(self.withdrawn.values());
            self.overtaken.extend(jobs.filter(|job| job.file == file).map(|job| job.id));
        }
        if !hit {
            self.cached.insert(file);
        }
        self.check_order(&effects);
        self.take(effects);
    }

    /// What a tar does: lists the directories, opens the files.
    fn run(&mut self, stream: StreamId, files: impl IntoIterator<Item = u32>, work: usize) {
        for file in files {
            self.observe(stream, file, if file < 10 { Op::List } else { Op::Open });
            self.work(work);
        }
        self.engine.end(stream);
    }

    /// The worker does so many jobs, in the order asked for.
    fn work(&mut self, jobs: usize) {
        for _ in 0..jobs {
            let Some((&id, _)) = self.queue.iter().next() else { break };
            self.engine.started(id);
            self.settle(id);
        }
        while let Some((id, _)) = self.withdrawn.pop_first() {
            let mut effects = Vec::new();
            self.engine.settle(self.now, id, Outcome::Withdrawn, &mut effects);
            self.take(effects);
        }
    }

    fn settle(&mut self, id: JobId) {
        self.begun.remove(&id);
        let Some(job) = self.queue.remove(&id).or_else(|| self.withdrawn.remove(&id)) else { return };
        let facts = facts_of(job.file);
        let outcome = match job.target {
            _ if self.missing.contains(&job.file) => {
                self.failed += 1;
                Outcome::Failed
            }
            Target::Data if self.cached.insert(job.file) => {
                if !self.overtaken.contains(&id) {
                    self.unused.insert(job.file, facts.size);
                }
                Outcome::Warmed { bytes: facts.size, facts }
            }
            _ => Outcome::Resident { facts },
        };
        let mut effects = Vec::new();
        self.engine.settle(self.now, id, outcome, &mut effects);
        self.take(effects);
    }

    fn tick(&mut self, pass: Duration) {
        self.now = self.now + pass;
        let mut effects = Vec::new();
        self.engine.tick(self.now, &mut effects);
        self.take(effects);
    }

    /// Between two runs: the job is over, memory is emptied, all work is done.
    fn pause(&mut self) {
        self.tick(Duration::from_secs(3));
        self.tick(Duration::from_secs(3));
        while !self.queue.is_empty() || !self.withdrawn.is_empty() {
            self.work(100);
        }
        self.cached.clear();
        self.log.clear();
    }

    fn asked_for(&self, target: Target) -> Vec<u32> {
        let jobs = self.log.iter().filter_map(|effect| match effect {
            Effect::Prefetch(job) if job.target == target => Some(job.file.0),
            _ => None,
        });
        jobs.collect()
    }
}

/// Two directories, files in each.
fn tree() -> Vec<u32> {
    std::iter::once(1).chain(10..60).chain([2]).chain(60..110).collect()
}

#[test]
fn the_scope_decides_whose_order_is_followed() {
    // Two jobs of one process each, in turns; a third one repeats the first.
    let next = |scope| {
        let mut engine = Engine::new(Settings { scope, ..MATCH });
        let (group, session) = (GroupId, SessionId(0));
        for number in 1..=3 {
            let origin = Origin { parent: None, program: ProgramId(1), group: group(number), session };
            engine.begin(StreamId(number), origin);
        }
        let mut open = |stream: u32, file: u32| {
            let (at, residency) = (Micros(0), Residency::Hit);
            let event =
                AccessEvent { at, stream: StreamId(stream), file: FileId(file), op: Op::Open, residency };
            engine.observe(&event, &mut Vec::new());
        };
        (1..=20).for_each(|file| {
            open(1, file);
            open(2, 100 + file);
        });
        (1..=3).for_each(|file| open(3, file));
        engine.next(StreamId(3)).map(|next| next.file.0)
    };
    assert_eq!(next(Scope::Job), Some(4));
    assert_eq!(next(Scope::Process), Some(4));
    assert_ne!(next(Scope::Global), Some(4), "the turns were learned as one order");
}

#[test]
fn the_second_run_is_asked_for_at_once_in_the_order_of_the_device() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, tree(), 1);
    assert!(world.asked_for(Target::Data).is_empty(), "the first run knows nothing");
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 1, Op::List);
    let names = world.asked_for(Target::Attributes);
    assert_eq!(names, [2].into_iter().chain(10..110).collect::<Vec<_>>(), "directories first, by inode");
    assert_eq!(world.asked_for(Target::Data), (10..110).rev().collect::<Vec<_>>(), "by address");
    let first_data =
        world.log.iter().position(|e| matches!(e, Effect::Prefetch(j) if j.target == Target::Data));
    let last_name =
        world.log.iter().rposition(|e| matches!(e, Effect::Prefetch(j) if j.target == Target::Attributes));
    assert!(last_name < first_data);
    world.work(1_000);
    world.run(tar, tree(), 0);
    let fate = world.engine.snapshot().prefetch;
    assert_eq!((fate.files, fate.used_files, fate.late_files, fate.wasted_files), (100, 100, 0, 0));
}

#[test]
fn a_warm_tree_is_left_alone() {
    let mut world = World::new(MATCH);
    world.cached = (1..200).map(FileId).collect();
    for group in 1..20 {
        let tar = world.process(1, group);
        world.run(tar, tree(), 4);
        world.tick(Duration::from_secs(3));
    }
    assert!(world.asked_for(Target::Data).is_empty() && world.asked_for(Target::Attributes).is_empty());
    assert_eq!(world.asked_for(Target::Facts).len(), 102, "but it is looked at, once");
    assert_eq!(world.engine.snapshot().armed, 0);
}

#[test]
fn one_cold_file_in_a_warm_tree_costs_a_few_checks() {
    let mut world = World::new(MATCH);
    let files: Vec<u32> = (10..5_000).collect();
    let tar = world.process(1, 1);
    world.run(tar, files.clone(), 9);
    world.pause();
    world.engine.set_window(Window { files: 128, bytes: 1 << 20, names_first: true });
    world.cached = (1..5_000).map(FileId).filter(|file| file.0 != 20).collect();
    let tar = world.process(1, 2);
    world.run(tar, files, 2);
    let asked = world.asked_for(Target::Data).len();
    assert!(asked < 400, "{asked} jobs for one cold file");
    assert_eq!(world.engine.snapshot().armed, 0);
}

#[test]
fn a_run_larger_than_the_budget_goes_on_as_it_is_used() {
    let mut world = World::new(MATCH);
    let files: Vec<u32> = (10..2_000).collect();
    let tar = world.process(1, 1);
    world.run(tar, files.clone(), 9);
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    world.work(10_000);
    let held = world.engine.snapshot().prefetch.unused_bytes;
    assert!(held > BUDGET * 3 / 4 && held <= BUDGET, "{held} of {BUDGET} bytes are used");
    world.run(tar, files, 20);
    let fate = world.engine.snapshot().prefetch;
    assert!(fate.used_files > 1_950, "{fate:?}");
    assert_eq!(fate.wasted_files, 0);
}

#[test]
fn the_next_window_comes_when_most_of_the_last_is_done() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, 10..1_000, 9);
    world.pause();
    world.engine.set_window(Window { files: 20, bytes: 1 << 20, names_first: true });
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    assert_eq!(world.asked_for(Target::Data).len(), 20);
    world.work(29);
    assert_eq!(world.asked_for(Target::Data).len(), 20);
    world.work(1);
    assert_eq!(world.asked_for(Target::Data).len(), 40);
}

#[test]
fn what_was_wrongly_expected_is_withdrawn_and_then_wasted() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, 10..200, 9);
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    world.work(200);
    let waiting = world.queue.len();
    assert!(waiting > 40, "{waiting}");
    world.run(tar, 1_000..1_100, 0);
    assert!(
        world.queue.values().all(|job| job.target == Target::Facts),
        "nothing of it is left in the queue"
    );
    let fate = world.engine.snapshot().prefetch;
    assert!(fate.unused_files > 0 && fate.withdrawn as usize == waiting, "{fate:?}");
    world.tick(Duration::from_secs(599));
    assert_eq!(world.engine.snapshot().prefetch.wasted_files, 0);
    world.tick(Duration::from_secs(2));
    assert_eq!(world.engine.snapshot().prefetch.wasted_files, fate.unused_files);
}

#[test]
fn a_file_used_while_on_its_way_is_late() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, 10..50, 9);
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    let (&id, job) = world.queue.iter().find(|(_, job)| job.target == Target::Data).unwrap();
    let file = job.file;
    let event = AccessEvent { at: world.now, stream: tar, file, op: Op::Open, residency: Residency::Partial };
    world.engine.observe(&event, &mut Vec::new());
    world.settle(id);
    let fate = world.engine.snapshot().prefetch;
    assert_eq!((fate.late_files, fate.late_bytes), (1, facts_of(file).size));
}

#[test]
fn events_that_come_in_late_are_judged_by_their_own_time() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, 10..50, 9);
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    let opened = world.now;
    world.now = world.now + Duration::from_millis(5);
    world.work(1_000);
    let event = AccessEvent {
        at: opened,
        stream: tar,
        file: FileId(11),
        op: Op::Open,
        residency: Residency::Unknown,
    };
    world.engine.observe(&event, &mut Vec::new());
    assert_eq!(world.engine.snapshot().prefetch.late_files, 1);
}

#[test]
fn judging_an_open_counts_by_program_and_arms() {
    let mut world = World::new(MATCH);
    let tar = world.process(7, 1);
    world.run(tar, 10..50, 9);
    world.pause();
    let tar = world.process(7, 2);
    let event = |at, file| AccessEvent { at, stream: tar, file, op: Op::Open, residency: Residency::Unknown };
    let mut effects = Vec::new();
    world.engine.observe(&event(world.now, FileId(10)), &mut effects);
    assert!(effects.is_empty());
    world.engine.judge(world.now, tar, FileId(10), Residency::Miss, &mut effects);
    assert_eq!(effects.len(), 78);
    let snapshot = world.engine.snapshot();
    let opens = Opens { total: 41, hit: 0, partial: 0, miss: 41 };
    assert_eq!((snapshot.opens, snapshot.programs), (opens, vec![(ProgramId(7), opens)]));
}

#[test]
fn directories_that_no_run_named_are_brought_too() {
    let mut world = World::new(MATCH);
    world.engine.set_parents(Box::new(|file| match file.0 {
        0 => None,
        1 => Some(FileId::ROOT),
        2 => Some(FileId(1)),
        _ => Some(FileId(2)),
    }));
    let tar = world.process(1, 1);
    world.run(tar, 10..20, 9);
    world.pause();
    let tar = world.process(1, 2);
    world.observe(tar, 10, Op::Open);
    assert_eq!(world.asked_for(Target::Attributes)[..3], [1, 2, 11]);
}

#[test]
fn memory_that_was_emptied_within_one_job_is_noticed() {
    let mut world = World::new(MATCH);
    let shell = world.process(1, 1);
    for pass in 0..3 {
        world.log.clear();
        world.cached.clear();
        for file in 10..300 {
            world.observe(shell, file, Op::Open);
            world.work(3);
        }
        let asked = world.asked_for(Target::Data).len();
        assert_eq!(asked > 200, pass > 0, "{asked} files asked for in pass {pass}");
    }
}

#[test]
fn what_was_learned_is_the_same_after_a_restart() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, tree(), 9);
    world.pause();
    let learned = world.engine.learned();
    let mut again = World::new(MATCH);
    assert_eq!(again.engine.restore(&learned, 200), Ok(true));
    for world in [&mut world, &mut again] {
        let tar = world.process(1, 2);
        world.observe(tar, 1, Op::List);
    }
    let jobs = |world: &World| (world.asked_for(Target::Attributes), world.asked_for(Target::Data));
    assert_eq!(jobs(&world), jobs(&again));
    assert_eq!(jobs(&again).1.len(), 100);
    assert_eq!(again.engine.facts(FileId(50)), Some(facts_of(FileId(50))));
}

#[test]
fn what_has_no_name_any_more_is_forgotten() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, tree(), 9);
    let learned = world.engine.learned();
    let mut again = World::new(MATCH);
    assert_eq!(again.engine.restore(&learned, 200), Ok(true));
    again.engine.forget_nameless(&[FileId(50), FileId(51)]);
    let tar = again.process(1, 2);
    again.observe(tar, 1, Op::List);
    let asked = again.asked_for(Target::Data);
    assert!(asked.contains(&49) && asked.contains(&52) && !asked.contains(&50) && !asked.contains(&51));
    assert_eq!(again.engine.facts(FileId(50)), None);
    assert!(again.engine.facts(FileId(49)).is_some());
}

#[test]
fn without_a_predictor_nothing_is_asked_for() {
    let mut world =
        World::new(Settings { predictor: PredictorChoice::None, scope: Scope::Job, budget: BUDGET });
    for group in 1..4 {
        let tar = world.process(1, group);
        world.run(tar, tree(), 9);
        world.observe(tar, 20, Op::Close);
        world.pause();
    }
    assert_eq!(world.log, []);
}

#[test]
fn another_predictor_takes_the_facts_only() {
    let mut world = World::new(MATCH);
    let tar = world.process(1, 1);
    world.run(tar, tree(), 9);
    let learned = world.engine.learned();
    let mut pcm =
        Engine::new(Settings { predictor: "pcm".parse().unwrap(), scope: Scope::Job, budget: BUDGET });
    assert_eq!(pcm.restore(&learned, 200), Ok(false));
    assert_eq!(pcm.facts(FileId(50)), Some(facts_of(FileId(50))));
    assert_eq!(pcm.snapshot().nodes, 0);
    assert!(pcm.restore(&learned, 20).is_err(), "files beyond the names are damage");
}

#[test]
fn ten_thousand_jobs_leave_nothing_behind() {
    let mut world = World::new(MATCH);
    for job in 0..10_000 {
        let stream = world.process(1, job);
        world.run(stream, [10 + job % 90, 200 + job % 100], 5);
        world.tick(Duration::from_secs(3));
        world.log.clear();
    }
    world.tick(Duration::from_secs(1_000));
    let snapshot = world.engine.snapshot();
    assert_eq!((snapshot.streams, snapshot.followers, snapshot.armed), (0, 0, 0));
}
