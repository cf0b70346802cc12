//! Where a context stood last: a bounded hash table from a context's key to a log position.
//!
//! What must stay true: the newest position of a key wins; memory is bounded (8 bytes a slot, at
//! most twice as many slots as the log has entries); a lost key costs a prediction, nothing else.

/// Slots that are searched for one key: one cache line.
const BUCKET: usize = 8;
/// Buckets of a new table.
const FIRST_SIZE: usize = 128;
/// The key of an empty slot.
const EMPTY: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u32,
    /// The low half of the position.
    position: u32,
}

/// Slots that share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([Slot; BUCKET]);

const BARE: Bucket = Bucket([Slot { key: EMPTY, position: 0 }; BUCKET]);

/// See the module's head.
#[derive(Debug)]
pub(super) struct Contexts {
    buckets: Vec<Bucket>,
    used: usize,
    buckets_max: usize,
}

impl Contexts {
    /// A table for a log of `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let buckets_max = (1 << (capacity * 2 / BUCKET).max(1).ilog2()).max(FIRST_SIZE);
        Contexts { buckets: vec![BARE; FIRST_SIZE], used: 0, buckets_max }
    }

    /// The same, empty, with room for `keys` of them, so that it need not grow to hold these.
    pub(super) fn with_room(capacity: usize, keys: usize) -> Self {
        let mut contexts = Contexts::new(capacity);
        let size = (keys * 2 / BUCKET).next_power_of_two().clamp(FIRST_SIZE, contexts.buckets_max);
        contexts.buckets = vec![BARE; size];
        contexts
    }

    /// Where the key stood last, seen from a log that ends at `end`. May be overwritten by now.
    pub(super) fn get(&self, key: u32, end: u64) -> Option<u64> {
        let homes = self.homes(key).into_iter();
        let slot = homes.flat_map(|home| &self.buckets[home].0).find(|slot| slot.key == key)?;
        end.checked_sub(age(slot.position, end))
    }

    /// The key stands at `position`, which is the newest of all.
    pub(super) fn set(&mut self, key: u32, position: u64) {
        let half = self.buckets.len() * BUCKET / 2;
        if self.used > half && self.buckets.len() < self.buckets_max {
            self.grow(position);
        }
        self.place(Slot { key, position: position as u32 }, position);
    }

    /// The same for a key that must not push out another one.
    pub(super) fn set_if_room(&mut self, key: u32, position: u64) {
        for home in self.homes(key) {
            if let Some(slot) =
                self.buckets[home].0.iter_mut().find(|slot| slot.key == key || slot.key == EMPTY)
            {
                self.used += usize::from(slot.key == EMPTY);
                *slot = Slot { key, position: position as u32 };
                return;
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    /// A key's first and second bucket. The second is used when the first is full; both are always looked into.
    fn homes(&self, key: u32) -> [usize; 2] {
        let mask = self.buckets.len() - 1;
        [key as usize & mask, key.rotate_left(15) as usize & mask]
    }

    /// Into the key's own slot, else an empty one, else over the oldest.
    fn place(&mut self, new: Slot, end: u64) {
        let mut oldest = (0, 0, 0);
        for home in self.homes(new.key) {
            for (number, slot) in self.buckets[home].0.iter_mut().enumerate() {
                if slot.key == new.key || slot.key == EMPTY {
                    self.used += usize::from(slot.key == EMPTY);
                    *slot = new;
                    return;
                }
                oldest = oldest.max((age(slot.position, end), home, number));
            }
        }
        self.buckets[oldest.1].0[oldest.2] = new;
    }

    fn grow(&mut self, end: u64) {
        let size = self.buckets.len() * 2;
        let old = std::mem::replace(&mut self.buckets, vec![BARE; size]);
        self.used = 0;
        for slot in old.into_iter().flat_map(|bucket| bucket.0).filter(|slot| slot.key != EMPTY) {
            self.place(slot, end);
        }
    }
}

/// How long ago the position was, modulo 2^32: logs are shorter than that.
fn age(position: u32, end: u64) -> u64 {
    u64::from((end as u32).wrapping_sub(position))
}

/// The key of a context: which kind of context, and the numbers that make it up. Never `EMPTY`.
pub(super) fn key(kind: u32, parts: [u32; 4]) -> u32 {
    /// Odd and without pattern: the fractional digits of the square root of 2 and of the golden ratio.
    const MULTIPLIERS: [u64; 2] = [0x6A09_E667_F3BC_C909, 0x9E37_79B9_7F4A_7C15];
    let mut hash = u64::from(kind).wrapping_mul(MULTIPLIERS[1]);
    for part in parts {
        hash = (hash ^ u64::from(part)).wrapping_mul(MULTIPLIERS[0]);
        hash ^= hash >> 29;
    }
    hash = hash.wrapping_mul(MULTIPLIERS[1]);
    ((hash >> 32) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_newest_position_wins_and_nothing_is_lost_while_there_is_room() {
        let mut contexts = Contexts::new(1 << 16);
        let mut model = BTreeMap::new();
        let start = u64::from(u32::MAX) - 5_000;
        for step in 0..20_000u64 {
            let key = key(1, [(step * step % 9_001) as u32, 0, 0, 0]);
            contexts.set(key, start + step);
            model.insert(key, start + step);
        }
        let end = start + 20_000;
        let found =
            model.iter().filter(|&(&key, &position)| contexts.get(key, end) == Some(position)).count();
        assert_eq!(found, model.len());
    }

    #[test]
    fn memory_is_bounded() {
        let mut contexts = Contexts::new(1 << 10);
        (0..100_000u32).for_each(|step| contexts.set(key(1, [step, 1, 2, 3]), u64::from(step)));
        assert!(contexts.bytes() <= 8 * 2 * (1 << 10));
        assert_eq!(contexts.get(key(1, [99_999, 1, 2, 3]), 100_000), Some(99_999));
    }
}
