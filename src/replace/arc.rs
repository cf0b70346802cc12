//! ARC (Megiddo, Modha: FAST 2003): blocks used once and blocks used more often in two queues, whose shares follow which
//! of them lost the blocks that are wanted again.
//!
//! What must stay true: the two queues of blocks that have left remember at most as many as the cache holds, the first
//! one together with its own queue.

use super::lru::{ENTRY, Queue};
use super::{Arrival, Block, Replacement};
use crate::id::ProgramId;

pub(super) struct Arc {
    /// Used once, and those of them that have left.
    once: Queue,
    once_gone: Queue,
    /// Used more often, and those of them that have left.
    often: Queue,
    often_gone: Queue,
    /// How many of the cache's blocks shall be in `once`.
    target: usize,
    newest: Option<Block>,
    /// The newest had left from `often`.
    came_back: bool,
}

impl Arc {
    pub(super) fn new() -> Self {
        let queue = Queue::unbounded;
        Arc {
            once: queue(),
            once_gone: queue(),
            often: queue(),
            often_gone: queue(),
            target: 0,
            newest: None,
            came_back: false,
        }
    }

    fn held(&self) -> usize {
        self.once.len() + self.often.len()
    }

    /// From which queue to take: the paper's `replace`, in which the newest is not there yet.
    fn takes_once(&self) -> bool {
        let newest_once = self.newest.is_some_and(|newest| self.once.contains(&newest));
        let newest_often = self.newest.is_some_and(|newest| self.often.contains(&newest));
        let once = self.once.len() - usize::from(newest_once);
        let often = self.often.len() - usize::from(newest_often);
        let enough = once > self.target || self.came_back && once == self.target;
        once > 0 && (enough || often == 0)
    }
}

/// Takes the oldest, not `newest` if there is another.
fn take(queue: &mut Queue, newest: Option<Block>) -> Option<Block> {
    let (oldest, ()) = queue.pop_lru()?;
    if Some(oldest) != newest || queue.is_empty() {
        return Some(oldest);
    }
    let next = queue.pop_lru();
    queue.put(oldest, ());
    next.map(|(block, ())| block)
}

impl Replacement for Arc {
    fn insert(&mut self, block: Block, _: ProgramId, _: Arrival) {
        let (once_gone, often_gone) = (self.once_gone.len(), self.often_gone.len());
        self.came_back = false;
        if self.once_gone.pop(&block).is_some() {
            self.target = (self.target + (often_gone / once_gone).max(1)).min(self.held());
            self.often.put(block, ());
        } else if self.often_gone.pop(&block).is_some() {
            self.target = self.target.saturating_sub((once_gone / often_gone).max(1));
            self.came_back = true;
            self.often.put(block, ());
        } else {
            self.once.put(block, ());
        }
        self.newest = Some(block);
    }

    fn touch(&mut self, block: Block, _: ProgramId) {
        if self.once.pop(&block).is_some() || self.often.contains(&block) {
            self.often.put(block, ());
        }
    }

    fn remove(&mut self, block: Block) {
        for queue in [&mut self.once, &mut self.often, &mut self.once_gone, &mut self.often_gone] {
            queue.pop(&block);
        }
    }

    fn evict(&mut self) -> Option<Block> {
        // What leaves while nothing else comes in is taken from those that were there before.
        let from_once = self.takes_once() || self.often.is_empty();
        let (queue, gone) = match from_once {
            true => (&mut self.once, &mut self.once_gone),
            false => (&mut self.often, &mut self.often_gone),
        };
        let victim = take(queue, self.newest)?;
        gone.put(victim, ());
        let room = self.held();
        while self.once_gone.len() > room.saturating_sub(self.once.len()) && self.once_gone.len() > 1 {
            self.once_gone.pop_lru();
        }
        while self.once_gone.len() + self.often_gone.len() > room.max(1) {
            self.often_gone.pop_lru().or_else(|| self.once_gone.pop_lru());
        }
        Some(victim)
    }

    fn bytes(&self) -> usize {
        (self.held() + self.once_gone.len() + self.often_gone.len()) * ENTRY
    }
}
