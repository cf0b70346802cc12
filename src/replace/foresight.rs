//! The default: whoever will be used again the latest leaves, as far as can be foreseen.
//!
//! Each program's pattern (see `detector`) says which of its blocks it gives up, and when that one would be used again,
//! counted in references of all programs:
//! - sequential: the most recently used one; never again;
//! - looping: the most recently used one, after a lap, which is as long as the last ones were; or one that two laps have
//!   left out, after as long as has passed since its last use;
//! - probabilistic: the least frequently used one; after as long as passes between its uses on the average;
//! - clustered: the least recently used one; after as long as has passed since;
//! - undecided: the one that is farthest from its next use, if what was used twice is used a third time after as long,
//!   and all others are used as if clustered.
//!
//! Within a program these are DEAR's choices; programs are compared by the times, so that each keeps what saves most
//! references. What was fetched ahead is kept until it is used, but for no more than a full cache of references.
//!
//! What must stay true: a block is in one program's orders only: in `ahead`, or in the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::dear::{DearParameters, MEMORY, TURNS};
use super::detector::{Detector, Pattern};
use super::{Arrival, Block, Replacement, Turn};
use crate::id::{IdMap, ProgramId};

/// Stands for never: later than any time that is foreseen from a past.
const FAR: u64 = 1 << 40;
/// A lap takes this part longer than the last one before it is overdue: other programs' references come in between.
const SLACK: u64 = 8;
/// A lap that was longer than those after it is forgotten by this part with each reference.
const LAPSE: u64 = 256;

/// See the module's head.
pub(super) struct Foresight {
    room: usize,
    programs: BTreeMap<ProgramId, Program>,
    held: IdMap<Block, Held>,
    now: u64,
    newest: Option<Block>,
    turns: VecDeque<Turn>,
}

struct Program {
    detector: Detector,
    began: u64,
    /// How long after the use before them repeated uses come, lately.
    lap: u64,
    /// By the last use.
    recency: BTreeMap<u64, Block>,
    /// By the number of uses, then by the last one.
    frequency: BTreeSet<(u32, u64, Block)>,
    /// What was used before, by the next use.
    due: BTreeSet<(u64, Block)>,
    /// By arrival.
    ahead: BTreeMap<u64, Block>,
}

#[derive(Clone, Copy)]
struct Held {
    owner: ProgramId,
    arrival: Arrival,
    last: u64,
    count: u32,
    /// When it is to be used again; `None` when it was used once.
    due: Option<u64>,
}

impl Foresight {
    /// For a cache of about `room` blocks.
    pub(super) fn new(room: usize) -> Self {
        Foresight {
            room,
            programs: BTreeMap::new(),
            held: IdMap::default(),
            now: 0,
            newest: None,
            turns: VecDeque::new(),
        }
    }

    fn program(&mut self, owner: ProgramId) -> &mut Program {
        let DearParameters { rules, period, sublists } = DearParameters::default();
        let (room, began) = (self.room.saturating_mul(MEMORY), self.now);
        self.programs.entry(owner).or_insert_with(|| Program {
            detector: Detector::new(rules, period, sublists, room),
            began,
            lap: 0,
            recency: BTreeMap::new(),
            frequency: BTreeSet::new(),
            due: BTreeSet::new(),
            ahead: BTreeMap::new(),
        })
    }

    /// A block is used that is in no order.
    fn enter(&mut self, block: Block, owner: ProgramId) {
        self.now += 1;
        let now = self.now;
        let program = self.program(owner);
        let from = program.detector.pattern();
        let gap = program.detector.refer_at(block, now).0.map(|past| now - past.last);
        let due = gap.map(|gap| now + gap + gap / SLACK);
        program.lap = gap.unwrap_or(0).max(program.lap - program.lap / LAPSE);
        let (to, at) = (program.detector.pattern(), program.detector.references());
        let count = program.detector.count(block);
        program.recency.insert(now, block);
        program.frequency.insert((count, now, block));
        due.map(|due| program.due.insert((due, block)));
        self.held.insert(block, Held { owner, arrival: Arrival::Demand, last: now, count, due });
        if from != to {
            self.turns.push_back(Turn { owner, from, to, at });
            self.turns.drain(..self.turns.len().saturating_sub(TURNS));
        }
    }

    /// A block comes that is not used yet.
    fn await_use(&mut self, block: Block, owner: ProgramId) {
        self.now += 1;
        let now = self.now;
        self.program(owner).ahead.insert(now, block);
        let held = Held { owner, arrival: Arrival::Ahead, last: now, count: 0, due: None };
        self.held.insert(block, held);
    }

    fn leave(&mut self, block: Block) -> bool {
        let Some(held) = self.held.remove(&block) else { return false };
        if let Some(program) = self.programs.get_mut(&held.owner) {
            match held.arrival {
                Arrival::Ahead => {
                    program.ahead.remove(&held.last);
                }
                Arrival::Demand => {
                    program.recency.remove(&held.last);
                    program.frequency.remove(&(held.count, held.last, block));
                    held.due.map(|due| program.due.remove(&(due, block)));
                }
            }
        }
        true
    }

    /// What the program would give up, with the distance of its next use.
    fn candidate(&self, program: &Program) -> Option<(u64, Block)> {
        let used = match program.detector.pattern() {
            Pattern::Clustered => self.oldest(program),
            Pattern::Probabilistic => {
                let rare = program.frequency.iter().find(|(.., block)| self.is_older(block));
                rare.map(|&(count, _, block)| ((self.now - program.began) / u64::from(count.max(1)), block))
            }
            Pattern::Undecided => self.farthest(program).max(self.overdue(program)),
            Pattern::Looping => {
                let returns = self.latest(program).map(|(age, block)| (age.max(program.lap), block));
                returns.max(self.oldest(program).filter(|&(age, _)| age > 2 * program.lap))
            }
            // Of several the one with the most blocks.
            Pattern::Sequential => {
                self.latest(program).map(|(_, block)| (FAR + program.recency.len() as u64, block))
            }
        };
        used.max(self.unused(program))
    }

    fn is_older(&self, block: &Block) -> bool {
        Some(*block) != self.newest
    }

    /// The block used least recently, with its age.
    fn oldest(&self, program: &Program) -> Option<(u64, Block)> {
        let oldest = program.recency.iter().find(|(_, block)| self.is_older(block));
        oldest.map(|(&last, &block)| (self.now - last, block))
    }

    /// The same, if it should have been used again, or nobody knows when.
    fn overdue(&self, program: &Program) -> Option<(u64, Block)> {
        let late = |held: &Held| held.due.is_none_or(|due| due < self.now);
        self.oldest(program).filter(|(_, block)| self.held.get(block).is_some_and(late))
    }

    /// The block whose next use is the last, if it is still to come.
    fn farthest(&self, program: &Program) -> Option<(u64, Block)> {
        let &(due, block) = program.due.iter().rev().find(|(_, block)| self.is_older(block))?;
        due.checked_sub(self.now).map(|distance| (distance, block))
    }

    /// The block used most recently, with its age.
    fn latest(&self, program: &Program) -> Option<(u64, Block)> {
        let latest = program.recency.iter().rev().find(|(_, block)| self.is_older(block));
        latest.map(|(&last, &block)| (self.now - last, block))
    }

    /// What was fetched ahead: for a while it goes after everything else, then before.
    fn unused(&self, program: &Program) -> Option<(u64, Block)> {
        let (&since, &block) = program.ahead.iter().find(|(_, block)| self.is_older(block))?;
        let expired = self.now - since > self.room as u64;
        Some((if expired { 2 * FAR } else { 0 }, block))
    }
}

impl Replacement for Foresight {
    fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        match arrival {
            Arrival::Demand => self.enter(block, owner),
            Arrival::Ahead => self.await_use(block, owner),
        }
        self.newest = Some(block);
    }

    fn touch(&mut self, block: Block, owner: ProgramId) {
        if self.leave(block) {
            self.enter(block, owner);
        }
    }

    fn remove(&mut self, block: Block) {
        self.leave(block);
    }

    fn evict(&mut self) -> Option<Block> {
        let candidates = self.programs.values().filter_map(|program| self.candidate(program));
        let only = self.newest.filter(|newest| self.held.contains_key(newest));
        let victim = candidates.max().map(|(_, block)| block).or(only)?;
        self.leave(victim).then_some(victim)
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
