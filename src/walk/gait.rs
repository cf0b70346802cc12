//! Is a stream in order? One gait for each kind of access, one count of steps for each order.

use super::directory::{Directory, Order};
use crate::event::Entry;
use crate::predict::Kind;

/// Steps in order that make a walk: fewer happen by chance.
pub(super) const STEPS: u8 = 3;
/// A step in a directory that the stream has listed is worth two in one that it has not: whoever lists is about to walk.
const LISTED: u8 = 2;
/// What makes a walk.
const ENOUGH: u8 = STEPS * LISTED;
/// Faith in a long walk, at most: it must not take long to see that it is over.
const MOST: u8 = 2 * ENOUGH;
/// So many entries of the kind may be left out between two steps, as a walk with a filter does. More would let
/// chance look like order.
pub(super) const LEFT_OUT: u32 = 8;
/// Steps back so far in a walk come from reports that came late, or from threads that share it.
const SLACK: u32 = 8;

/// Which entries an access of this kind chooses from.
pub(super) fn chooses(kind: Kind, entry: &Entry) -> bool {
    match kind {
        Kind::List | Kind::Siblings => entry.directory,
        Kind::Open | Kind::Head | Kind::Lookup => !entry.directory,
    }
}

/// What a step is in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sense {
    /// And so many entries were left out.
    Forward(u32),
    Neither,
    Back,
    Away,
}

/// Faith so far in each order of [`Order::ALL`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gait {
    faith: [u8; 3],
    /// Entries left out on the way, in each: what is in order by chance leaves out more.
    left_out: [u32; 3],
}

impl Gait {
    /// Takes the step from one entry (or the start of the directory) to another, by their places as listed. `listed`: by
    /// the stream itself. `covered`: what lies between is not seen any more, because it was brought.
    pub(super) fn step(
        &mut self,
        directory: &Directory,
        kind: Kind,
        (from, to): (Option<u32>, u32),
        listed: bool,
        covered: bool,
    ) {
        let worth = if listed { LISTED } else { 1 };
        for (place, order) in Order::ALL.into_iter().enumerate() {
            let walks = self.faith[place] >= ENOUGH;
            let faith = self.faith[place];
            self.faith[place] = match sense(directory, order, kind, from, to, covered) {
                // Only from one entry to the very next: in a small directory everything is near.
                Sense::Forward(left_out) if left_out == 0 || walks => {
                    self.left_out[place] = self.left_out[place].saturating_add(left_out);
                    faith.saturating_add(worth).min(MOST)
                }
                Sense::Forward(_) | Sense::Neither => faith,
                // Listings are reported twice, by the request and by the open.
                Sense::Back if kind == Kind::List => faith,
                Sense::Back if walks => faith - LISTED,
                Sense::Back | Sense::Away => 0,
            };
            if self.faith[place] == 0 {
                self.left_out[place] = 0;
            }
        }
    }

    /// The order it walks in, if it walks: of those it has kept to, the one with the fewest entries left out.
    pub(super) fn order(&self) -> Option<Order> {
        let kept = (0..3).filter(|&place| self.faith[place] >= ENOUGH);
        kept.min_by_key(|&place| self.left_out[place]).map(|place| Order::ALL[place])
    }

    pub(super) fn walks(&self) -> bool {
        self.order().is_some()
    }
}

fn sense(
    directory: &Directory,
    order: Order,
    kind: Kind,
    from: Option<u32>,
    to: u32,
    covered: bool,
) -> Sense {
    let to = directory.rank(order, to);
    let first = match from.map(|from| directory.rank(order, from)) {
        Some(from) if from == to => return Sense::Neither,
        Some(from) if from > to && from - to <= SLACK => return Sense::Back,
        Some(from) if from > to => return Sense::Away,
        Some(from) => from + 1,
        None => 0,
    };
    if covered {
        return Sense::Forward(0);
    }
    let between = (first..to).filter_map(|rank| directory.at(order, rank));
    let left_out = between.filter(|entry| chooses(kind, entry)).take(LEFT_OUT as usize + 1).count() as u32;
    if left_out <= LEFT_OUT { Sense::Forward(left_out) } else { Sense::Away }
}
