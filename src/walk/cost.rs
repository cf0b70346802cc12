//! What a window of siblings costs those who look at random, here: the published costs to begin with, then as measured.
//!
//! Measured is the time from one look-up that had to wait to the next of the same stream, where the two are not related:
//! after a window was asked for, and after none was.
//!
//! Must stay true: a share, 0 to 1; dearer windows never break even sooner.

use crate::clock::Micros;

/// Inode read-ahead on a disk, for the first, the second, ... doubling: how much slower random look-ups became with it, and
/// how much faster related ones, as parts of the time without any. Beyond the last it is taken to stay.
const COST: [f32; 6] = [0.0077, 0.0157, 0.0163, 0.0429, 0.0767, 0.1507];
const GAIN: [f32; 6] = [0.113, 0.105, 0.078, 0.059, 0.045, 0.024];
/// Look-ups of each kind before what was measured counts: fewer are noise.
const ENOUGH: u32 = 16;
/// Weight of a new one in their mean: the last twenty or so count.
const WEIGHT: f32 = 0.05;
/// Further apart, the time between says nothing of the source.
const NEAR: u64 = 100_000;
/// As far from the published costs as measuring may lead: a machine in trouble must not set the window for good.
const SCALE: std::ops::RangeInclusive<f32> = 0.1..=10.0;

/// See the module's head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    alone: Mean,
    beside: Mean,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    micros: f32,
    count: u32,
}

impl Mean {
    fn add(&mut self, micros: f32) {
        self.count = self.count.saturating_add(1);
        // The first ones weigh alike.
        let weight = (1.0 / self.count as f32).max(WEIGHT);
        self.micros += (micros - self.micros) * weight;
    }
}

impl Cost {
    /// Two look-ups that had to wait, one after the other, not near each other. `beside`: the first made us ask for a
    /// window.
    pub(super) fn record(&mut self, from: Micros, to: Micros, beside: bool) {
        let micros = to.0.saturating_sub(from.0);
        if micros <= NEAR {
            if beside { &mut self.beside } else { &mut self.alone }.add(micros as f32);
        }
    }

    /// The width has changed: what a window costs is to be found out anew.
    pub(super) fn resized(&mut self) {
        self.beside = Mean::default();
    }

    /// The share of related look-ups above which the n-th doubling pays, from 0; `doublings` are made now.
    pub(super) fn break_even(&self, nth: usize, doublings: usize) -> f32 {
        let nth = nth.min(COST.len() - 1);
        let cost = COST[nth] * self.scale(doublings);
        cost / (cost + GAIN[nth])
    }

    /// How much dearer windows are here than published.
    fn scale(&self, doublings: usize) -> f32 {
        if self.alone.count < ENOUGH || self.beside.count < ENOUGH || self.alone.micros <= 0.0 {
            return 1.0;
        }
        let slower = (self.beside.micros / self.alone.micros - 1.0).max(0.0);
        let published: f32 = COST[..doublings.clamp(1, COST.len())].iter().sum();
        (slower / published).clamp(*SCALE.start(), *SCALE.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn measured(alone: u64, beside: u64) -> Cost {
        let mut cost = Cost::default();
        for _ in 0..ENOUGH {
            cost.record(Micros(5), Micros(5 + alone), false);
            cost.record(Micros(5), Micros(5 + beside), true);
        }
        cost
    }

    #[test]
    fn unmeasured_it_is_what_was_published() {
        let shares: Vec<u32> =
            (0..6).map(|nth| (Cost::default().break_even(nth, 1) * 100.0).round() as u32).collect();
        assert_eq!(shares, [6, 13, 17, 42, 63, 86]);
        assert_eq!(Cost::default().break_even(9, 1), Cost::default().break_even(5, 1));
    }

    #[test]
    fn where_a_window_costs_nothing_little_is_enough_and_where_it_costs_much_nearly_all_must_be_related() {
        let (free, dear) = (measured(1_000, 1_000), measured(1_000, 1_400));
        assert!(free.break_even(3, 3) < 0.1, "{}", free.break_even(3, 3));
        assert!(dear.break_even(3, 3) > 0.85, "{}", dear.break_even(3, 3));
        // Those of the disk that was published: as published.
        let same = measured(100_000, 103_970);
        assert!((same.break_even(3, 3) - Cost::default().break_even(3, 3)).abs() < 0.01);
    }

    #[test]
    fn pauses_are_not_the_sources_doing() {
        let mut cost = measured(1_000, 1_000);
        (0..1_000).for_each(|_| cost.record(Micros(0), Micros(NEAR + 1), true));
        assert_eq!(cost.break_even(2, 3), measured(1_000, 1_000).break_even(2, 3));
    }

    proptest! {
        #[test]
        fn a_share_that_grows_with_the_cost(alone in 1u64..50_000, less in 0u64..50_000, more in 0u64..50_000, nth in 0usize..10, made in 0usize..10) {
            let [cheap, dear] = [less.min(more), less.max(more)].map(|beside| measured(alone, beside).break_even(nth, made));
            prop_assert!(0.0 < cheap && cheap <= dear && dear < 1.0);
        }
    }
}
