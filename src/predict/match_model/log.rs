//! The history: one bounded log of accesses, threaded into runs (one a group).
//!
//! What must stay true: an entry's links lead forward to the next entry of the same run and back to
//! the one its process used before; places change only in `retain`, which says where each entry went.

use super::super::Kind;
use super::entry::{By, Entry, Item, Life};
use crate::id::dense::room;
use crate::id::{FileId, ProgramId};

/// Smallest log: a run of a few files and its repetition.
const CAPACITY_MIN: usize = 16;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Log {
    entries: Vec<Entry>,
    capacity: usize,
}

/// Where entries went when some were dropped.
pub(super) struct Moves {
    /// How many entries before each place stayed; one more than there were places.
    before: Vec<u32>,
}

impl Moves {
    /// Where the entry is now; `None` when it was dropped.
    pub(super) fn of(&self, position: u64) -> Option<u64> {
        let at = position as usize;
        let (new, behind) = (*self.before.get(at)?, *self.before.get(at + 1)?);
        (behind > new).then_some(u64::from(new))
    }

    /// Where what began at `position` begins now.
    pub(super) fn bound(&self, position: u64) -> u64 {
        self.before.get(position as usize).or(self.before.last()).map_or(0, |&new| u64::from(new))
    }
}

impl Log {
    /// A log of at most `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        Log { entries: Vec::new(), capacity: capacity.clamp(CAPACITY_MIN, 1 << 30) }
    }

    /// The position the next entry will have.
    pub(super) fn end(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Sets the limit. What is beyond it stays until somebody drops it.
    pub(super) fn limit(&mut self, capacity: usize) {
        self.capacity = capacity.clamp(CAPACITY_MIN, 1 << 30);
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// There is no room for another entry: some have to go first.
    pub(super) fn full(&self) -> bool {
        self.entries.len() >= self.capacity
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn get(&self, position: u64) -> Option<&Entry> {
        self.entries.get(position as usize)
    }

    pub(super) fn get_mut(&mut self, position: u64) -> Option<&mut Entry> {
        self.entries.get_mut(position as usize)
    }

    /// The next entry of the same run.
    pub(super) fn next(&self, position: u64) -> Option<u64> {
        let link = self.get(position)?.next;
        (link != 0).then(|| position + u64::from(link))
    }

    /// What its process used before, past what was forgotten.
    pub(super) fn back(&self, position: u64) -> Option<u64> {
        let mut at = position;
        loop {
            let link = self.get(at)?.back;
            at = at.checked_sub(u64::from(link)).filter(|_| link != 0)?;
            if !self.get(at)?.item.forgotten() {
                return Some(at);
            }
        }
    }

    /// Appends to a run whose last entry so far is `tail`, after `back`. Returns the new entry's position.
    pub(super) fn push(&mut self, item: Item, run: u32, by: By, tail: Option<u64>, back: Option<u64>) -> u64 {
        let position = self.end();
        let distance = |from: u64| position.saturating_sub(from) as u32;
        room(&mut self.entries, 1);
        self.entries.push(Entry { item, run, by, next: 0, back: back.map_or(0, distance) });
        if let Some(tail) = tail.filter(|&tail| tail < position) {
            self.entries[tail as usize].next = distance(tail);
        }
        position
    }

    /// What was only a look-up turns out to be a use.
    pub(super) fn upgrade(&mut self, position: u64, item: Item, by: By, back: Option<u64>) -> bool {
        let Some(entry) = self.get_mut(position) else { return false };
        let fits = entry.item.file() == item.file()
            && entry.item.kind() == Kind::Lookup
            && item.kind() != Kind::Lookup;
        if fits {
            let behind = back.filter(|&back| back < position).map_or(0, |back| (position - back) as u32);
            (entry.item, entry.by, entry.back) = (item, by, behind);
        }
        fits
    }

    /// The run is a scan.
    pub(super) fn set_scan(&mut self, run: u32) {
        self.entries.iter_mut().filter(|entry| entry.run == run).for_each(|entry| entry.by.set_scan());
    }

    /// Blots out every entry about these files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| gone(entry.item.file())) {
            entry.item = Item::new(Item::BLANK.file(), entry.item.kind());
        }
    }

    /// Blots out every entry of this program, and who it was.
    pub(super) fn forget_program(&mut self, program: ProgramId) {
        for entry in self.entries.iter_mut().filter(|entry| entry.by.program() == program) {
            entry.item = Item::new(Item::BLANK.file(), Kind::Lookup);
            entry.by = payload(ProgramId(0));
        }
    }

    /// Drops the entries that are not to be kept. Runs and lives stay threaded, past what is dropped.
    pub(super) fn retain(&mut self, keep: &[bool]) -> Moves {
        let mut before = Vec::with_capacity(keep.len() + 1);
        let mut kept = 0;
        for &stays in keep {
            before.push(kept);
            kept += u32::from(stays);
        }
        before.push(kept);
        let moves = Moves { before };
        let links: Vec<(u32, u32)> = (0..self.end())
            .filter_map(|old| {
                let new = moves.of(old)?;
                let next = self.following(old, &moves).map_or(0, |next| (next - new) as u32);
                let behind = self.preceding(old, &moves).map_or(0, |back| (new - back) as u32);
                Some((next, behind))
            })
            .collect();
        let mut stays = keep.iter();
        self.entries.retain(|_| stays.next().is_none_or(|&stays| stays));
        for (entry, (next, back)) in self.entries.iter_mut().zip(links) {
            (entry.next, entry.back) = (next, back);
        }
        moves
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    fn following(&self, position: u64, moves: &Moves) -> Option<u64> {
        let mut at = position;
        loop {
            at = self.next(at)?;
            if let Some(new) = moves.of(at) {
                return Some(new);
            }
        }
    }

    /// No further than one step: a context with a gap is another context.
    fn preceding(&self, position: u64, moves: &Moves) -> Option<u64> {
        moves.of(self.back(position)?)
    }
}

/// A use that is no context of anything.
pub(super) fn payload(program: ProgramId) -> By {
    By::new(program, Life::Payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const BY: fn() -> By = || By::new(ProgramId(1), Life::Later);

    proptest! {
        /// Against a list of everything that was ever pushed, before and after some of it is dropped.
        #[test]
        fn runs_are_threaded(pushes in prop::collection::vec((0..4u32, 0..9u32, any::<bool>()), 0..60)) {
            let mut log = Log::new(64);
            let mut tails = BTreeMap::new();
            for &(run, file, _) in &pushes {
                let tail = tails.get(&run).copied();
                tails.insert(run, log.push(Item::new(FileId(file), Kind::Open), run, BY(), tail, tail));
            }
            check(&log, &pushes.iter().map(|&(run, file, _)| (run, file)).collect::<Vec<_>>(), true);
            let keep: Vec<bool> = pushes.iter().map(|push| push.2).collect();
            let moves = log.retain(&keep);
            let kept: Vec<(u32, u32)> =
                pushes.iter().filter(|push| push.2).map(|&(run, file, _)| (run, file)).collect();
            check(&log, &kept, false);
            let mut new = 0;
            for (old, push) in pushes.iter().enumerate() {
                prop_assert_eq!(moves.bound(old as u64), new);
                prop_assert_eq!(moves.of(old as u64), push.2.then_some(new));
                new += u64::from(push.2);
            }
        }
    }

    fn check(log: &Log, all: &[(u32, u32)], whole: bool) {
        assert_eq!(log.end() as usize, all.len());
        for (position, &(run, file)) in all.iter().enumerate() {
            let entry = log.get(position as u64).unwrap();
            assert_eq!((entry.run, entry.item.file()), (run, FileId(file)));
            let next = all.iter().skip(position + 1).position(|other| other.0 == run);
            assert_eq!(log.next(position as u64), next.map(|step| (position + 1 + step) as u64));
            let back = all[..position].iter().rposition(|other| other.0 == run).map(|back| back as u64);
            assert!(log.back(position as u64) == back || (!whole && log.back(position as u64).is_none()));
        }
    }

    #[test]
    fn a_look_up_becomes_a_use_once() {
        let mut log = Log::new(16);
        let at = log.push(Item::new(FileId(3), Kind::Lookup), 0, payload(ProgramId(1)), None, None);
        assert!(!log.upgrade(at, Item::new(FileId(4), Kind::Open), BY(), None));
        assert!(log.upgrade(at, Item::new(FileId(3), Kind::Open), BY(), None));
        assert!(!log.upgrade(at, Item::new(FileId(3), Kind::List), BY(), None));
        assert_eq!(log.get(at).unwrap().item.kind(), Kind::Open);
        log.forget(&|file| file == FileId(3));
        assert!(log.get(at).unwrap().item.forgotten());
    }

    #[test]
    fn the_way_back_leads_past_what_was_forgotten() {
        let mut log = Log::new(16);
        let mut tail = None;
        for file in 0..4 {
            tail = Some(log.push(Item::new(FileId(file), Kind::Open), 0, BY(), tail, tail));
        }
        log.forget(&|file| file == FileId(1) || file == FileId(2));
        assert_eq!(log.back(3), Some(0));
    }
}
