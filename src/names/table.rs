//! A hash set of dense numbers whose keys live elsewhere: open addressing, four bytes a slot.
//!
//! Must stay true: at least a quarter of the slots is empty, so every search ends.

const EMPTY: u32 = u32::MAX;
const ERASED: u32 = u32::MAX - 1;

/// The slots. The caller hashes and compares.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    slots: Vec<u32>,
    /// Slots that are not `EMPTY`.
    used: usize,
}

impl Table {
    /// A table with room for `count` numbers.
    pub(super) fn with_room(count: usize) -> Self {
        let size = (count * 4 / 3 + 8).next_power_of_two();
        Table { slots: vec![EMPTY; size], used: 0 }
    }

    /// Would one more number leave too few empty slots?
    pub(super) fn full(&self) -> bool {
        (self.used + 1) * 4 > self.slots.len() * 3
    }

    /// The number with this hash for which `same` holds.
    pub(super) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        self.probe(hash, same).map(|slot| self.slots[slot])
    }

    /// Adds a number that is not there; the table must not be full.
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] < ERASED {
            slot = (slot + 1) & mask;
        }
        self.used += usize::from(self.slots[slot] == EMPTY);
        self.slots[slot] = number;
    }

    /// Takes a number out.
    pub(super) fn erase(&mut self, hash: u64, number: u32) {
        if let Some(slot) = self.probe(hash, |other| other == number) {
            self.slots[slot] = ERASED;
        }
    }

    /// Memory held.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }

    fn probe(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                EMPTY => return None,
                ERASED => {}
                number if same(number) => return Some(slot),
                _ => {}
            }
            slot = (slot + 1) & mask;
        }
    }
}
