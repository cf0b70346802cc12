//! How each of several programs refers to its blocks: a detector for each, and what follows from its verdicts.
//!
//! What must stay true: the pasts that are remembered are bounded for all programs together, and who has most of them
//! forgets first, so that a scan does not make others forget their laps; time is one clock of all programs.

use std::collections::{BTreeMap, VecDeque};

use super::detector::{Detector, Pattern, Rules};
use super::{Block, Turn};
use crate::id::ProgramId;

/// Changes of patterns that are kept to be told.
const TURNS: usize = 100;
/// Pasts that are remembered, for each block that has room: a loop is found as one only while a whole lap is remembered.
pub(super) const MEMORY: usize = 5;
/// A program is sequential no longer when this part of a period came back soon: as much as makes a period no scan.
pub(super) const REFUTATION: u32 = 20;
/// What comes back within so few references tells nothing: whoever goes on in a block that it has left for a moment.
pub(super) const IMMEDIATELY: u64 = 32;
/// A lap that was longer than those after it is forgotten by this part with each reference that comes back.
pub(super) const LAPSE: u64 = 256;

/// What comes back within fewer references than these LRU would have kept with a good third of the cache to spare.
pub(super) fn soon(room: u64) -> u64 {
    room * 2 / 3
}

/// How programs are looked at.
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
pub(super) struct Detectors {
    parameters: DearParameters,
    room: usize,
    habits: BTreeMap<ProgramId, Habit>,
    /// Pasts that all of them remember.
    remembered: usize,
    turns: VecDeque<Turn>,
}

/// What is known of one program.
pub(super) struct Habit {
    detector: Detector,
    /// When it came.
    pub(super) began: u64,
    /// How long after the use before them repeated uses come, lately.
    pub(super) lap: u64,
    /// References of this period to blocks that came back soon.
    returns: u32,
    /// References lately, and those of them to blocks that were referred to before.
    lately: (u32, u32),
}

impl Habit {
    /// How it refers to its blocks.
    pub(super) fn pattern(&self) -> Pattern {
        self.detector.pattern()
    }

    /// How many references it makes for one to a block that it knows: the fewer come back, the less a block is worth.
    pub(super) fn rarity(&self) -> u64 {
        let (all, again) = self.lately;
        u64::from(all / (again + 1)).max(1)
    }

    /// How often a block was referred to, as far as that is remembered.
    pub(super) fn count(&self, block: Block) -> u32 {
        self.detector.count(block)
    }

    /// Notes how long ago a block was referred to before; what was noted before `most` others counts half.
    fn note(&mut self, gap: Option<u64>, most: u32) {
        if let Some(gap) = gap {
            self.lap = gap.max(self.lap - self.lap / LAPSE);
        }
        let (all, again) = &mut self.lately;
        *all += 1;
        *again += u32::from(gap.is_some());
        if *all >= most {
            *all /= 2;
            *again /= 2;
        }
    }
}

impl Detectors {
    /// For programs that share a cache of about `room` blocks.
    pub(super) fn new(parameters: DearParameters, room: usize) -> Self {
        Detectors { parameters, room, habits: BTreeMap::new(), remembered: 0, turns: VecDeque::new() }
    }

    /// What is known of this program, from now on if it is new.
    pub(super) fn habit(&mut self, owner: ProgramId, now: u64) -> &mut Habit {
        let DearParameters { rules, period, sublists } = self.parameters;
        self.habits.entry(owner).or_insert_with(|| {
            let detector = Detector::new(rules, period, sublists);
            Habit { detector, began: now, lap: 0, returns: 0, lately: (0, 0) }
        })
    }

    /// What is known of this program.
    pub(super) fn get(&self, owner: ProgramId) -> Option<&Habit> {
        self.habits.get(&owner)
    }

    /// Notes a reference; how long ago the one before it was comes back.
    pub(super) fn refer(&mut self, block: Block, owner: ProgramId, now: u64) -> Option<u64> {
        let DearParameters { rules, period, .. } = self.parameters;
        let soon = IMMEDIATELY + 1..soon(self.room as u64);
        let habit = self.habit(owner, now);
        let (from, before) = (habit.pattern(), habit.detector.remembered());
        let (past, _) = habit.detector.refer_at(block, now);
        let gap = past.map(|past| now - past.last);
        habit.note(gap, 2 * period);
        habit.returns += u32::from(gap.is_some_and(|gap| soon.contains(&gap)));
        // As published, a pattern stands until another one is found.
        let refuted = rules == Rules::Rank && habit.returns > period / REFUTATION;
        if refuted && habit.pattern() == Pattern::Sequential {
            habit.detector.refute();
        }
        let (to, at) = (habit.pattern(), habit.detector.references());
        if at.is_multiple_of(period.into()) {
            habit.returns = 0;
        }
        self.remembered += habit.detector.remembered() - before;
        if from != to {
            self.turns.push_back(Turn { owner, from, to, at });
            self.turns.drain(..self.turns.len().saturating_sub(TURNS));
        }
        if self.remembered > self.room.max(period as usize).saturating_mul(MEMORY) {
            self.forget();
        }
        gap
    }

    /// Who remembers most forgets a third of it; of sequential programs the past is worth nothing.
    fn forget(&mut self) {
        let worth = |habit: &&mut Habit| {
            let remembered = habit.detector.remembered();
            (remembered > 0 && habit.pattern() == Pattern::Sequential, remembered)
        };
        let Some(most) = self.habits.values_mut().max_by_key(worth) else { return };
        let before = most.detector.remembered();
        most.detector.forget(before - before / 3);
        self.remembered -= before - most.detector.remembered();
    }

    /// Blocks that there is room for.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Memory it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let detectors: usize = self.habits.values().map(|habit| habit.detector.bytes()).sum();
        detectors + self.habits.len() * size_of::<(ProgramId, Habit)>() * 3 / 2
    }

    /// See [`super::Replacement::patterns`].
    pub(super) fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.habits.iter().map(|(&owner, habit)| (owner, habit.pattern())).collect()
    }

    /// See [`super::Replacement::turns`].
    pub(super) fn turns(&mut self) -> Vec<Turn> {
        self.turns.drain(..).collect()
    }
}
