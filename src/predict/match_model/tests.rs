//! Second runs, interleaved runs, parallel runs; and that what was saved predicts the same.

use super::*;
use crate::id::SessionId;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A model and what is needed to speak to it.
struct Bench {
    model: MatchModel,
    streams: u32,
}

impl Bench {
    fn new() -> Self {
        Bench { model: MatchModel::new(1 << 14), streams: 0 }
    }

    fn process(&mut self, parent: Option<StreamId>, program: u32, group: u32) -> StreamId {
        self.streams += 1;
        let stream = StreamId(self.streams);
        self.model.begin(
            stream,
            &Origin { parent, program: ProgramId(program), group: GroupId(group), session: SessionId(0) },
        );
        stream
    }

    fn open(&mut self, stream: StreamId, file: u32) -> Course {
        self.model.observe(Access { stream, file: FileId(file), kind: Kind::Open })
    }

    fn ahead(&mut self, group: u32) -> Vec<u32> {
        let mut out = Vec::new();
        self.model.predict(GroupId(group), usize::MAX >> 1, &mut out);
        out.iter().map(|prediction| prediction.file.0).collect()
    }

    /// A whole job of one process.
    fn run(&mut self, program: u32, group: u32, files: impl IntoIterator<Item = u32>) {
        let stream = self.process(None, program, group);
        files.into_iter().for_each(|file| {
            self.open(stream, file);
        });
        self.model.end(stream);
        self.model.end_group(GroupId(group));
    }
}

#[test]
fn the_second_run_is_known_whole_from_its_first_access() {
    let mut bench = Bench::new();
    bench.run(1, 1, 10..5_000);
    let tar = bench.process(None, 1, 2);
    assert_ne!(bench.open(tar, 10), Course::NONE);
    assert_eq!(bench.ahead(2), (11..5_000).collect::<Vec<_>>());
    let course = bench.open(tar, 11);
    assert!(bench.ahead(2).is_empty(), "nothing is told twice");
    bench.model.rewind(GroupId(2));
    assert_eq!(bench.ahead(2).len(), 4_988);
    assert_eq!(bench.open(tar, 13), course);
}

#[test]
fn another_program_has_to_prove_the_order_first() {
    let mut bench = Bench::new();
    bench.run(1, 1, 10..5_000);
    let grep = bench.process(None, 2, 2);
    assert_eq!(bench.open(grep, 10), Course::NONE);
    bench.open(grep, 11);
    assert_eq!(bench.ahead(2), (12..28).collect::<Vec<_>>());
    (12..30).for_each(|file| {
        bench.open(grep, file);
    });
    assert!(bench.ahead(2).len() > 4_000);
}

#[test]
fn two_jobs_at_once_do_not_disturb_each_other() {
    let mut bench = Bench::new();
    let (a, b) = (bench.process(None, 1, 1), bench.process(None, 2, 2));
    for step in 0..400 {
        bench.open(a, step);
        bench.open(b, 1_000 + step * 7 % 400);
    }
    [1, 2].into_iter().for_each(|group| bench.model.end_group(GroupId(group)));
    let b = bench.process(None, 2, 3);
    bench.open(b, 1_000);
    assert_eq!(bench.ahead(3), (1..400).map(|step| 1_000 + step * 7 % 400).collect::<Vec<_>>());
}

/// A build: for each source a fresh process with the same headers and the source, two at a time.
fn build(bench: &mut Bench, group: u32, seed: u32, mut each: impl FnMut(&mut Bench, u32)) {
    let make = bench.process(None, 1, group);
    bench.open(make, 0);
    let mut running: Vec<(StreamId, std::vec::IntoIter<u32>)> = Vec::new();
    let (mut source, mut dice) = (0, seed);
    loop {
        while running.len() < 2 && source < 150 {
            let files: Vec<u32> =
                (0..20).map(|h| 1 + (h + source) % 40).chain([100 + source, 1_000 + source]).collect();
            running.push((bench.process(Some(make), 2, group), files.into_iter()));
            source += 1;
        }
        if running.is_empty() {
            break;
        }
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let turn = (dice >> 16) as usize % running.len();
        match running[turn].1.next() {
            Some(file) => {
                bench.open(running[turn].0, file);
                each(bench, file);
            }
            None => {
                let (done, _) = running.remove(turn);
                bench.model.end(done);
            }
        }
    }
    bench.model.end(make);
    bench.model.end_group(GroupId(group));
}

#[test]
fn a_parallel_build_is_known_although_its_order_differs() {
    let mut bench = Bench::new();
    build(&mut bench, 1, 1, |_, _| {});
    let (mut told, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let (mut known, mut unknown) = (0, 0);
    build(&mut bench, 2, 99, |bench, file| {
        if seen.insert(file) {
            if told.contains(&file) { known += 1 } else { unknown += 1 }
        }
        told.extend(bench.ahead(2));
    });
    assert!(known * 100 >= (known + unknown) * 95, "{known} known, {unknown} not");
}

#[test]
fn a_new_directory_in_the_middle_does_not_end_it() {
    let mut bench = Bench::new();
    bench.run(1, 1, 0..1_000);
    let tar = bench.process(None, 1, 2);
    (0..500).chain(5_000..5_100).chain(500..504).for_each(|file| {
        bench.open(tar, file);
    });
    bench.model.rewind(GroupId(2));
    assert!(bench.ahead(2).ends_with(&(504..1_000).collect::<Vec<_>>()));
}

#[test]
fn a_wrong_turn_is_given_up() {
    let mut bench = Bench::new();
    bench.run(1, 1, 0..1_000);
    let tar = bench.process(None, 1, 2);
    let course = bench.open(tar, 0);
    let last = (2_000..2_100).map(|file| bench.open(tar, file)).last();
    assert_ne!(course, Course::NONE);
    assert_eq!(last, Some(Course::NONE));
}

#[test]
fn hidden_look_ups_are_carried_from_run_to_run() {
    let mut bench = Bench::new();
    let cold = bench.process(None, 1, 1);
    for file in 0..300 {
        bench.model.observe(Access { stream: cold, file: FileId(1_000 + file), kind: Kind::Lookup });
        bench.open(cold, file);
    }
    bench.model.end_group(GroupId(1));
    // Warm: the kernel knows all names and asks for none.
    bench.run(1, 2, 0..300);
    let third = bench.process(None, 1, 3);
    bench.open(third, 0);
    let lookups = bench.ahead(3).iter().filter(|&&file| file >= 1_000).count();
    assert!(lookups > 200, "{lookups} of 300 look-ups still known");
}

#[test]
fn a_look_up_followed_by_an_open_is_one_entry() {
    let mut bench = Bench::new();
    let stream = bench.process(None, 1, 1);
    bench.model.observe(Access { stream, file: FileId(5), kind: Kind::Lookup });
    bench.open(stream, 5);
    bench.open(stream, 5);
    assert_eq!(bench.model.footprint().nodes, 1);
}

#[test]
fn a_forgotten_file_is_not_predicted() {
    let mut bench = Bench::new();
    bench.run(1, 1, 0..10);
    bench.model.forget(&|file| file == FileId(4));
    let tar = bench.process(None, 1, 2);
    bench.open(tar, 0);
    assert_eq!(bench.ahead(2), [1, 2, 3, 5, 6, 7, 8, 9]);
}

#[test]
fn ten_thousand_processes_leave_only_history() {
    let mut bench = Bench::new();
    for job in 0..10_000 {
        bench.run(1, job, [job % 50, job % 60, job % 70]);
    }
    assert!(bench.model.streams.is_empty() && bench.model.groups.is_empty());
}

#[test]
fn a_full_log_goes_on() {
    let mut bench = Bench { model: MatchModel::new(256), streams: 0 };
    for pass in 0..20 {
        bench.run(1, pass, 0..100);
    }
    let tar = bench.process(None, 1, 99);
    bench.open(tar, 0);
    assert_eq!(bench.ahead(99), (1..100).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn what_was_saved_predicts_the_same(
        jobs in prop::collection::vec((0..3u32, prop::collection::vec(0..12u32, 1..30)), 1..12),
        probe in prop::collection::vec(0..12u32, 1..8),
    ) {
        let mut bench = Bench { model: MatchModel::new(128), streams: 0 };
        for (number, (program, files)) in jobs.into_iter().enumerate() {
            bench.run(program, number as u32, files);
        }
        let mut bytes = Vec::new();
        bench.model.save(&mut bytes);
        let mut again = Bench { model: MatchModel::new(128), streams: bench.streams };
        again.model.load(&bytes, 12).unwrap();
        let streams = [bench.process(None, 1, 100), again.process(None, 1, 100)];
        for file in probe {
            bench.open(streams[0], file);
            again.open(streams[1], file);
            prop_assert_eq!(bench.ahead(100), again.ahead(100));
        }
        let mut second = Vec::new();
        again.model.save(&mut second);
        prop_assert!(again.model.load(&second, 12).is_ok());
    }

    /// The slow and obvious model of a program's start: the rest of the last run that began so.
    #[test]
    fn a_start_recalls_the_last_run_that_began_so(
        jobs in prop::collection::vec((0..3u32, prop::collection::vec(0..9u32, 1..9)), 1..30),
        program in 0..3u32, first in 0..9u32,
    ) {
        let mut bench = Bench::new();
        for (number, (program, files)) in jobs.iter().enumerate() {
            bench.run(*program, number as u32, files.iter().copied());
        }
        let begun_so = |job: &&(u32, Vec<u32>)| job.0 == program && job.1[0] == first;
        let mut expected = jobs.iter().rev().find(begun_so).map_or_else(Vec::new, |job| job.1.clone());
        expected.dedup();
        let probe = bench.process(None, program, 1_000);
        bench.open(probe, first);
        prop_assert_eq!(bench.ahead(1_000), expected.into_iter().skip(1).collect::<Vec<_>>());
    }

    #[test]
    fn garbage_is_refused_or_loaded(bytes: Vec<u8>) {
        let mut bench = Bench::new();
        if bench.model.load(&bytes, 20).is_ok() {
            bench.run(1, 1, 0..20);
        }
    }
}

/// After jobs were learned, another program walks over a million files.
fn scanned(entries: usize, jobs: u32, scan: bool) -> Bench {
    let mut bench = Bench { model: MatchModel::new(entries), streams: 0 };
    for job in 0..jobs {
        bench.run(job % 7, job, (0..50).map(|step| job * 40 + step * 17 % 50));
    }
    if scan {
        bench.run(99, 1_000_000, 0..1_000_000);
    }
    bench
}

/// What is predicted all along a job, in every detail.
fn told(bench: &mut Bench, job: u32) -> Vec<Prediction> {
    let stream = bench.process(None, job % 7, 2_000_000 + job);
    let mut out = Vec::new();
    for step in 0..50 {
        bench.open(stream, job * 40 + step * 17 % 50);
        bench.model.predict(GroupId(2_000_000 + job), usize::MAX >> 1, &mut out);
    }
    bench.model.end(stream);
    bench.model.end_group(GroupId(2_000_000 + job));
    out
}

#[test]
fn a_scan_of_a_million_files_teaches_and_flushes_nothing() {
    // In a history with much room, in one that jobs have half filled, and in one that has no room for the scan.
    for (entries, jobs, most) in [(1 << 20, 1_000, 0), (1 << 18, 3_000, 1), (1 << 18, 4_500, 4)] {
        let (mut calm, mut after) = (scanned(entries, jobs, false), scanned(entries, jobs, true));
        assert_eq!((after.model.scans().seen, after.model.scans().running), (1, 0));
        let all: Vec<u32> = (0..jobs).step_by(23).collect();
        let differ = all.iter().filter(|&&job| told(&mut calm, job) != told(&mut after, job)).count();
        // A well filled table of contexts has lost a few keys, with a scan or without, and not the same.
        assert!(differ <= most, "{differ} of {} jobs are predicted otherwise", all.len());
        assert!(told(&mut after, 0).len() >= 40, "the oldest is known");
    }
}

#[test]
fn a_scan_is_known_itself_as_far_as_it_is_kept() {
    let mut bench = scanned(1 << 20, 3, true);
    let crawler = bench.process(None, 99, 5);
    bench.open(crawler, 0);
    assert_eq!(bench.ahead(5), (1..(1 << 17)).collect::<Vec<_>>());
    let other = bench.process(None, 98, 6);
    (500_000..500_100).for_each(|file| assert_eq!(bench.open(other, file), Course::NONE));
}

#[test]
fn what_was_repeated_goes_first() {
    let mut bench = Bench { model: MatchModel::new(1_000), streams: 0 };
    bench.run(1, 1, 5_000..5_100);
    for pass in 2..100 {
        bench.run(2, pass, 0..100);
    }
    let rare = bench.process(None, 1, 200);
    bench.open(rare, 5_000);
    assert_eq!(bench.ahead(200), (5_001..5_100).collect::<Vec<_>>(), "no younger run has repeated it");
}

#[test]
fn a_program_can_be_forgotten() {
    let mut bench = Bench::new();
    bench.run(1, 1, 0..20);
    bench.run(2, 2, 30..50);
    assert!(bench.model.forget_program(ProgramId(1)));
    let (one, two) = (bench.process(None, 1, 3), bench.process(None, 2, 4));
    assert_eq!(bench.open(one, 0), Course::NONE);
    bench.open(two, 30);
    assert_eq!(bench.ahead(4), (31..50).collect::<Vec<_>>());
    assert_eq!(bench.model.sightings(FileId(5)).unwrap().times, 0);
}

#[test]
fn an_account_says_who_used_a_file_and_after_what() {
    let mut bench = Bench::new();
    bench.run(1, 1, [3, 4, 5]);
    bench.run(2, 2, [7, 5]);
    bench.run(1, 3, [3, 4, 5]);
    let seen = bench.model.sightings(FileId(5)).unwrap();
    assert_eq!((seen.times, seen.runs), (3, 3));
    assert_eq!(seen.programs, [(ProgramId(1), 2), (ProgramId(2), 1)]);
    assert_eq!(seen.after, [FileId(4), FileId(7), FileId(4)]);
    let now = bench.process(None, 1, 4);
    bench.open(now, 3);
    let expected = bench.model.expected(FileId(5));
    assert_eq!(expected.iter().map(|(group, next)| (group.0, next.distance)).collect::<Vec<_>>(), [(4, 2)]);
    bench.open(now, 4);
    assert_eq!(bench.model.expected(FileId(5))[0].1.distance, 1);
    assert_eq!(bench.model.expected(FileId(4)), []);
}

#[test]
fn a_scan_that_repeats_jobs_does_not_take_their_place() {
    let bench = || {
        let mut bench = Bench { model: MatchModel::new(1 << 17), streams: 0 };
        // Ten jobs of the very program that will scan, and others that nearly fill the history.
        (0..10).for_each(|job| bench.run(99, job, job * 1_000..(job + 1) * 1_000));
        (10..110).for_each(|job| bench.run(1, job, job * 1_000..(job + 1) * 1_000));
        bench
    };
    let (mut calm, mut scanned) = (bench(), bench());
    scanned.run(99, 1_000, 0..200_000);
    assert_eq!(scanned.model.scans().seen, 1);
    for bench in [&mut calm, &mut scanned] {
        let job = bench.process(None, 99, 2_000);
        bench.open(job, 3_000);
        assert_eq!(bench.ahead(2_000), (3_001..4_000).collect::<Vec<_>>());
    }
}
