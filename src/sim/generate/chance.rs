//! Loads that chance decides: by popularity, in phases, or not to be learned at all.

use super::{Values, dice, size};
use crate::device::SplitMix;
use crate::id::FileId;
use crate::sim::draft::{Draft, Story};

/// Files in one directory.
const PER_DIRECTORY: u64 = 50;

fn files(draft: &mut Draft, dice: &mut SplitMix, top: &str, count: u64) -> Vec<FileId> {
    let path = |n| format!("{top}/{:03}/{n:06}", n / PER_DIRECTORY);
    (0..count).map(|n| draft.file(&path(n), size(dice, 2 << 10, 64 << 10))).collect()
}

/// A pass of one process that opens these.
fn opens(draft: &mut Draft, program: &str, values: &Values, opened: impl IntoIterator<Item = FileId>) {
    let (program, think) = (draft.program(program), values.micros("think"));
    let mut story = Story::default();
    let stream = story.begin(None, program, think);
    opened.into_iter().for_each(|file| story.open(stream, file, think));
    story.end(stream);
    draft.pass(story);
}

/// The k-th most popular file is opened in proportion to 1 / k^skew. Popularity stays, the throws do not.
pub(super) fn zipf(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let mut tree = dice(seed, 1);
    let mut files = files(draft, &mut tree, "store", values.get("files"));
    tree.shuffle(&mut files);
    let skew = values.get("skew") as f64 / 100.0;
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=files.len())
        .map(|rank| {
            sum += (rank as f64).powf(-skew);
            sum
        })
        .collect();
    for pass in 0..passes as u64 {
        let mut dice = dice(seed, 2 << 32 | pass);
        let throw = |_| {
            let point = dice.unit() * sum;
            let rank = sums.partition_point(|&up_to| up_to <= point);
            files[rank.min(files.len() - 1)]
        };
        let opened: Vec<_> = (0..values.get("opens")).map(throw).collect();
        opens(draft, "server", values, opened);
    }
}

/// Each working set has an order of its own. The first pass takes the sets in their order.
pub(super) fn phases(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let mut tree = dice(seed, 1);
    let sets: Vec<Vec<_>> = (0..values.get("phases"))
        .map(|phase| {
            let mut set = files(draft, &mut tree, &format!("set-{phase:03}"), values.get("files"));
            tree.shuffle(&mut set);
            set
        })
        .collect();
    for pass in 0..passes as u64 {
        let mut order: Vec<_> = (0..sets.len()).collect();
        if pass > 0 {
            dice(seed, 2 << 32 | pass).shuffle(&mut order);
        }
        let rounds = |&phase: &usize| (0..values.get("rounds")).flat_map(move |_| vec![phase]);
        let opened: Vec<_> = order.iter().flat_map(rounds).flat_map(|phase| sets[phase].clone()).collect();
        opens(draft, "worker", values, opened);
    }
}

/// Every pass has throws of its own.
pub(super) fn random(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let files = files(draft, &mut dice(seed, 1), "store", values.get("files"));
    for pass in 0..passes as u64 {
        let mut dice = dice(seed, 2 << 32 | pass);
        let opened: Vec<_> =
            (0..values.get("opens")).map(|_| files[dice.below(files.len() as u64) as usize]).collect();
        opens(draft, "server", values, opened);
    }
}
