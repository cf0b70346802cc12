//! S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: SOSP 2023): a small queue that most blocks leave unused, a main queue in which
//! what was used goes round again, and a memory of what the small one lost.
//!
//! What must stay true: queues are in the order of arrival; uses are counted up to three.

use super::lru::{ENTRY, Queue};
use super::{Arrival, Block, Replacement};
use crate::id::{IdMap, ProgramId};

/// The small queue's share of the cache: a tenth, as published.
const SMALL: usize = 10;
/// Uses that are counted, as published.
const MOST: u8 = 3;

pub(super) struct S3Fifo {
    small: Queue,
    main: Queue,
    gone: Queue,
    uses: IdMap<Block, u8>,
    newest: Option<Block>,
}

impl S3Fifo {
    pub(super) fn new() -> Self {
        S3Fifo {
            small: Queue::unbounded(),
            main: Queue::unbounded(),
            gone: Queue::unbounded(),
            uses: IdMap::default(),
            newest: None,
        }
    }

    fn held(&self) -> usize {
        self.small.len() + self.main.len()
    }

    /// The oldest of the small queue that was not used twice and is not the newest of all; the others move on.
    fn leave_small(&mut self) -> Option<Block> {
        while let Some((block, ())) = self.small.pop_lru() {
            if Some(block) == self.newest {
                self.small.put(block, ());
                return None;
            }
            if self.uses.get(&block).is_none_or(|&uses| uses <= 1) {
                self.gone.put(block, ());
                return Some(block);
            }
            self.uses.insert(block, 0);
            self.main.put(block, ());
        }
        None
    }

    /// The oldest of the main queue that was not used since it went round, and is not the newest of all.
    fn leave_main(&mut self) -> Option<Block> {
        while let Some((block, ())) = self.main.pop_lru() {
            let uses = self.uses.get(&block).copied().unwrap_or(0);
            let newest = Some(block) == self.newest;
            if uses == 0 && !newest {
                return Some(block);
            }
            self.uses.insert(block, uses.saturating_sub(1));
            let alone = newest && self.main.is_empty();
            self.main.put(block, ());
            if alone {
                return None;
            }
        }
        None
    }

    fn choose(&mut self) -> Option<Block> {
        let small = self.small.len() * SMALL >= self.held();
        if small || self.main.is_empty() {
            self.leave_small().or_else(|| self.leave_main())
        } else {
            self.leave_main().or_else(|| self.leave_small())
        }
    }
}

impl Replacement for S3Fifo {
    fn insert(&mut self, block: Block, _: ProgramId, _: Arrival) {
        let queue = if self.gone.pop(&block).is_some() { &mut self.main } else { &mut self.small };
        queue.put(block, ());
        self.uses.insert(block, 0);
        self.newest = Some(block);
    }

    fn touch(&mut self, block: Block, _: ProgramId) {
        if let Some(uses) = self.uses.get_mut(&block) {
            *uses = (*uses + 1).min(MOST);
        }
    }

    fn remove(&mut self, block: Block) {
        for queue in [&mut self.small, &mut self.main, &mut self.gone] {
            queue.pop(&block);
        }
        self.uses.remove(&block);
    }

    fn evict(&mut self) -> Option<Block> {
        let alone = (self.held() == 1).then_some(self.newest).flatten();
        let victim = match self.choose() {
            None => alone.inspect(|block| {
                self.small.pop(block);
                self.main.pop(block);
            }),
            victim => victim,
        }?;
        self.uses.remove(&victim);
        while self.gone.len() > self.main.len().max(1) {
            self.gone.pop_lru();
        }
        Some(victim)
    }

    fn bytes(&self) -> usize {
        (self.held() + self.gone.len()) * ENTRY + self.uses.capacity() * (size_of::<(Block, u8)>() + 1)
    }
}
