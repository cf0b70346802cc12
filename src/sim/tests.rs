//! The whole simulator: a workload worked out by hand, sums that must come out, and what is asked of the
//! default predictor.

use super::draft::{Draft, Story};
use super::generate::Recipe;
use super::*;
use crate::config::{PREDICTORS, Scope};
use crate::device::{Kind, net_service};
use crate::replace::Policy;
use proptest::prelude::*;
use std::time::Duration;

const MB: u64 = 1 << 20;

fn settings(predictor: &str, device: Kind, cache: u64) -> Settings {
    Settings {
        predictor: predictor.parse().unwrap(),
        scope: Scope::Job,
        budget: cache / 4,
        cache,
        policy: Policy::Lru,
        device,
        seed: 1,
        training: 1,
        measured: 1,
        hot: false,
        cost: false,
        script: false,
    }
}

fn generated(words: &str, seed: u64) -> Workload {
    words.parse::<Recipe>().unwrap().generate(seed, 3)
}

/// One process opens `a` and `b`, of a block each, 100 us apart.
fn two_files() -> Workload {
    let mut draft = Draft::new("two");
    let (a, b, program) = (draft.file("a", 4096), draft.file("b", 4096), draft.program("cat"));
    let (mut story, think) = (Story::default(), Duration::from_micros(100));
    let cat = story.begin(None, program, Duration::ZERO);
    story.open(cat, a, think);
    story.open(cat, b, think);
    story.end(cat);
    draft.pass(story);
    draft.finish()
}

/// A block over the net.
const READ: u64 = 1_020_480;
const THINK: u64 = 100_000;
const USE: u64 = 4_000;

#[test]
fn two_files_take_what_they_take_by_hand() {
    assert_eq!(net_service(4096), READ);
    let workload = two_files();
    let cold = run(&workload, &settings("none", Kind::Net, MB)).figures;
    // The root's entries, the block that all inodes are in, and the bytes of both files.
    assert_eq!(cold.elapsed, (THINK + 3 * READ + USE) + (THINK + READ + USE));
    assert_eq!((cold.opens, cold.hit, cold.partial, cold.miss), (2, 0, 0, 2));

    let hot = run(&workload, &Settings { hot: true, ..settings("none", Kind::Net, MB) }).figures;
    assert_eq!((hot.elapsed, hot.hit), (2 * (THINK + USE), 2));

    // b is asked for when a is opened, and comes while a comes.
    let warm = run(&workload, &settings("match", Kind::Net, MB)).figures;
    assert_eq!(warm.elapsed, (THINK + 3 * READ + USE) + (THINK + USE));
    assert_eq!((warm.hit, warm.partial, warm.miss), (1, 0, 1));
    assert_eq!((warm.right, warm.wrong), (1, 0));
    assert_eq!((warm.warmed, warm.in_time, warm.late, warm.wasted), (4096, 4096, 0, 0));
    // Asked for when a is opened, with its name known and its bytes on their way.
    let micros = (THINK + 3 * READ + USE + THINK) / 1000 - (THINK + 2 * READ) / 1000;
    assert_eq!((warm.lead_opens.most, warm.lead_micros.most), (1, micros));
}

#[test]
fn who_is_sooner_than_the_bytes_waits_for_the_rest() {
    let mut workload = two_files();
    // b is opened at once after a; it is larger and takes longer.
    workload.passes[0].steps[2].think = Duration::ZERO;
    let large = 2_000_000;
    workload.files[2].facts.size = large;
    let warm = run(&workload, &settings("match", Kind::Net, 64 * MB)).figures;
    let arrival = THINK + 2 * READ + net_service(large.div_ceil(4096) * 4096);
    assert_eq!(warm.elapsed, arrival + USE);
    assert_eq!((warm.partial, warm.late, warm.in_time), (1, large, 0));
}

#[test]
fn what_two_want_is_read_once() {
    let mut draft = Draft::new("two at once");
    let (file, program) = (draft.file("a", 4096), draft.program("cat"));
    let mut story = Story::default();
    let both = [0, 1].map(|_| story.begin(None, program, Duration::ZERO));
    both.iter().for_each(|&cat| story.open(cat, file, Duration::ZERO));
    draft.pass(story);
    let cold = run(&draft.finish(), &settings("none", Kind::Net, MB)).figures;
    assert_eq!(cold.elapsed, 3 * READ + USE);
    assert_eq!((cold.partial, cold.miss), (1, 1));
}

#[test]
fn memory_that_is_too_small_forgets() {
    let (small, large) = (4096, 2 * 4096);
    let mut draft = Draft::new("there and back");
    let (a, b) = (draft.file("a", 4096), draft.file("b", 4096));
    let program = draft.program("cat");
    let mut story = Story::default();
    let cat = story.begin(None, program, Duration::ZERO);
    [a, b, a].iter().for_each(|&file| story.open(cat, file, Duration::ZERO));
    draft.pass(story);
    let workload = draft.finish();
    let misses = |cache| run(&workload, &settings("none", Kind::Ssd, cache)).figures.miss;
    assert_eq!((misses(small), misses(large), misses(100)), (3, 2, 3));
}

#[test]
fn a_walk_is_seen_five_hundred_files_ahead_after_one_pass() {
    let workload = generated("traversal", 1);
    for device in Kind::ALL {
        let seen = run(&workload, &settings("match", device, 1 << 30)).figures;
        assert!(seen.lead_opens.most >= 500, "{device}: {:?}", seen.lead_opens);
        assert!(seen.right * 100 >= seen.opens * 99, "{device}: {} of {}", seen.right, seen.opens);
    }
}

#[test]
fn a_build_is_seen_a_hundred_files_ahead_after_one_pass() {
    let workload = generated("build", 1);
    for device in Kind::ALL {
        let seen = run(&workload, &settings("match", device, 1 << 30)).figures;
        assert!(seen.lead_opens.most >= 100, "{device}: {:?}", seen.lead_opens);
    }
}

/// What next-access accuracy comes to: right / all opens, in thousandths, on every shape that is generated.
fn accuracy(predictor: &str) -> u64 {
    let shapes = [
        "traversal",
        "build",
        "build-j",
        "link",
        "patch",
        "search",
        "sort",
        "phases",
        "zipf",
        "random",
        "branches",
    ];
    let right = |shape| {
        let seen = run(&generated(shape, 1), &settings(predictor, Kind::Ssd, 1 << 30)).figures;
        seen.right * 1000 / seen.opens
    };
    shapes.into_iter().map(right).sum::<u64>() / shapes.len() as u64
}

#[test]
fn the_default_expects_the_next_file_better_than_each_of_the_others() {
    let default = accuracy("default");
    for (single, _) in PREDICTORS.iter().filter(|(name, _)| !matches!(*name, "default" | "none")) {
        let single_one = accuracy(single);
        assert!(default > single_one + 50, "default {default}, {single} {single_one}");
    }
}

#[test]
fn the_default_looks_as_far_ahead_as_a_run_and_wastes_little() {
    let (mut warmed, mut wasted) = (0, 0);
    for (shape, least) in
        [("traversal", 500), ("build", 100), ("build-j", 100), ("link", 100), ("patch", 100)]
    {
        let seen = run(&generated(shape, 1), &settings("default", Kind::Net, 1 << 30)).figures;
        assert!(seen.lead_opens.most >= least, "{shape}: {:?}", seen.lead_opens);
        (warmed, wasted) = (warmed + seen.warmed, wasted + seen.wasted);
    }
    assert!(wasted * 10 <= warmed, "{wasted} of {warmed} bytes");
}

#[test]
fn what_cannot_be_learned_costs_next_to_nothing() {
    let workload = generated("random", 1);
    for device in Kind::ALL {
        for cache in [16 * MB, 1 << 30] {
            let with = run(&workload, &settings("default", device, cache)).figures.elapsed;
            let without = run(&workload, &settings("none", device, cache)).figures.elapsed;
            assert!(with * 100 <= without * 102, "{device}: {with} ns against {without}");
        }
    }
}

/// The same steps have the same effects, whoever tells them.
#[test]
fn a_run_can_be_repeated_and_its_script_replayed() {
    let workload = generated("build-j:units=20,headers=40", 5);
    let settings = Settings { script: true, ..settings("match", Kind::Net, 64 * MB) };
    let (one, two) = (run(&workload, &settings), run(&workload, &settings));
    assert_eq!(one, two);
    let script = one.script.unwrap();
    assert!(script.effects.len() > 100);

    let mut engine = settings.engine(&workload);
    let mut effects = Vec::new();
    script.steps.iter().for_each(|step| engine.take(step, &mut effects));
    assert_eq!(effects, script.effects);
}

#[test]
fn the_cost_is_measured_on_the_side() {
    let workload = generated("link", 1);
    let plain = run(&workload, &settings("match", Kind::Net, 64 * MB));
    let measured = run(&workload, &Settings { cost: true, ..settings("match", Kind::Net, 64 * MB) });
    assert!(measured.figures.cost.is_some() && measured.script.is_none());
    assert_eq!(plain.figures, Figures { cost: None, ..measured.figures });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is simulated: every byte has one fate, no run is faster than memory, and none is
    /// different when it is done again.
    #[test]
    fn sums_come_out(
        words in prop_oneof![
            Just("traversal:files=60"),
            Just("build:units=8,headers=20,shared=3"),
            Just("build-j:units=8,headers=20,shared=3,jobs=3"),
            Just("patch:units=8,headers=20,changed=3,new=2"),
            Just("branches:units=6,headers=20,differ=4"),
            Just("link:objects=30,links=6"),
            Just("search:index=4,files=80,postings=20"),
            Just("sort:blocks=20"),
            Just("zipf:files=50,opens=120"),
            Just("phases:files=20,phases=3"),
            Just("random:files=60,opens=100"),
        ],
        predictor in prop_oneof![Just("default"), Just("match"), Just("pcm"), Just("none")],
        scope in 0..Scope::ALL.len(),
        device in prop_oneof![Just(Kind::Disk), Just(Kind::Net), Just(Kind::Ssd)],
        policy in prop_oneof![Just(Policy::Lru), Just(Policy::Fifo)],
        cache in prop_oneof![Just(64 << 10), Just(MB), Just(64 * MB)],
        seed in 0..1000u64,
    ) {
        let workload = generated(words, seed);
        let settings = Settings { scope: Scope::ALL[scope], policy, measured: 2, seed, ..settings(predictor, device, cache) };
        let figures = run(&workload, &settings).figures;
        let fates = figures.in_time + figures.late + figures.wasted;
        prop_assert_eq!(figures.warmed, fates);
        prop_assert_eq!(figures.hit + figures.partial + figures.miss, figures.opens);
        prop_assert!(figures.right + figures.wrong <= figures.opens);
        let hot = run(&workload, &Settings { hot: true, ..settings }).figures;
        prop_assert!(hot.elapsed <= figures.elapsed);
        prop_assert_eq!(hot.hit, hot.opens);
        prop_assert_eq!(&figures, &run(&workload, &settings).figures);
    }
}
