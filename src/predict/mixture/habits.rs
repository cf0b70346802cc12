//! What followed a context: the usual file and the latest one, by the context's key.
//!
//! What must stay true: memory is bounded (12 bytes a slot); when a bucket is full the least firm habit in it
//! makes room; a key that is lost or mistaken for another costs a prediction, nothing else.

use crate::id::FileId;

/// Slots looked at for one key: three quarters of a cache line.
const BUCKET: usize = 4;
/// Slots of a new table.
const FIRST_SLOTS: usize = 256;
/// Slots at most, unless `limit` says otherwise: 6 MiB.
const SLOTS_MAX: usize = 1 << 19;
/// Firm enough: seen so many times in a row.
const FIRMEST: u8 = 3;

/// What followed one context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Habit {
    key: u32,
    /// A file's number in 30 bits, as `Names` hands them out, and the firmness above it.
    usual: u32,
    latest: u32,
}

const EMPTY: Habit = Habit { key: 0, usual: 0, latest: 0 };
const FIRMNESS_SHIFT: u32 = 30;
const FILE_MASK: u32 = (1 << FIRMNESS_SHIFT) - 1;

impl Habit {
    /// What follows when nothing changes: gives way only when it fails more often than not.
    pub(super) fn usual(self) -> FileId {
        FileId(self.usual & FILE_MASK)
    }

    /// What followed last time.
    pub(super) fn latest(self) -> FileId {
        FileId(self.latest)
    }

    /// How often in a row, about, the usual one has followed: 1 when it did once and never failed, up to 3; 0 when it
    /// has just failed.
    pub(super) fn firmness(self) -> u8 {
        (self.usual >> FIRMNESS_SHIFT) as u8
    }

    fn learn(&mut self, file: FileId) {
        self.latest = file.0;
        if self.usual() != file && self.firmness() == 0 {
            self.usual = file.0;
        } else if self.usual() != file {
            self.usual -= 1 << FIRMNESS_SHIFT;
        } else if self.firmness() < FIRMEST {
            self.usual += 1 << FIRMNESS_SHIFT;
        }
    }
}

/// A context as a number that is not 0.
pub(super) fn key(words: [u32; 4]) -> u32 {
    // The finish of splitmix64, once for each pair of words.
    let mut hash = 0x9E37_79B9_7F4A_7C15_u64;
    for pair in words.chunks(2) {
        hash ^= u64::from(pair[0]) << 32 | u64::from(pair[1]);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^= hash >> 31;
    }
    hash as u32 | 1
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    slots: Vec<Habit>,
    used: usize,
    most: usize,
}

impl Default for Habits {
    fn default() -> Self {
        Habits { slots: vec![EMPTY; FIRST_SLOTS], used: 0, most: SLOTS_MAX }
    }
}

impl Habits {
    /// Keeps within so many bytes from now on; habits beyond that are lost.
    pub(super) fn limit(&mut self, bytes: usize) {
        let slots = (bytes / size_of::<Habit>()).max(FIRST_SLOTS);
        self.most = if slots.is_power_of_two() { slots } else { slots.next_power_of_two() / 2 };
        if self.slots.len() > self.most {
            self.resize(self.most);
        }
    }

    /// What followed this context.
    pub(super) fn get(&self, key: u32) -> Option<Habit> {
        let slots = &self.slots[self.bucket(key)..][..BUCKET];
        slots.iter().copied().find(|habit| habit.key == key)
    }

    /// The context was followed by this file.
    pub(super) fn learn(&mut self, key: u32, file: FileId) {
        let bucket = self.bucket(key);
        if let Some(known) = self.slots[bucket..][..BUCKET].iter_mut().find(|habit| habit.key == key) {
            return known.learn(file);
        }
        if self.used * 4 > self.slots.len() * 3 && self.slots.len() < self.most {
            self.resize(self.slots.len() * 2);
        }
        self.place(Habit { key, usual: file.0 & FILE_MASK | 1 << FIRMNESS_SHIFT, latest: file.0 });
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        (self.slots, self.used) = (vec![EMPTY; FIRST_SLOTS], 0);
    }

    /// Forgets files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for habit in &mut self.slots {
            if habit.key != 0 && (gone(habit.usual()) || gone(habit.latest())) {
                *habit = EMPTY;
                self.used -= 1;
            }
        }
    }

    /// How many are known.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Habit>()
    }

    fn bucket(&self, key: u32) -> usize {
        // The low bit is always set.
        (key >> 1) as usize & (self.slots.len() - BUCKET)
    }

    /// Into an empty slot, else over the least firm habit.
    fn place(&mut self, new: Habit) {
        let bucket = self.bucket(new.key);
        let slots = &mut self.slots[bucket..][..BUCKET];
        let weakest = slots.iter().enumerate().min_by_key(|(_, habit)| (habit.key != 0, habit.firmness()));
        let Some((place, habit)) = weakest else { return };
        self.used += usize::from(habit.key == 0);
        slots[place] = new;
    }

    fn resize(&mut self, slots: usize) {
        let old = std::mem::take(&mut self.slots);
        (self.slots, self.used) = (vec![EMPTY; slots], 0);
        old.into_iter().filter(|habit| habit.key != 0).for_each(|habit| self.place(habit));
    }
}
