//! Trees that change, jobs that drift, and scans that pass through: what becomes of what was learned.

use super::*;

impl World {
    /// One whole job on its own, with an idle worker, and the pause behind it.
    fn job(&mut self, program: u32, files: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let group = 1_000 + self.streams;
        let stream = self.process(program, group);
        self.run(stream, files, 40);
        let asked = self.asked_for(Target::Data);
        self.pause();
        asked
    }

    /// Files of a run that were asked for before their use.
    fn known(&mut self, program: u32, files: &[u32]) -> usize {
        let asked: BTreeSet<u32> = self.job(program, files.iter().copied()).into_iter().collect();
        files.iter().filter(|file| asked.contains(file)).count()
    }
}

#[test]
fn a_removed_file_is_not_asked_for() {
    let mut world = World::new(MATCH);
    world.job(1, 10..60);
    (20..30).for_each(|file| world.observe(StreamId(0), file, Op::Remove));
    let asked = world.job(1, (10..20).chain(30..60));
    assert_eq!(asked.iter().filter(|file| (20..30).contains(*file)).count(), 0);
    assert!(asked.len() > 30);
    // It is there again: seen once, known from then on.
    world.job(1, 10..60);
    assert!(world.job(1, 10..60).contains(&25));
}

#[test]
fn what_failed_is_left_alone_until_it_is_seen_again() {
    let mut world = World::new(MATCH);
    world.job(1, 10..60);
    world.missing = (20..30).map(FileId).collect();
    let (one, two) = (world.process(1, 1), world.process(1, 2));
    world.observe(one, 10, Op::Open);
    world.work(1_000);
    assert!((10..=20).contains(&world.failed), "a job or two for each: {}", world.failed);
    let before = world.failed;
    world.cached.clear();
    world.observe(two, 10, Op::Open);
    world.work(1_000);
    assert_eq!(world.failed, before, "nobody asks again");
    world.missing.clear();
    world.observe(two, 25, Op::Lookup);
    world.engine.end(one);
    world.engine.end(two);
    world.pause();
    // The history of both stops early; what came before is still there.
    world.engine.forget_program(ProgramId(7));
    world.job(1, 10..60);
    assert!(world.job(1, 10..60).contains(&25));
}

#[test]
fn a_tree_switched_between_two_branches_is_known_on_both() {
    let common = |part: u32| (100 + part * 20..120 + part * 20).collect::<Vec<_>>();
    let branch = |base: u32| {
        (0..5)
            .flat_map(|part| common(part).into_iter().chain(base + part * 20..base + part * 20 + 20))
            .collect()
    };
    let (one, other): (Vec<u32>, Vec<u32>) = (branch(1_000), branch(2_000));
    let mut world = World::new(MATCH);
    for _ in 0..2 {
        for (here, there) in [(&one, &other), (&other, &one)] {
            // What a checkout does: one set of files goes, another comes.
            let gone: BTreeSet<u32> = there.iter().copied().filter(|file| !here.contains(file)).collect();
            gone.iter().for_each(|&file| world.observe(StreamId(0), file, Op::Remove));
            world.missing = gone.iter().copied().map(FileId).collect();
            world.job(1, here.iter().copied());
        }
    }
    assert_eq!(world.failed, 0, "nothing was asked for that was gone");
    let known = world.known(1, &other);
    assert!(known * 100 >= other.len() * 95, "{known} of {}", other.len());
}

#[test]
fn a_job_that_drifts_stays_known() {
    let mut files: Vec<u32> = (10..410).collect();
    let mut world = World::new(MATCH);
    world.job(1, files.clone());
    let mut dice = 7u32;
    for run in 0..20 {
        // Each time eight neighbours change places, two files go and two new ones come.
        for _ in 0..8 {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let place = 1 + (dice >> 8) as usize % (files.len() - 2);
            files.swap(place, place + 1);
        }
        files.remove(50 + run);
        files.remove(100 + run);
        files.insert(200, 10_000 + run as u32 * 2);
        files.insert(300, 10_001 + run as u32 * 2);
        let known = world.known(1, &files);
        assert!(known * 100 >= files.len() * 95, "run {run}: {known} of {}", files.len());
    }
}

#[test]
fn a_file_that_was_written_is_looked_at_again() {
    let mut world = World::new(MATCH);
    world.job(1, 10..30);
    let learned = world.engine.facts(FileId(20));
    assert_eq!(learned, Some(facts_of(FileId(20))));
    world.observe(StreamId(0), 20, Op::Write);
    world.observe(StreamId(0), 20, Op::Close);
    let (&id, _) = world.queue.iter().find(|(_, job)| job.file == FileId(20)).expect("a question");
    world.queue.remove(&id);
    let grown = Facts { size: 900_000, ..facts_of(FileId(20)) };
    let mut effects = Vec::new();
    world.engine.settle(world.now, id, Outcome::Resident { facts: grown }, &mut effects);
    assert_eq!(world.engine.facts(FileId(20)).map(|facts| facts.size), Some(900_000));
}

#[test]
fn a_scan_is_counted_and_changes_nothing_that_jobs_taught() {
    let files = || (1..10).chain(500..900).chain(20_000..20_100);
    let (mut calm, mut scanned) = (World::new(MATCH), World::new(MATCH));
    for world in [&mut calm, &mut scanned] {
        world.job(1, files());
        world.job(2, (600..700).rev());
    }
    let crawler = scanned.process(3, 77);
    let mut effects = Vec::new();
    for file in 10..50_000 {
        let event = AccessEvent {
            at: scanned.now,
            stream: crawler,
            file: FileId(file),
            op: Op::Open,
            residency: Residency::Hit,
        };
        scanned.engine.observe(&event, &mut effects);
    }
    let scans = scanned.engine.snapshot().scans;
    assert_eq!((scans.running, scans.seen, scans.accesses > 10_000), (1, 1, true));
    effects.retain(|effect| matches!(effect, Effect::Prefetch(job) if job.target != Target::Facts));
    assert_eq!(effects, [], "nothing was fetched for it, or for anybody because of it");
    scanned.engine.end(crawler);
    scanned.pause();
    assert_eq!(scanned.engine.snapshot().scans.running, 0);
    for program in [1, 2, 4] {
        assert_eq!(calm.job(program, files()), scanned.job(program, files()), "program {program}");
    }
}
