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
//!   and all others are used as if clustered, but later by as much as the program's references rarely come back.
//!
//! Within a program these are DEAR's choices; programs are compared by the times, so that each keeps what saves most
//! references. What was fetched ahead is kept until it is used, but for no more than a full cache of references.
//!
//! What must stay true: the same calls give the same victims.

use super::detector::Pattern;
use super::detectors::DearParameters;
use super::programs::{Candidate, Program, Programs};
use super::{Arrival, Block, Replacement, Turn};
use crate::id::ProgramId;

/// Stands for never: later than any time that is foreseen from a past.
const FAR: u64 = 1 << 40;

/// See the module's head.
pub(super) struct Foresight {
    programs: Programs,
}

impl Foresight {
    /// For a cache of about `room` blocks.
    pub(super) fn new(parameters: DearParameters, room: usize) -> Self {
        Foresight { programs: Programs::new(parameters, room) }
    }

    /// What the program would give up, with the distance of its next use.
    fn candidate(&self, owner: ProgramId, program: &Program) -> Candidate {
        let all = &self.programs;
        self.used(owner, program, all.pattern(owner)).max(self.unused(program))
    }

    /// The same of what it has used.
    fn used(&self, owner: ProgramId, program: &Program, pattern: Pattern) -> Candidate {
        let (all, habit) = (&self.programs, self.programs.habit(owner)?);
        match pattern {
            Pattern::Clustered => all.oldest(program),
            Pattern::Probabilistic => {
                let life = all.now() - habit.began;
                all.rarest(program).map(|(count, block)| (life / count, block))
            }
            Pattern::Undecided => {
                let overdue = all.overdue(program).map(|(age, block)| (age * habit.rarity(), block));
                all.farthest(program).max(overdue)
            }
            Pattern::Looping => {
                let returns = all.latest(program).map(|(age, block)| (age.max(habit.lap), block));
                returns.max(all.oldest(program).filter(|&(age, _)| age > 2 * habit.lap))
            }
            // Of several the one with the most blocks.
            Pattern::Sequential => all.latest(program).map(|(_, block)| (FAR + program.used() as u64, block)),
        }
    }

    /// What was fetched ahead: for a while it goes after everything else, then before.
    fn unused(&self, program: &Program) -> Candidate {
        let (age, block) = self.programs.unused(program)?;
        let expired = age > self.programs.room() as u64;
        Some((if expired { 2 * FAR } else { 0 }, block))
    }
}

impl Replacement for Foresight {
    fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        self.programs.insert(block, owner, arrival);
    }

    fn touch(&mut self, block: Block, owner: ProgramId) {
        self.programs.touch(block, owner);
    }

    fn remove(&mut self, block: Block) {
        self.programs.remove(block);
    }

    fn evict(&mut self) -> Option<Block> {
        let candidates = self.programs.all().filter_map(|(owner, program)| self.candidate(owner, program));
        let victim = candidates.max().map(|(_, block)| block).or(self.programs.newest())?;
        self.programs.remove(victim);
        Some(victim)
    }

    fn bytes(&self) -> usize {
        self.programs.bytes()
    }

    fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.programs.patterns()
    }

    fn turns(&mut self) -> Vec<Turn> {
        self.programs.turns()
    }
}
