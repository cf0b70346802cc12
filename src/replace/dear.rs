//! DEAR (Choi, Noh, Min, Cho: USENIX 1999), and LRU-SEQ, which is the part of it that concerns sequential programs only.
//!
//! Between programs: those judged sequential give up blocks first, the one with the most of them first of all; otherwise
//! the block that was used least recently by anybody decides whose turn it is. Within a program its pattern decides: the
//! most recently used goes of a sequential or looping one, the least frequently used of a probabilistic one, else the
//! least recently used.
//!
//! What must stay true: whoever gives up another block than the least recently used one has the two change places in the
//! order between programs, or it would have to give up its next one again (Cao, Felten, Li: OSDI 1994).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::detector::{Detector, Pattern, Rules};
use super::{Arrival, Block, Replacement, Turn};
use crate::id::{IdMap, ProgramId};

/// Changes of patterns that are kept to be told.
pub(super) const TURNS: usize = 100;
/// Blocks whose past is remembered, for each that a program has in the cache: a loop is found as one only while a whole
/// lap is remembered.
pub(super) const MEMORY: usize = 4;

/// How a DEAR is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DearParameters {
    /// How periods are judged.
    pub rules: Rules,
    /// References in a period.
    pub period: u32,
    /// Sublists by which the strict rules judge.
    pub sublists: u8,
}

impl Default for DearParameters {
    fn default() -> Self {
        // As published: periods of 250 to 500 are best.
        DearParameters { rules: Rules::Rank, period: 500, sublists: 5 }
    }
}

/// See the module's head.
pub(super) struct Dear {
    parameters: DearParameters,
    /// LRU-SEQ: all programs that are not sequential have their blocks leave in LRU order.
    sequential_only: bool,
    room: usize,
    programs: BTreeMap<ProgramId, Program>,
    held: IdMap<Block, Held>,
    /// The order between programs: the block used least recently first.
    order: BTreeMap<u64, Block>,
    clock: u64,
    newest: Option<Block>,
    turns: VecDeque<Turn>,
}

struct Program {
    detector: Detector,
    recency: BTreeMap<u64, Block>,
    frequency: BTreeSet<(u32, u64, Block)>,
}

#[derive(Clone, Copy)]
struct Held {
    owner: ProgramId,
    /// Its place in the order between programs.
    place: u64,
    /// Its place in the program's own order.
    used: u64,
    count: u32,
}

impl Dear {
    /// For a cache of about `room` blocks.
    pub(super) fn new(parameters: DearParameters, sequential_only: bool, room: usize) -> Self {
        Dear {
            parameters,
            sequential_only,
            room,
            programs: BTreeMap::new(),
            held: IdMap::default(),
            order: BTreeMap::new(),
            clock: 0,
            newest: None,
            turns: VecDeque::new(),
        }
    }

    fn program(&mut self, owner: ProgramId) -> &mut Program {
        let DearParameters { rules, period, sublists } = self.parameters;
        let room = self.room.saturating_mul(MEMORY);
        self.programs.entry(owner).or_insert_with(|| Program {
            detector: Detector::new(rules, period, sublists, room),
            recency: BTreeMap::new(),
            frequency: BTreeSet::new(),
        })
    }

    /// Notes a reference with the program's detector.
    fn refer(&mut self, block: Block, owner: ProgramId) -> u32 {
        let detector = &mut self.program(owner).detector;
        let from = detector.pattern();
        detector.refer(block);
        let (to, at, count) = (detector.pattern(), detector.references(), detector.count(block));
        if from != to {
            self.turns.push_back(Turn { owner, from, to, at });
            self.turns.drain(..self.turns.len().saturating_sub(TURNS));
        }
        count
    }

    fn enter(&mut self, block: Block, owner: ProgramId, count: u32) {
        self.clock += 1;
        let now = self.clock;
        let program = self.program(owner);
        program.recency.insert(now, block);
        program.frequency.insert((count, now, block));
        self.order.insert(now, block);
        self.held.insert(block, Held { owner, place: now, used: now, count });
    }

    fn leave(&mut self, block: Block) -> Option<Held> {
        let held = self.held.remove(&block)?;
        self.order.remove(&held.place);
        if let Some(program) = self.programs.get_mut(&held.owner) {
            program.recency.remove(&held.used);
            program.frequency.remove(&(held.count, held.used, block));
        }
        Some(held)
    }

    /// The sequential program that has most blocks besides the newest.
    fn sequential(&self) -> Option<ProgramId> {
        let newest = self.newest.and_then(|newest| self.held.get(&newest)).map(|held| held.owner);
        let blocks = |(&owner, program): (&ProgramId, &Program)| {
            (program.recency.len() - usize::from(newest == Some(owner)), owner)
        };
        let sequential =
            |(_, program): &(&ProgramId, &Program)| program.detector.pattern() == Pattern::Sequential;
        let most = self.programs.iter().filter(sequential).map(blocks).max();
        most.filter(|&(count, _)| count > 0).map(|(_, owner)| owner)
    }

    /// What this program gives up, the newest block only when it has no other.
    fn choice(&self, owner: ProgramId) -> Option<Block> {
        let program = self.programs.get(&owner)?;
        let older = |block: &Block| Some(*block) != self.newest;
        let recency = program.recency.values().copied();
        match program.detector.pattern() {
            Pattern::Sequential => recency.rev().find(older),
            Pattern::Looping if !self.sequential_only => recency.rev().find(older),
            Pattern::Probabilistic if !self.sequential_only => {
                program.frequency.iter().map(|&(.., block)| block).find(older)
            }
            _ => recency.into_iter().find(older),
        }
    }

    /// Has the least recently used block take the place of the one that leaves instead of it.
    fn swap(&mut self, stays: Block, leaves: Block) {
        let place = |block| self.held.get(&block).map(|held: &Held| held.place);
        let (Some(low), Some(high)) = (place(stays), place(leaves)) else { return };
        self.order.insert(high, stays);
        self.order.insert(low, leaves);
        for (block, place) in [(stays, high), (leaves, low)] {
            if let Some(held) = self.held.get_mut(&block) {
                held.place = place;
            }
        }
    }
}

impl Replacement for Dear {
    fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        let count = match arrival {
            Arrival::Demand => self.refer(block, owner),
            Arrival::Ahead => self.program(owner).detector.count(block),
        };
        self.enter(block, owner, count);
        self.newest = Some(block);
    }

    fn touch(&mut self, block: Block, owner: ProgramId) {
        if self.leave(block).is_some() {
            let count = self.refer(block, owner);
            self.enter(block, owner, count);
        }
    }

    fn remove(&mut self, block: Block) {
        self.leave(block);
    }

    fn evict(&mut self) -> Option<Block> {
        let oldest =
            *self.order.values().find(|&&block| Some(block) != self.newest).or(self.newest.as_ref())?;
        let victim = match self.sequential() {
            Some(owner) => self.choice(owner),
            None => {
                let owner = self.held.get(&oldest)?.owner;
                let victim = self.choice(owner).unwrap_or(oldest);
                self.swap(oldest, victim);
                Some(victim)
            }
        }
        .unwrap_or(oldest);
        self.leave(victim).map(|_| victim)
    }

    fn bytes(&self) -> usize {
        // Each block in three trees, whose nodes are two thirds full, and in one table.
        let trees = 3 * size_of::<(u64, Block)>() + size_of::<u64>();
        let table = self.held.capacity() * (size_of::<(Block, Held)>() + 1) * 8 / 7;
        let detectors: usize = self.programs.values().map(|program| program.detector.bytes()).sum();
        self.held.len() * trees * 3 / 2 + table + detectors
    }

    fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.programs.iter().map(|(&owner, program)| (owner, program.detector.pattern())).collect()
    }

    fn turns(&mut self) -> Vec<Turn> {
        self.turns.drain(..).collect()
    }
}
