//! What each program has in the cache, in the orders by which it may give up blocks: what the policies that know programs
//! (`dear`, `foresight`) have in common.
//!
//! What must stay true: a block is one program's only, and in its orders of used blocks or in `ahead`; the newest block of
//! all is nobody's choice; who has no blocks takes no room here.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use super::detector::Pattern;
use super::detectors::{DearParameters, Detectors, Habit};
use super::{Arrival, Block, Turn};
use crate::id::{IdMap, ProgramId};

/// A lap takes this part longer than the last one before it is overdue: other programs' references come in between.
pub(super) const SLACK: u64 = 8;
/// References for which the last block of a file is at hand, and not given up as the most recently used one: a merge of sixteen runs, or a
/// copy out of one file into another, goes on within blocks that it has left for a moment.
pub(super) const AT_HAND: u64 = 32;
/// No more than this part of the cache is at hand.
pub(super) const HANDS: usize = 8;
/// Bits of a time: a million references a second for ten days.
const TIME_BITS: u32 = 40;
/// Uses that are told apart.
const MOST_USES: u32 = (1 << (u64::BITS - TIME_BITS)) - 1;

/// A block that might go, by the references since its last use (or another number, the higher the sooner).
pub(super) type Candidate = Option<(u64, Block)>;

/// See the module's head.
pub(super) struct Programs {
    detectors: Detectors,
    all: BTreeMap<ProgramId, Program>,
    held: IdMap<Block, Held>,
    /// References so far, and blocks fetched ahead.
    now: u64,
    newest: Option<Block>,
    /// The block of each file that was used last, with the time, of the last references.
    at_hand: Vec<(Block, u64)>,
}

/// One program's blocks.
#[derive(Default)]
pub(super) struct Program {
    /// By the last use.
    recency: BTreeMap<u64, Block>,
    /// By the number of uses, then by the last one: see [`frequency`].
    frequency: BTreeMap<u64, Block>,
    /// What was used before, by the next use.
    due: BTreeSet<(u64, Block)>,
    /// By arrival.
    ahead: BTreeMap<u64, Block>,
}

/// One block.
#[derive(Clone, Copy)]
struct Held {
    owner: ProgramId,
    /// Uses; none of what was fetched ahead.
    count: u32,
    /// Its last use, or when it came.
    last: u64,
    /// Its place in the order between programs, where there is one.
    place: u64,
    /// When it is to be used again; `None` when it was used once.
    due: Option<NonZeroU64>,
}

/// The place of a block in the order by the number of its uses, then by the last one.
fn frequency(count: u32, last: u64) -> u64 {
    u64::from(count.min(MOST_USES)) << TIME_BITS | last
}

impl Program {
    /// Blocks that it has used.
    pub(super) fn used(&self) -> usize {
        self.recency.len()
    }

    fn add(&mut self, block: Block, held: &Held) {
        if held.count == 0 {
            self.ahead.insert(held.last, block);
            return;
        }
        self.recency.insert(held.last, block);
        self.frequency.insert(frequency(held.count, held.last), block);
        held.due.map(|due| self.due.insert((due.get(), block)));
    }

    fn take(&mut self, block: Block, held: &Held) {
        if held.count == 0 {
            self.ahead.remove(&held.last);
            return;
        }
        self.recency.remove(&held.last);
        self.frequency.remove(&frequency(held.count, held.last));
        held.due.map(|due| self.due.remove(&(due.get(), block)));
    }

    fn is_empty(&self) -> bool {
        self.recency.is_empty() && self.ahead.is_empty()
    }
}

impl Programs {
    /// For a cache of about `room` blocks.
    pub(super) fn new(parameters: DearParameters, room: usize) -> Self {
        let detectors = Detectors::new(parameters, room);
        Programs {
            detectors,
            all: BTreeMap::new(),
            held: IdMap::default(),
            now: 0,
            newest: None,
            at_hand: Vec::new(),
        }
    }

    /// A block comes in.
    pub(super) fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        self.enter(block, owner, arrival);
        self.newest = Some(block);
    }

    /// A block is used; false when it is not there.
    pub(super) fn touch(&mut self, block: Block, owner: ProgramId) -> bool {
        let there = self.remove(block);
        if there {
            self.enter(block, owner, Arrival::Demand);
        }
        there
    }

    /// A block goes; false when it was not there.
    pub(super) fn remove(&mut self, block: Block) -> bool {
        let Some(held) = self.held.remove(&block) else { return false };
        if let Some(program) = self.all.get_mut(&held.owner) {
            program.take(block, &held);
            if program.is_empty() {
                self.all.remove(&held.owner);
            }
        }
        true
    }

    /// A block that is in no order comes, or is used.
    fn enter(&mut self, block: Block, owner: ProgramId, arrival: Arrival) {
        self.now += 1;
        let now = self.now;
        let (count, due) = match arrival {
            Arrival::Ahead => (0, None),
            Arrival::Demand => {
                self.take_in_hand(block);
                let gap = self.detectors.refer(block, owner, now);
                let due = gap.and_then(|gap| NonZeroU64::new(now + gap + gap / SLACK));
                (self.detectors.habit(owner, now).count(block).max(1), due)
            }
        };
        let held = Held { owner, count, last: now, place: now, due };
        self.all.entry(owner).or_default().add(block, &held);
        self.held.insert(block, held);
    }

    /// Whoever uses a block of a file puts the one before down.
    fn take_in_hand(&mut self, block: Block) {
        let now = self.now;
        let stays = |&(other, last): &(Block, u64)| other.file() != block.file() && last + AT_HAND > now;
        self.at_hand.retain(stays);
        self.at_hand.push((block, now));
    }

    /// Is somebody likely to go on in it? Who has come back to it has probably done so.
    fn is_at_hand(&self, block: Block) -> bool {
        let hands = AT_HAND.min((self.room() / HANDS) as u64);
        let once = self.held.get(&block).is_some_and(|held| held.count == 1);
        once && self.at_hand.iter().any(|&(other, last)| other == block && last + hands > self.now)
    }

    /// The programs that have blocks, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (ProgramId, &Program)> {
        self.all.iter().map(|(&owner, program)| (owner, program))
    }

    /// What is known of a program.
    pub(super) fn habit(&self, owner: ProgramId) -> Option<&Habit> {
        self.detectors.get(owner)
    }

    /// How a program refers to its blocks.
    pub(super) fn pattern(&self, owner: ProgramId) -> Pattern {
        self.habit(owner).map_or(Pattern::Undecided, Habit::pattern)
    }

    /// Whose a block is, if somebody has used it.
    pub(super) fn user(&self, block: Block) -> Option<(ProgramId, &Program)> {
        let held = self.held.get(&block).filter(|held| held.count > 0)?;
        Some((held.owner, self.all.get(&held.owner)?))
    }

    /// Its place in an order between programs: at first when it was used last, or came.
    pub(super) fn place(&self, block: Block) -> Option<u64> {
        self.held.get(&block).map(|held| held.place)
    }

    /// Gives it another place.
    pub(super) fn set_place(&mut self, block: Block, place: u64) {
        if let Some(held) = self.held.get_mut(&block) {
            held.place = place;
        }
    }

    /// The block that came last, if it is still there.
    pub(super) fn newest(&self) -> Option<Block> {
        self.newest.filter(|newest| self.held.contains_key(newest))
    }

    /// The clock: see the field.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Blocks that there is room for.
    pub(super) fn room(&self) -> usize {
        self.detectors.room()
    }

    fn is_older(&self, block: &Block) -> bool {
        Some(*block) != self.newest
    }

    /// The block used least recently, with its age.
    pub(super) fn oldest(&self, program: &Program) -> Candidate {
        let oldest = program.recency.iter().find(|(_, block)| self.is_older(block));
        oldest.map(|(&last, &block)| (self.now - last, block))
    }

    /// The same, if it should have been used again, or nobody knows when.
    pub(super) fn overdue(&self, program: &Program) -> Candidate {
        let late = |held: &Held| held.due.is_none_or(|due| due.get() < self.now);
        self.oldest(program).filter(|(_, block)| self.held.get(block).is_some_and(late))
    }

    /// The block whose next use is the last, if it is still to come, with the time until then.
    pub(super) fn farthest(&self, program: &Program) -> Candidate {
        let &(due, block) = program.due.iter().rev().find(|(_, block)| self.is_older(block))?;
        due.checked_sub(self.now).map(|distance| (distance, block))
    }

    /// The block used most recently of those that are not at hand any more, with its age.
    pub(super) fn latest(&self, program: &Program) -> Candidate {
        let put_down = |block: &Block| self.is_older(block) && !self.is_at_hand(*block);
        let latest = program.recency.iter().rev().find(|(_, block)| put_down(block));
        latest.map(|(&last, &block)| (self.now - last, block)).or_else(|| self.oldest(program))
    }

    /// The block used least often, with the number of its uses.
    pub(super) fn rarest(&self, program: &Program) -> Option<(u64, Block)> {
        let rarest = program.frequency.iter().find(|(_, block)| self.is_older(block));
        rarest.map(|(&key, &block)| (key >> TIME_BITS, block))
    }

    /// The block that has waited longest for its first use, and for how long.
    pub(super) fn unused(&self, program: &Program) -> Candidate {
        let unused = program.ahead.iter().find(|(_, block)| self.is_older(block));
        unused.map(|(&since, &block)| (self.now - since, block))
    }

    /// See [`super::Replacement::bytes`].
    pub(super) fn bytes(&self) -> usize {
        // Each block in three trees, whose nodes are two thirds full, and in one table, of which seven eighths are.
        let trees = 3 * size_of::<(u64, Block)>();
        let table = self.held.capacity() * (size_of::<(Block, Held)>() + 1) * 8 / 7;
        let programs = self.all.len() * size_of::<(ProgramId, Program)>();
        self.held.len() * trees * 3 / 2 + table + programs * 3 / 2 + self.detectors.bytes()
    }

    /// See [`super::Replacement::patterns`].
    pub(super) fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        self.detectors.patterns()
    }

    /// See [`super::Replacement::turns`].
    pub(super) fn turns(&mut self) -> Vec<Turn> {
        self.detectors.turns()
    }
}
