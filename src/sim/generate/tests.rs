//! What the shapes are made of, and what they promise.

use super::*;
use crate::event::Op;
use crate::sim::workload::{Deed, Pass};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn workload(words: &str) -> Workload {
    words.parse::<Recipe>().unwrap().generate(1, 2)
}

/// The paths opened in a pass.
fn opened(workload: &Workload, pass: &Pass) -> Vec<String> {
    let open = |deed| match deed {
        Deed::Access(file, Op::Open) => Some(workload.path(file)),
        _ => None,
    };
    pass.steps.iter().filter_map(|step| open(step.deed)).collect()
}

/// Name, files and directories, steps and opens of the first and of the second pass, first files opened.
type Golden<'a> = (&'a str, usize, [usize; 2], [usize; 2], [&'a str; 3]);

const GOLDEN: &[Golden] = &[
    (
        "traversal",
        2102,
        [2103, 2103],
        [2000, 2000],
        ["doc/part-0094/text-001886", "doc/part-0094/text-001897", "doc/part-0094/text-001885"],
    ),
    ("build", 533, [8007, 8007], [6801, 6801], ["Makefile", "src/d000/u00000.c", "include/h0000.h"]),
    ("build-j", 533, [8007, 8007], [6801, 6801], ["Makefile", "src/d000/u00002.c", "src/d000/u00001.c"]),
    ("link", 251, [1078, 1078], [872, 872], ["Makefile", "obj/d00/o0000.o", "obj/d01/o0001.o"]),
    ("patch", 554, [8009, 8612], [6801, 7202], ["patch-1", "src/d001/u00026.c", "src/d007/u00181.c"]),
    ("search", 2059, [1036, 1036], [1024, 1024], ["index/000", "index/001", "index/002"]),
    ("sort", 1604, [2402, 2402], [800, 800], ["run-b/00000", "run-b/00001", "run-b/00002"]),
    ("zipf", 2042, [5002, 5002], [5000, 5000], ["store/014/000736", "store/011/000586", "store/002/000131"]),
    (
        "phases",
        1843,
        [5402, 5402],
        [5400, 5400],
        ["set-004/000/000005", "set-004/003/000153", "set-004/003/000169"],
    ),
    (
        "random",
        2042,
        [3002, 3002],
        [3000, 3000],
        ["store/012/000626", "store/039/001981", "store/035/001770"],
    ),
    ("branches", 693, [9609, 9731], [8161, 8161], ["Makefile", "src/d000/u00000.c", "include/h0000.h"]),
];

#[test]
fn every_shape_is_what_it_was() {
    assert_eq!(GOLDEN.len(), SHAPES.len());
    for &(name, files, steps, opens, first) in GOLDEN {
        let made = workload(name);
        let passes = [&made.passes[0], &made.passes[1]];
        assert_eq!(made.files.len(), files, "{name}");
        assert_eq!(passes.map(|pass| pass.steps.len()), steps, "{name}");
        assert_eq!(passes.map(Pass::opens), opens, "{name}");
        assert_eq!(opened(&made, passes[1])[..3], first, "{name}");
    }
}

#[test]
fn passes_are_alike_where_the_shape_says_so_and_only_there() {
    for shape in SHAPES {
        let made = workload(shape.name);
        let same = made.passes[0] == made.passes[1];
        let alike = ["traversal", "build", "link", "search", "sort"].contains(&shape.name);
        assert_eq!(same, alike, "{}", shape.name);
    }
}

#[test]
fn several_jobs_are_the_same_work_in_another_order() {
    let made = workload("build-j:units=30");
    let sorted = |pass| {
        let mut opened = opened(&made, pass);
        opened.sort();
        opened
    };
    assert_eq!(sorted(&made.passes[0]), sorted(&made.passes[1]));
    let alone = workload("build:units=30");
    assert_eq!(sorted(&made.passes[0]).len(), alone.passes[0].opens());
}

#[test]
fn a_patch_brings_new_units_and_a_branch_has_its_own() {
    let made = workload("patch:units=30,new=4");
    let [before, after] =
        [0, 1].map(|pass| opened(&made, &made.passes[pass]).into_iter().collect::<BTreeSet<_>>());
    // Source and object of each, and the patch.
    assert_eq!(after.difference(&before).filter(|path| path.contains("/p1-")).count(), 8);
    assert!(after.contains("patch-1"));

    let made = workload("branches:units=30,differ=5");
    let [one, other] =
        [0, 1].map(|pass| opened(&made, &made.passes[pass]).into_iter().collect::<BTreeSet<_>>());
    assert_eq!((one.difference(&other).count(), other.difference(&one).count()), (10, 10));
}

#[test]
fn the_popular_are_opened_most() {
    let made = workload("zipf:files=100,opens=5000");
    let opened = opened(&made, &made.passes[0]);
    let mut counts: Vec<usize> = opened
        .iter()
        .collect::<BTreeSet<_>>()
        .iter()
        .map(|path| opened.iter().filter(|other| *other == *path).count())
        .collect();
    counts.sort_unstable();
    // 1 / H(100) of all opens go to the first of a hundred files: 964 of 5000.
    assert!((850..1100).contains(&counts[counts.len() - 1]), "{counts:?}");
}

#[test]
fn recipes() {
    let good = ["build", "build-j:jobs=8", "zipf:skew=0,files=3", "search:"];
    assert!(good.iter().all(|words| words.parse::<Recipe>().unwrap().to_string() == *words));
    let error = |words: &str| words.parse::<Recipe>().unwrap_err().to_string();
    assert!(error("bild").starts_with("unknown workload 'bild': known are traversal, build, build-j, "));
    assert_eq!(error("sort:size=1"), "workload sort has no value 'size': it has blocks, think");
    assert_eq!(error("sort:blocks=0"), "blocks=0: expected a whole number from 1 to 1000000");
    assert_eq!(error("sort:blocks"), "blocks=: expected a whole number from 1 to 1000000");
    assert_eq!(error("sort:blocks=2000000"), "blocks=2000000: expected a whole number from 1 to 1000000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any small values make a workload; the same seed makes the same one, and more passes change none of
    /// those before.
    #[test]
    fn shapes_are_sound(
        shape in 0..SHAPES.len(),
        values in prop::collection::vec(0..20u64, 8),
        seed: u64,
    ) {
        let shape = &SHAPES[shape];
        let words = shape.keys.iter().zip(values).map(|(key, value)| format!("{}={}", key.name, value.max(key.least)));
        let recipe: Recipe = format!("{}:{}", shape.name, words.collect::<Vec<_>>().join(",")).parse().unwrap();
        let made = recipe.generate(seed, 2);
        prop_assert_eq!(&made, &recipe.generate(seed, 2));
        prop_assert_eq!(&made.passes[..], &recipe.generate(seed, 3).passes[..2]);
        for pass in &made.passes {
            let mut begun = BTreeSet::new();
            for step in &pass.steps {
                match step.deed {
                    Deed::Begin(_) => prop_assert!(begun.insert(step.stream)),
                    _ => prop_assert!(begun.contains(&step.stream)),
                }
                prop_assert!(step.stream.0 < pass.streams);
            }
        }
    }
}
