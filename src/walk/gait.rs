//! Is a stream in order? One gait for each kind of access, one count of steps for each order.

use super::directory::{Directory, Order};
use crate::event::Entry;
use crate::predict::Kind;

/// Steps in order that make a walk: fewer happen by chance.
pub(super) const STEPS: u8 = 3;
/// So many entries of the kind may be left out between two steps, as a walk with a filter does. More would let
/// chance look like order.
const LEFT_OUT: u32 = 8;
/// Steps back so far are reports that came out of order, not steps.
const SLACK: u32 = 8;

/// Which entries an access of this kind chooses from.
pub(super) fn chooses(kind: Kind, entry: &Entry) -> bool {
    match kind {
        Kind::List | Kind::Siblings => entry.directory,
        Kind::Open | Kind::Lookup => !entry.directory,
    }
}

/// What a step is in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sense {
    /// And so many entries were left out.
    Forward(u32),
    Neither,
    Away,
}

/// Steps so far in each order of [`Order::ALL`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gait {
    steps: [u8; 3],
    /// Entries left out on the way, in each: what is in order by chance leaves out more.
    left_out: [u32; 3],
}

impl Gait {
    /// Takes the step from one entry (or the start of the directory) to another, by their places as listed. `covered`:
    /// what lies between is not seen any more, because it was brought.
    pub(super) fn step(
        &mut self,
        directory: &Directory,
        kind: Kind,
        from: Option<u32>,
        to: u32,
        covered: bool,
    ) {
        for (place, order) in Order::ALL.into_iter().enumerate() {
            match sense(directory, order, kind, from, to, covered) {
                Sense::Forward(left_out) => {
                    self.steps[place] = self.steps[place].saturating_add(1);
                    self.left_out[place] = self.left_out[place].saturating_add(left_out);
                }
                Sense::Neither => {}
                Sense::Away => (self.steps[place], self.left_out[place]) = (0, 0),
            }
        }
    }

    /// The order it walks in, if it walks: of those it has kept to, the one with the fewest entries left out.
    pub(super) fn order(&self) -> Option<Order> {
        let kept = (0..3).filter(|&place| self.steps[place] >= STEPS);
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
        Some(from) if from > to && from - to <= SLACK => return Sense::Neither,
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
