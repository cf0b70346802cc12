//! The published rules: sublists by backward distance and by frequency, whose mean forward distances must rise or fall
//! from each to the next.

use super::{Pattern, Seen};

/// What a period looks like.
pub(super) fn judge(seen: &[Seen], sublists: usize) -> Pattern {
    let old: Vec<_> = seen.iter().filter_map(Seen::old).collect();
    if seen.len() >= sublists && old.is_empty() {
        return Pattern::Sequential;
    }
    if old.len() < sublists {
        return Pattern::Undecided;
    }
    let by_distance = means(old.iter().map(|&(distance, _, forward)| (distance, forward)), sublists);
    let by_frequency = means(old.iter().map(|&(_, count, forward)| (count, forward)), sublists);
    if falls(&by_distance) {
        Pattern::Looping
    } else if by_distance.is_sorted_by(|a, b| a < b) {
        Pattern::Clustered
    } else if falls(&by_frequency) {
        Pattern::Probabilistic
    } else {
        Pattern::Undecided
    }
}

fn falls(means: &[f64]) -> bool {
    means.is_sorted_by(|a, b| a > b)
}

/// The mean forward distance of each sublist of the blocks in the order of an attribute.
fn means(blocks: impl Iterator<Item = (u64, u64)>, sublists: usize) -> Vec<f64> {
    let mut blocks: Vec<_> = blocks.collect();
    blocks.sort_unstable();
    let cut = |number: usize| number * blocks.len() / sublists;
    let mean = |list: &[(u64, u64)]| list.iter().map(|b| b.1 as f64).sum::<f64>() / list.len() as f64;
    (0..sublists).map(|number| mean(&blocks[cut(number)..cut(number + 1)])).collect()
}
