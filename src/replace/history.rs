//! When each block was last referred to, and how often, also of blocks that have left the cache.
//!
//! What must stay true: it grows until it is told to forget; what it forgets was used longest ago.

use crate::id::IdMap;

use super::Block;

/// A block's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// The time of its last reference.
    pub(super) last: u64,
    /// References so far; no more than fit are counted.
    pub(super) count: u32,
}

/// A past in eight bytes, because there are many: references are counted in the low bits, and a million of them a second
/// for ten days fit into the others.
#[derive(Clone, Copy, Debug)]
struct Packed(u64);

const COUNT_BITS: u32 = 24;
const MOST: u64 = (1 << COUNT_BITS) - 1;

impl Packed {
    fn new(last: u64, count: u32) -> Self {
        Packed(last << COUNT_BITS | u64::from(count).min(MOST))
    }

    fn past(self) -> Past {
        Past { last: self.0 >> COUNT_BITS, count: (self.0 & MOST) as u32 }
    }
}

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    past: IdMap<Block, Packed>,
}

impl History {
    /// Notes a reference; the past before it comes back.
    pub(super) fn note(&mut self, block: Block, now: u64) -> Option<Past> {
        let before = self.get(block);
        let count = before.map_or(0, |past| past.count) + 1;
        self.past.insert(block, Packed::new(now, count));
        before
    }

    pub(super) fn get(&self, block: Block) -> Option<Past> {
        self.past.get(&block).map(|packed| packed.past())
    }

    /// Blocks that are remembered.
    pub(super) fn len(&self) -> usize {
        self.past.len()
    }

    /// Forgets all but the `count` that were used last.
    pub(super) fn keep(&mut self, count: usize) {
        let mut times: Vec<u64> = self.past.values().map(|packed| packed.past().last).collect();
        let Some(place) = times.len().checked_sub(count).filter(|&place| place < times.len()) else {
            return if count == 0 {
                self.past.clear()
            };
        };
        let (_, &mut oldest, _) = times.select_nth_unstable(place);
        self.past.retain(|_, packed| packed.past().last >= oldest);
        self.past.shrink_to_fit();
    }

    pub(super) fn bytes(&self) -> usize {
        // Besides each slot a byte of the table's own; seven of eight slots are used at most.
        self.past.capacity() * (size_of::<(Block, Packed)>() + 1) * 8 / 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut history = History::default();
        for now in 0..100 {
            assert_eq!(history.note(Block(now), now), None);
        }
        history.keep(200);
        assert_eq!(history.len(), 100);
        history.keep(10);
        assert_eq!(history.len(), 10);
        assert!((0..100).all(|block| history.get(Block(block)).is_some() == (block >= 90)));
        assert_eq!(history.note(Block(99), 107), Some(Past { last: 99, count: 1 }));
        assert_eq!(history.get(Block(99)), Some(Past { last: 107, count: 2 }));
        history.keep(0);
        assert_eq!(history.len(), 0);
    }

    #[test]
    fn more_than_fits_is_not_counted() {
        let most = Packed::new(1 << 39, u32::MAX).past();
        assert_eq!(most, Past { last: 1 << 39, count: MOST as u32 });
    }
}
