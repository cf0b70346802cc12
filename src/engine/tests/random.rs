//! Whatever happens: random steps in the small world, which checks after each of them.

use super::*;

/// One thing that may happen.
#[derive(Clone, Debug)]
enum Step {
    Open(u8, u8),
    List(u8, u8),
    Lookup(u8, u8),
    Walk(u8, u8, u8),
    Remove(u8),
    Close(u8),
    Start(u8),
    Settle(u8),
    Work(u8),
    Drop,
    Exec(u8, u8),
    Fork(u8),
    End(u8),
    Tick(u16),
    Window(u8),
    Forget(u8),
    Budget(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), any::<u8>()).prop_map(|(s, f)| Step::Open(s, f)),
        1 => (any::<u8>(), 1..10u8).prop_map(|(s, f)| Step::List(s, f)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(s, f)| Step::Lookup(s, f)),
        4 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(s, f, n)| Step::Walk(s, f, n)),
        1 => any::<u8>().prop_map(Step::Remove),
        1 => any::<u8>().prop_map(Step::Close),
        2 => any::<u8>().prop_map(Step::Start),
        2 => any::<u8>().prop_map(Step::Settle),
        3 => any::<u8>().prop_map(Step::Work),
        1 => Just(Step::Drop),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(s, p)| Step::Exec(s, p)),
        1 => any::<u8>().prop_map(Step::Fork),
        1 => any::<u8>().prop_map(Step::End),
        1 => any::<u16>().prop_map(Step::Tick),
        1 => (1..40u8).prop_map(Step::Window),
        1 => any::<u8>().prop_map(Step::Forget),
        1 => any::<u8>().prop_map(Step::Budget),
    ]
}

impl World {
    fn apply(&mut self, step: &Step, streams: &mut Vec<StreamId>) {
        let stream = |which: u8, streams: &[StreamId]| streams[which as usize % streams.len()];
        match *step {
            Step::Open(s, f) => self.observe(stream(s, streams), 10 + u32::from(f) % 190, Op::Open),
            Step::List(s, f) => self.observe(stream(s, streams), u32::from(f), Op::List),
            Step::Lookup(s, f) => self.observe(stream(s, streams), 10 + u32::from(f) % 190, Op::Lookup),
            Step::Walk(s, f, n) => (0..u32::from(n)).for_each(|step| {
                self.observe(stream(s, streams), 10 + (u32::from(f) + step) % 190, Op::Open);
                self.work(usize::from(f % 3));
            }),
            Step::Remove(f) => self.observe(streams[0], 10 + u32::from(f) % 190, Op::Remove),
            Step::Close(f) => self.observe(streams[0], 10 + u32::from(f) % 190, Op::Close),
            Step::Start(n) => {
                if let Some(&id) = self.queue.keys().nth(n.into()) {
                    self.engine.started(id);
                    self.begun.insert(id);
                }
            }
            Step::Settle(n) => {
                if let Some(&id) = self.queue.keys().chain(self.withdrawn.keys()).nth(n.into()) {
                    self.settle(id);
                }
            }
            Step::Work(n) => self.work(n.into()),
            Step::Drop => self.cached.clear(),
            Step::Exec(s, p) => self.engine.exec(stream(s, streams), ProgramId(u32::from(p) % 3)),
            Step::Fork(s) => {
                let new = self.process(1, u32::from(s) % 4);
                streams.push(new);
            }
            Step::End(s) => self.engine.end(stream(s, streams)),
            Step::Tick(ms) => self.tick(Duration::from_millis(u64::from(ms) * 10)),
            Step::Window(files) => self.engine.set_window(Window {
                files: files.into(),
                bytes: 200_000,
                names_first: files % 2 == 0,
            }),
            Step::Budget(n) => self.set_budget(5_000 * (1 + u64::from(n) % 64)),
            Step::Forget(f) => {
                let mut effects = Vec::new();
                self.engine.forget(FileId(10 + u32::from(f) % 190), &mut effects);
                self.unused.remove(&FileId(10 + u32::from(f) % 190));
                self.take(effects);
            }
        }
    }

    fn trained(settings: Settings) -> (Self, Vec<StreamId>) {
        let mut world = World::new(settings);
        let tar = world.process(1, 100);
        world.run(tar, (10..200).chain([1, 2, 3]), 20);
        world.pause();
        let streams = vec![world.process(1, 1), world.process(1, 2), world.process(2, 1)];
        (world, streams)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The world checks budget, duplicates, withdrawals and sums at every step; here also: each file
    /// that came has exactly one fate in the end, and the same steps give the same effects.
    #[test]
    fn whatever_happens(
        steps in prop::collection::vec(step(), 1..120),
        predictor in prop_oneof![Just("default"), Just("match"), Just("pcm:16/2/0.2"), Just("none")],
        budget in prop_oneof![Just(BUDGET), Just(60_000u64), Just(5_000u64)],
    ) {
        let settings = Settings { predictor: predictor.parse().unwrap(), scope: Scope::Job, budget };
        let (mut one, mut one_streams) = World::trained(settings);
        let (mut two, mut two_streams) = World::trained(settings);
        for step in &steps {
            one.apply(step, &mut one_streams);
            two.apply(step, &mut two_streams);
        }
        prop_assert_eq!(&one.log, &two.log);
        while !(one.queue.is_empty() && one.withdrawn.is_empty()) {
            one.work(50);
        }
        one.engine.close();
        let fate = one.engine.snapshot().prefetch;
        prop_assert_eq!(fate.bytes, fate.used_bytes + fate.late_bytes + fate.wasted_bytes);
        prop_assert_eq!(fate.files, fate.used_files + fate.late_files + fate.wasted_files);
        prop_assert_eq!((fate.in_flight_bytes, fate.unused_bytes), (0, 0));
    }

    #[test]
    fn garbage_is_refused_or_taken(facts: Vec<u8>, history: Vec<u8>) {
        let mut engine = Engine::new(MATCH);
        let learned = Learned { facts, predictor: "match".into(), history };
        let before = engine.snapshot();
        if engine.restore(&learned, 100).is_err() {
            prop_assert_eq!(engine.snapshot().nodes, before.nodes);
        }
    }
}

/// Found by `whatever_happens`.
#[test]
fn a_question_under_way_is_not_asked_again() {
    let (mut world, mut streams) = World::trained(MATCH);
    for step in [Step::Close(37), Step::Forget(227), Step::Walk(0, 36, 2)] {
        world.apply(&step, &mut streams);
    }
    assert_eq!(world.asked_for(Target::Facts).iter().filter(|&&file| file == 47).count(), 1);
}
