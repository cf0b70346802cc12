//! Which figures may be printed: the rules, on kept samples.
//!
//! What must stay true: a rule looks at what was measured and at nothing else; a broken rule costs the figure.

use crate::common::median;
use crate::journal::{Journal, Sample};

/// More than this share of the tree in memory is not cold.
const COLD: f64 = 0.01;
/// A rate may be measured so much too high by the clocks of two processes.
const CLOCKS: f64 = 1.05;
/// Two identical arms may differ by so much.
const TWINS: f64 = 0.10;
/// A cold arm asks the device for at least this share of what the native one asks: less means that something was kept.
const ASKED: f64 = 0.5;
/// A job that reads less than this has its figures from elsewhere (it writes), and the rule above says nothing of it, bytes.
const MATTERS: f64 = 1e6;

/// Arms that begin with something in memory, by their names.
fn is_hot(arm: &str) -> bool {
    matches!(arm, "native hot" | "hot" | "vmtouch")
}

/// Why the figures of these samples may not be printed.
pub(crate) fn objection(journal: &Journal, job: &str, arm: &str) -> Option<String> {
    let samples = journal.of(job, arm);
    let asked = |samples: &[&Sample]| median(samples.iter().map(|sample| sample.device.read_bytes as f64));
    if !is_hot(arm) {
        let warm = samples.iter().map(|sample| sample.resident_before).fold(0.0, f64::max);
        if warm > COLD {
            return Some(format!("not cold: {:.1} % was in memory", warm * 100.0));
        }
        let (own, native) = (asked(&samples)?, asked(&journal.of(job, "native")).unwrap_or(0.0));
        if native > MATTERS && own < ASKED * native {
            return Some(format!(
                "not cold: the device was asked for {:.0} % of what it was natively",
                100.0 * own / native
            ));
        }
    }
    let rate = |sample: &&Sample| sample.device.read_bytes as f64 / sample.elapsed.max(1e-9);
    let fastest = samples.iter().map(rate).fold(0.0, f64::max);
    let raw = journal.raw_rate()?;
    (fastest > raw * CLOCKS)
        .then(|| format!("{:.0} MB/s from a device of {:.0} MB/s", fastest / 1e6, raw / 1e6))
}

/// Says so when two identical arms differ too much.
pub(crate) fn twins(journal: &Journal, job: &str) -> Option<String> {
    let elapsed = |arm| median(journal.of(job, arm).iter().map(|sample| sample.elapsed));
    let (one, other) = (elapsed("native")?, elapsed("native again")?);
    let apart = (one - other).abs() / one.min(other);
    (apart > TWINS).then(|| {
        format!("two identical arms differ by {:.0} %: these figures are not to be relied on", apart * 100.0)
    })
}
