//! SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: NSDI 2024): one queue in the order of arrival, and a hand that goes from
//! the oldest to the newest, spares once what was used, and takes the first that was not.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use super::{Arrival, Block, Replacement};
use crate::id::{IdMap, ProgramId};

#[derive(Default)]
pub(super) struct Sieve {
    /// By arrival, with whether it was used since the hand passed.
    queue: BTreeMap<u64, (Block, bool)>,
    places: IdMap<Block, u64>,
    /// The place the hand was at last.
    hand: Option<u64>,
    arrivals: u64,
}

impl Sieve {
    pub(super) fn new() -> Self {
        Sieve::default()
    }

    /// The place after the hand's, from the end back to the beginning.
    fn advance(&self) -> Option<u64> {
        let after = self.hand.and_then(|hand| self.queue.range((Excluded(hand), Unbounded)).next());
        after.or_else(|| self.queue.first_key_value()).map(|(&place, _)| place)
    }
}

impl Replacement for Sieve {
    fn insert(&mut self, block: Block, _: ProgramId, _: Arrival) {
        self.arrivals += 1;
        self.queue.insert(self.arrivals, (block, false));
        self.places.insert(block, self.arrivals);
    }

    fn touch(&mut self, block: Block, _: ProgramId) {
        if let Some((_, used)) = self.places.get(&block).and_then(|place| self.queue.get_mut(place)) {
            *used = true;
        }
    }

    fn remove(&mut self, block: Block) {
        self.places.remove(&block).map(|place| self.queue.remove(&place));
    }

    fn evict(&mut self) -> Option<Block> {
        loop {
            let place = self.advance()?;
            self.hand = Some(place);
            let alone = self.queue.len() == 1;
            let (block, used) = self.queue.get_mut(&place)?;
            let spared = std::mem::take(used) || place == self.arrivals;
            if !spared || alone {
                let block = *block;
                self.queue.remove(&place);
                self.places.remove(&block);
                return Some(block);
            }
        }
    }

    fn bytes(&self) -> usize {
        // Nodes of a B-tree are two thirds full.
        self.queue.len() * size_of::<(u64, Block, bool)>() * 3 / 2
            + self.places.capacity() * (size_of::<(Block, u64)>() + 1)
    }
}
