//! How long jobs took, and with how many others.
//!
//! What must stay true: a few that took very long (the machine was busy, the source hiccuped) decide nothing.

use std::time::Duration;

/// Enough for a middle that one in four strays cannot move far.
const ENOUGH: usize = 32;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Nanoseconds.
    took: Vec<u64>,
    at_once: usize,
}

impl Samples {
    pub(super) fn add(&mut self, took: Duration, at_once: usize) {
        self.took.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.at_once += at_once;
    }

    pub(super) fn are_enough(&self) -> bool {
        self.took.len() >= ENOUGH
    }

    /// The power of the number under way with which the time has grown from `few` to these: 1 where it is in
    /// proportion, 0 where it has stayed. 1 as long as nothing can be said.
    pub(super) fn growth_since(&self, few: &Samples) -> f64 {
        let (Some((long, many)), Some((short, few))) = (self.middle(), few.middle()) else { return 1.0 };
        if many <= few { 1.0 } else { (long / short).ln() / (many / few).ln() }
    }

    /// The middle of the times, and the mean number under way.
    fn middle(&self) -> Option<(f64, f64)> {
        let mut took = self.took.clone();
        took.sort_unstable();
        let middle = *took.get(took.len() / 2)?;
        Some((middle.max(1) as f64, self.at_once as f64 / took.len() as f64))
    }
}
