//! The history: one bounded log of accesses, twelve bytes each, threaded into runs (one a group).
//!
//! What must stay true: a position only grows, and one that has been overwritten is never answered;
//! an entry's link leads forward to the next entry of the same run, past those of other groups.

use super::super::Kind;
use crate::id::FileId;

/// The file number of an entry that was forgotten. `Names` hands out fewer.
const FORGOTTEN: u32 = (1 << 30) - 1;
const KIND_SHIFT: u32 = 30;

/// A file and how it was used, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item(u32);

impl Item {
    pub(super) fn new(file: FileId, kind: Kind) -> Self {
        Item((kind as u32) << KIND_SHIFT | file.0.min(FORGOTTEN))
    }

    pub(super) fn file(self) -> FileId {
        FileId(self.0 & FORGOTTEN)
    }

    pub(super) fn kind(self) -> Kind {
        match self.0 >> KIND_SHIFT {
            0 => Kind::Open,
            1 => Kind::List,
            _ => Kind::Lookup,
        }
    }

    pub(super) fn forgotten(self) -> bool {
        self.file().0 == FORGOTTEN
    }
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) item: Item,
    /// Which run it belongs to.
    pub(super) run: u32,
    /// How far ahead the next entry of the run is; 0 when there is none.
    next: u32,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Log {
    entries: Vec<Entry>,
    capacity: usize,
    end: u64,
}

impl Log {
    /// A log that keeps the last `capacity` entries, rounded up to a power of two.
    pub(super) fn new(capacity: usize) -> Self {
        Log { entries: Vec::new(), capacity: capacity.clamp(2, 1 << 30).next_power_of_two(), end: 0 }
    }

    /// The position the next entry will have.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The oldest position that is still there.
    pub(super) fn start(&self) -> u64 {
        self.end - self.entries.len() as u64
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn get(&self, position: u64) -> Option<&Entry> {
        (position < self.end && position >= self.start()).then(|| &self.entries[self.slot(position)])
    }

    /// The next entry of the same run.
    pub(super) fn next(&self, position: u64) -> Option<u64> {
        let link = self.get(position)?.next;
        (link != 0).then(|| position + u64::from(link))
    }

    /// Appends to a run whose last entry so far is `tail`. Returns the new entry's position.
    pub(super) fn push(&mut self, item: Item, run: u32, tail: Option<u64>) -> u64 {
        let position = self.end;
        let entry = Entry { item, run, next: 0 };
        if self.entries.len() < self.capacity {
            self.entries.push(entry);
        } else {
            let slot = self.slot(position);
            self.entries[slot] = entry;
        }
        self.end += 1;
        if let Some(tail) = tail.filter(|&tail| tail >= self.start() && tail < position) {
            let slot = self.slot(tail);
            // Less than the capacity, so it fits.
            self.entries[slot].next = (position - tail) as u32;
        }
        position
    }

    /// What was only a look-up turns out to be a use.
    pub(super) fn upgrade(&mut self, position: u64, item: Item) -> bool {
        let fits = self.get(position).is_some_and(|old| {
            old.item.file() == item.file() && old.item.kind() == Kind::Lookup && item.kind() != Kind::Lookup
        });
        if fits {
            let slot = self.slot(position);
            self.entries[slot].item = item;
        }
        fits
    }

    /// Blots out every entry about these files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| gone(entry.item.file())) {
            entry.item = Item::new(FileId(FORGOTTEN), entry.item.kind());
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    fn slot(&self, position: u64) -> usize {
        position as usize & (self.capacity - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a list of everything that was ever pushed.
        #[test]
        fn runs_are_threaded(pushes in prop::collection::vec((0..4u32, 0..9u32), 0..60)) {
            let mut log = Log::new(16);
            let mut all: Vec<(u32, u32)> = Vec::new();
            let mut tails = BTreeMap::new();
            for (run, file) in pushes {
                let position = log.push(Item::new(FileId(file), Kind::Open), run, tails.get(&run).copied());
                prop_assert_eq!(position as usize, all.len());
                tails.insert(run, position);
                all.push((run, file));
            }
            let start = all.len().saturating_sub(16);
            prop_assert_eq!(log.start() as usize, start);
            for (position, &(run, file)) in all.iter().enumerate() {
                let entry = log.get(position as u64);
                prop_assert_eq!(entry.is_some(), position >= start);
                if let Some(entry) = entry {
                    prop_assert_eq!((entry.run, entry.item.file()), (run, FileId(file)));
                    let next = all.iter().skip(position + 1).position(|other| other.0 == run);
                    prop_assert_eq!(log.next(position as u64), next.map(|step| (position + 1 + step) as u64));
                }
            }
        }
    }

    #[test]
    fn a_look_up_becomes_a_use_once() {
        let mut log = Log::new(4);
        let at = log.push(Item::new(FileId(3), Kind::Lookup), 0, None);
        assert!(!log.upgrade(at, Item::new(FileId(4), Kind::Open)));
        assert!(log.upgrade(at, Item::new(FileId(3), Kind::Open)));
        assert!(!log.upgrade(at, Item::new(FileId(3), Kind::List)));
        assert_eq!(log.get(at).unwrap().item.kind(), Kind::Open);
        log.forget(&|file| file == FileId(3));
        assert!(log.get(at).unwrap().item.forgotten());
    }
}
