//! One queue: the block that was used least recently goes first, or (FIFO) the one that came first.

use lru::LruCache;

use super::{Arrival, Block, Replacement};
use crate::id::ProgramId;

/// A queue of blocks from which any can be taken: what was put in last goes last.
pub(super) type Queue = LruCache<Block, ()>;

/// An entry of a [`Queue`] in bytes: two links and the key, and a pointer and the key in a table that is seven eighths
/// full at most.
pub(super) const ENTRY: usize = size_of::<[u64; 3]>() + size_of::<[u64; 2]>() * 8 / 7;

pub(super) struct Lru {
    queue: Queue,
    /// What is used goes to the end of the queue.
    moves: bool,
}

impl Lru {
    pub(super) fn new() -> Self {
        Lru { queue: Queue::unbounded(), moves: true }
    }

    pub(super) fn fifo() -> Self {
        Lru { queue: Queue::unbounded(), moves: false }
    }
}

impl Replacement for Lru {
    fn insert(&mut self, block: Block, _: ProgramId, _: Arrival) {
        self.queue.put(block, ());
    }

    fn touch(&mut self, block: Block, _: ProgramId) {
        if self.moves {
            self.queue.promote(&block);
        }
    }

    fn remove(&mut self, block: Block) {
        self.queue.pop(&block);
    }

    fn evict(&mut self) -> Option<Block> {
        self.queue.pop_lru().map(|(block, ())| block)
    }

    fn bytes(&self) -> usize {
        self.queue.len() * ENTRY
    }
}
