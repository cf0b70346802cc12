//! When each block was last referred to, and how often, also of blocks that have left the cache.
//!
//! What must stay true: it is bounded; what it forgets was used longest ago.

use crate::id::IdMap;

use super::Block;

/// A block's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// The time of its last reference.
    pub(super) last: u64,
    /// References so far.
    pub(super) count: u32,
    /// Time between its last two references; 0 when there was one only.
    pub(super) gap: u64,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct History {
    past: IdMap<Block, Past>,
    room: usize,
}

impl History {
    /// Remembers at least `room` blocks, and at most twice as many.
    pub(super) fn new(room: usize) -> Self {
        History { past: IdMap::default(), room }
    }

    /// Notes a reference; the past before it comes back.
    pub(super) fn note(&mut self, block: Block, now: u64) -> Option<Past> {
        let before = self.past.get(&block).copied();
        let past = before.map_or(Past { last: now, count: 1, gap: 0 }, |past| Past {
            last: now,
            count: past.count.saturating_add(1),
            gap: now - past.last,
        });
        self.past.insert(block, past);
        if self.past.len() > 2 * self.room {
            self.forget();
        }
        before
    }

    pub(super) fn get(&self, block: Block) -> Option<Past> {
        self.past.get(&block).copied()
    }

    /// Keeps the half that was used last.
    fn forget(&mut self) {
        let mut times: Vec<u64> = self.past.values().map(|past| past.last).collect();
        let (_, &mut oldest, _) = times.select_nth_unstable(self.room);
        self.past.retain(|_, past| past.last >= oldest);
    }

    pub(super) fn bytes(&self) -> usize {
        // One byte of each slot is the table's own.
        self.past.capacity() * (size_of::<(Block, Past)>() + 1) * 8 / 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut history = History::new(10);
        for now in 0..100 {
            assert_eq!(history.note(Block(now), now), None);
            assert!(history.past.len() <= 20);
            assert!((now.saturating_sub(9)..=now).all(|block| history.get(Block(block)).is_some()));
        }
        assert_eq!(history.note(Block(99), 107), Some(Past { last: 99, count: 1, gap: 0 }));
        assert_eq!(history.get(Block(99)), Some(Past { last: 107, count: 2, gap: 8 }));
    }
}
