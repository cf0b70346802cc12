//! The default: whoever will be used again the latest leaves, as far as can be foreseen.
//!
//! Each program's pattern (see `detector`) says how the next use of its blocks is foreseen, in references of all programs:
//! - looping and sequential: after as long as between the last two uses; a block that was used once will not be used
//!   again for long;
//! - probabilistic: after as long as passes between its uses on the average;
//! - clustered: after as long as has passed since its last use;
//! - undecided: as looping, where a block was used before, else as clustered.
//!
//! What is overdue is foreseen like a clustered one. So DEAR's four ways to choose within a program follow, and programs
//! are compared in the same terms: each keeps what saves most references. What was fetched ahead is kept until it is used,
//! but no longer than a full cache of references.
//!
//! What must stay true: a block is in one program's orders only, and in `ahead` or in the three others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::dear::{DearParameters, MEMORY, TURNS};
use super::detector::{Detector, Pattern};
use super::history::History;
use super::{Arrival, Block, Replacement, Turn};
use crate::id::{IdMap, ProgramId};

/// Later than any time that is foreseen from a past.
const FAR: u64 = 1 << 40;
/// A lap takes this part longer than the last one before it is overdue: other programs' references come in between.
const SLACK: u64 = 8;

/// See the module's head.
pub(super) struct Foresight {
    room: usize,
    history: History,
    programs: BTreeMap<ProgramId, Program>,
    held: IdMap<Block, Held>,
    now: u64,
    newest: Option<Block>,
    turns: VecDeque<Turn>,
}

struct Program {
    detector: Detector,
    began: u64,
    /// By the last use.
    recency: BTreeMap<u64, Block>,
    /// By the number of uses, then by the last one.
    frequency: BTreeSet<(u32, u64, Block)>,
    /// By the next use; what was used once comes after all others, the latest last.
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
    due: u64,
}

impl Held {
    /// How long until its next use, going by how long ago its last one is and how long ago the one before was.
    fn distance(&self, now: u64) -> u64 {
        if self.due < now || self.due - self.last >= FAR { now - self.last } else { self.due - now }
    }
}

impl Foresight {
    /// For a cache of about `room` blocks.
    pub(super) fn new(room: usize) -> Self {
        Foresight {
            room,
            history: History::new(room.saturating_mul(MEMORY)),
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
        let gap = self.history.note(block, now).map(|past| now - past.last);
        let due = gap.map_or(now + FAR, |gap| now + gap + gap / SLACK);
        let program = self.program(owner);
        let from = program.detector.pattern();
        program.detector.refer(block);
        let (to, at) = (program.detector.pattern(), program.detector.references());
        let count = program.detector.count(block);
        program.recency.insert(now, block);
        program.frequency.insert((count, now, block));
        program.due.insert((due, block));
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
        let held = Held { owner, arrival: Arrival::Ahead, last: now, count: 0, due: now };
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
                    program.due.remove(&(held.due, block));
                }
            }
        }
        true
    }

    /// What the program would give up, with the distance of its next use.
    fn candidate(&self, program: &Program) -> Option<(u64, Block)> {
        let other = |block: &Block| Some(*block) != self.newest;
        let late = |block: Block| self.held.get(&block).map(|held| (held.distance(self.now), block));
        let oldest = program.recency.values().copied().find(other).and_then(late);
        let farthest = |limit: u64| {
            let due = program.due.range(..(limit, Block(0))).rev().find(|(_, block)| other(block));
            due.filter(|&&(due, _)| due >= self.now).map(|&(due, block)| (due - self.now, block))
        };
        let used = match program.detector.pattern() {
            Pattern::Sequential | Pattern::Looping => oldest.max(farthest(u64::MAX)),
            Pattern::Undecided => oldest.max(farthest(FAR + self.now)),
            Pattern::Clustered => oldest.map(|(_, block)| (self.age(block), block)),
            Pattern::Probabilistic => {
                let rare = program.frequency.iter().find(|(.., block)| other(block));
                rare.map(|&(count, _, block)| ((self.now - program.began) / u64::from(count.max(1)), block))
            }
        };
        used.max(self.unused(program))
    }

    /// What was fetched ahead: for a while it goes after everything else, then before.
    fn unused(&self, program: &Program) -> Option<(u64, Block)> {
        let (&since, &block) = program.ahead.iter().find(|&(_, block)| Some(*block) != self.newest)?;
        let expired = self.now - since > self.room as u64;
        Some((if expired { 2 * FAR } else { 0 }, block))
    }

    fn age(&self, block: Block) -> u64 {
        self.held.get(&block).map_or(0, |held| self.now - held.last)
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
        self.held.len() * trees * 3 / 2 + table + detectors + self.history.bytes()
    }

    fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.programs.iter().map(|(&owner, program)| (owner, program.detector.pattern())).collect()
    }

    fn turns(&mut self) -> Vec<Turn> {
        self.turns.drain(..).collect()
    }
}
