//! DEAR (Choi, Noh, Min, Cho: USENIX 1999), and LRU-SEQ, which is the part of it that concerns sequential programs only.
//!
//! Between programs: those judged sequential give up blocks first, the one with the most of them first of all; otherwise
//! the block that was used least recently by anybody decides whose turn it is. Within a program its pattern decides: the
//! most recently used goes of a sequential or looping one, the least frequently used of a probabilistic one, else the
//! least recently used.
//!
//! What must stay true: whoever gives up another block than the least recently used one has the two change places in the
//! order between programs, or it would have to give up its next one again (Cao, Felten, Li: OSDI 1994). A block that was
//! fetched ahead and that nobody has used leaves in its turn, and for no other block.

use std::collections::BTreeMap;

use super::detector::Pattern;
use super::detectors::DearParameters;
use super::programs::{Program, Programs};
use super::{Arrival, Block, Replacement, Turn};
use crate::id::ProgramId;

/// See the module's head.
pub(super) struct Dear {
    programs: Programs,
    /// LRU-SEQ: all programs that are not sequential have their blocks leave in LRU order.
    sequential_only: bool,
    /// The order between programs: the block used least recently first.
    order: BTreeMap<u64, Block>,
}

impl Dear {
    /// For a cache of about `room` blocks.
    pub(super) fn new(parameters: DearParameters, sequential_only: bool, room: usize) -> Self {
        Dear { programs: Programs::new(parameters, room), sequential_only, order: BTreeMap::new() }
    }

    /// It was used, or came, just now.
    fn place_last(&mut self, block: Block) {
        self.order.insert(self.programs.now(), block);
    }

    fn leave(&mut self, block: Block) {
        self.programs.place(block).map(|place| self.order.remove(&place));
        self.programs.remove(block);
    }

    /// What the sequential program that has most blocks gives up.
    fn sequential(&self) -> Option<Block> {
        let all = &self.programs;
        let sequential = all.all().filter(|&(owner, _)| all.pattern(owner) == Pattern::Sequential);
        let choices = sequential.filter_map(|(owner, program)| {
            let (_, block) = all.latest(program)?;
            Some((program.used(), owner, block))
        });
        choices.max().map(|(.., block)| block)
    }

    /// What this program gives up.
    fn choice(&self, (owner, program): (ProgramId, &Program)) -> Option<Block> {
        let all = &self.programs;
        let candidate = match all.pattern(owner) {
            Pattern::Looping if !self.sequential_only => all.latest(program),
            Pattern::Probabilistic if !self.sequential_only => all.rarest(program),
            _ => all.oldest(program),
        };
        candidate.map(|(_, block)| block)
    }

    /// What goes when nobody is sequential.
    fn in_turn(&mut self) -> Option<Block> {
        let newest = self.programs.newest();
        let oldest = self.order.values().find(|&&block| Some(block) != newest).copied().or(newest)?;
        let victim = self.programs.user(oldest).and_then(|user| self.choice(user)).unwrap_or(oldest);
        self.swap(oldest, victim);
        Some(victim)
    }

    /// Has the least recently used block take the place of the one that leaves instead of it.
    fn swap(&mut self, stays: Block, leaves: Block) {
        let place = |block| self.programs.place(block);
        let (Some(low), Some(high)) = (place(stays), place(leaves)) else { return };
        for (block, place) in [(stays, high), (leaves, low)] {
            self.order.insert(place, block);
            self.programs.set_place(block, place);
        }
    }
}

impl Replacement for Dear {
    fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        self.programs.insert(block, owner, arrival);
        self.place_last(block);
    }

    fn touch(&mut self, block: Block, owner: ProgramId) {
        self.programs.place(block).map(|place| self.order.remove(&place));
        if self.programs.touch(block, owner) {
            self.place_last(block);
        }
    }

    fn remove(&mut self, block: Block) {
        self.leave(block);
    }

    fn evict(&mut self) -> Option<Block> {
        let victim = self.sequential().or_else(|| self.in_turn())?;
        self.leave(victim);
        Some(victim)
    }

    fn bytes(&self) -> usize {
        // The nodes of a tree are two thirds full.
        self.order.len() * size_of::<(u64, Block)>() * 3 / 2 + self.programs.bytes()
    }

    fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.programs.patterns()
    }

    fn turns(&mut self) -> Vec<Turn> {
        self.programs.turns()
    }
}
