//! Rules by Spearman's rank correlation of backward distance and of frequency with forward distance.
//!
//! The thresholds are those at which loops, scans, Zipf and LRU-stack traces are told apart best; the tests have the
//! counts.

use super::{Pattern, Seen};

/// At most this share of a scan's references is to blocks that were referred to before, in this period or earlier.
const OLD_IN_A_SCAN: f64 = 0.05;
/// In a loop forward distances follow backward distances exactly, but for what is interleaved with it.
const LOOP: f64 = -0.9;
/// Less correlation than this proves nothing.
const FAINT: f64 = 0.15;

/// What a period of so many references looks like.
pub(super) fn judge(seen: &[Seen], references: u64) -> Pattern {
    let old: Vec<_> = seen.iter().filter_map(Seen::old).collect();
    let new = (seen.len() - old.len()) as f64;
    if new >= (1.0 - OLD_IN_A_SCAN) * references as f64 {
        return Pattern::Sequential;
    }
    let forward = ranks(&old.iter().map(|old| old.2).collect::<Vec<_>>());
    let distance = ranks(&old.iter().map(|old| old.0).collect::<Vec<_>>());
    let count = ranks(&old.iter().map(|old| old.1).collect::<Vec<_>>());
    let (recency, frequency) = (correlation(&distance, &forward), -correlation(&count, &forward));
    if recency < LOOP {
        Pattern::Looping
    } else if recency.max(frequency) < FAINT {
        Pattern::Undecided
    } else if frequency > recency {
        Pattern::Probabilistic
    } else {
        Pattern::Clustered
    }
}

/// The place of each value among all; equal ones share the mean of their places.
fn ranks(values: &[u64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|&at| values[at]);
    let mut ranks = vec![0.0; values.len()];
    let mut place = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = place as f64 + (equal.len() - 1) as f64 / 2.0;
        equal.iter().for_each(|&at| ranks[at] = mean);
        place += equal.len();
    }
    ranks
}

/// Pearson's, between -1 and 1; 0 where one of them does not vary.
fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(&a, &b)| f(a - mx, b - my)).sum::<f64>();
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    if spread == 0.0 { 0.0 } else { sum(&|a, b| a * b) / spread }
}
