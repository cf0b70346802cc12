//! The window of siblings: how many entries are looked at around one that had to be fetched.
//!
//! One more doubling costs those who look at random, and gains those who look at neighbours; it pays while the share
//! of related look-ups is above its break-even. What is measured is that share among look-ups that had to wait.
//!
//! Must stay true: a window is aligned to its width and clipped to the directory; its width is a power of two.

use std::ops::Range;

use super::cost::Cost;
use crate::clock::Micros;
use crate::config::InodeWindow;

/// Entries that count as the first doubling's result: the table begins with blocks of inodes, 16 in one.
const UNIT: u32 = 16;
/// Widest window.
const MOST: u32 = InodeWindow::MOST;
/// Weight of a new look-up in the share: the last twenty or so count.
const WEIGHT: f32 = 0.05;
/// Look-ups between two changes of the width, so that each is judged by what came after it.
const REST: u32 = 16;

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Siblings {
    choice: InodeWindow,
    width: u32,
    /// Share of look-ups, of those that had to wait, that were near one before.
    share: f32,
    since: u32,
    cost: Cost,
}

impl Default for Siblings {
    fn default() -> Self {
        Siblings::new(InodeWindow::Off)
    }
}

impl Siblings {
    pub(super) fn new(choice: InodeWindow) -> Siblings {
        let width = match choice {
            InodeWindow::Off => 0,
            InodeWindow::Fixed(width) => width,
            InodeWindow::Auto => UNIT,
        };
        Siblings { choice, width, share: 0.0, since: 0, cost: Cost::default() }
    }

    pub(super) fn is_off(&self) -> bool {
        self.choice == InodeWindow::Off
    }

    /// Is every look-up that had to wait to be followed by its window, whoever makes it?
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.choice, InodeWindow::Fixed(_))
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Does it pay to bring siblings of a look-up that shows no order?
    pub(super) fn pays(&self) -> bool {
        self.is_fixed() || (self.choice == InodeWindow::Auto && self.share > self.break_even(self.width))
    }

    /// A look-up had to wait; was it near an earlier one of the same stream?
    pub(super) fn looked_up(&mut self, related: bool) {
        if self.choice != InodeWindow::Auto {
            return;
        }
        self.share += (f32::from(u8::from(related)) - self.share) * WEIGHT;
        self.since += 1;
        if self.since < REST {
            return;
        }
        if self.width < MOST && self.share > self.break_even(self.width * 2) {
            self.resize(self.width * 2);
        } else if self.width > 1 && self.share < self.break_even(self.width) {
            self.resize(self.width / 2);
        }
    }

    /// Two look-ups of a stream had to wait, one after the other, not near each other. `beside`: a window was asked for
    /// between them.
    pub(super) fn waited(&mut self, from: Micros, to: Micros, beside: bool) {
        self.cost.record(from, to, beside);
    }

    fn resize(&mut self, width: u32) {
        (self.width, self.since) = (width, 0);
        self.cost.resized();
    }

    /// The share above which a window of this width is worth its last doubling, on this source.
    fn break_even(&self, width: u32) -> f32 {
        self.cost.break_even(doublings(width).saturating_sub(1), doublings(self.width))
    }
}

fn doublings(width: u32) -> usize {
    (width / UNIT).max(1).ilog2() as usize
}

/// The aligned window of `width` places (a power of two) around `at`, of a directory of `len` entries.
pub fn window(at: u32, width: u32, len: u32) -> Range<u32> {
    let start = at & !(width.max(1) - 1);
    start.min(len)..start.saturating_add(width.max(1)).min(len)
}

/// How many siblings one job looks at in a directory of `len` entries: few enough to share the work among workers, and
/// enough to keep reading the directory, which each job does anew, a small part of it.
pub fn stretch(len: u32) -> u32 {
    (len / SHARES).next_power_of_two().clamp(STRETCH, MOST)
}

/// One job's siblings at least: four blocks of inodes on ext4.
const STRETCH: u32 = 64;
/// Jobs for one directory at most, but for the largest.
const SHARES: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_are_aligned_clipped_and_hold_their_place(at in 0u32..200_000, power in 0u32..13, more in 0u32..10_000) {
            let (width, len) = (1 << power, at + 1 + more);
            let window = window(at, width, len);
            prop_assert!(window.contains(&at) && window.end <= len);
            prop_assert_eq!(window.start % width, 0);
            prop_assert!(window.len() as u32 == width || window.end == len);
        }

        #[test]
        fn two_windows_of_a_width_are_the_same_or_apart(a in 0u32..100_000, b in 0u32..100_000, power in 0u32..13) {
            let [one, other] = [a, b].map(|at| window(at, 1 << power, 100_000));
            prop_assert!(one == other || one.end <= other.start || other.end <= one.start);
        }

        #[test]
        fn the_width_stays_a_power_of_two(related in prop::collection::vec(any::<bool>(), 0..2_000)) {
            let mut siblings = Siblings::new(InodeWindow::Auto);
            for related in related {
                siblings.looked_up(related);
                prop_assert!(siblings.width().is_power_of_two() && siblings.width() <= MOST);
            }
        }
    }

    #[test]
    fn neighbours_widen_it_and_chance_narrows_it() {
        let mut siblings = Siblings::new(InodeWindow::Auto);
        (0..1_000).for_each(|_| siblings.looked_up(true));
        assert_eq!(siblings.width(), MOST);
        assert!(siblings.pays());
        (0..1_000).for_each(|_| siblings.looked_up(false));
        assert_eq!(siblings.width(), 1);
        assert!(!siblings.pays());
        // A share between two break-evens settles between them: a third pays the third doubling, not the fourth.
        (0..3_000).for_each(|look_up| siblings.looked_up(look_up % 10 < 3));
        assert_eq!(siblings.width(), UNIT << 3);
    }

    #[test]
    fn a_fixed_one_stays() {
        let mut siblings = Siblings::new(InodeWindow::Fixed(64));
        (0..1_000).for_each(|_| siblings.looked_up(false));
        assert_eq!((siblings.width(), siblings.pays()), (64, true));
        assert!(Siblings::default().is_off());
    }
}
