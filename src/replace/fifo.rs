//! The block that came first goes first.

use super::lru::{ENTRY, Queue};
use super::{Arrival, Block, Replacement};
use crate::id::ProgramId;

pub(super) struct Fifo(Queue);

impl Fifo {
    pub(super) fn new() -> Self {
        Fifo(Queue::unbounded())
    }
}

impl Replacement for Fifo {
    fn insert(&mut self, block: Block, _: ProgramId, _: Arrival) {
        self.0.put(block, ());
    }

    fn touch(&mut self, _: Block, _: ProgramId) {}

    fn remove(&mut self, block: Block) {
        self.0.pop(&block);
    }

    fn evict(&mut self) -> Option<Block> {
        self.0.pop_lru().map(|(block, ())| block)
    }

    fn bytes(&self) -> usize {
        self.0.len() * ENTRY
    }
}
