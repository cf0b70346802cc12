//! The page cache of a simulation, and who leaves it first.
//!
//! What must stay true: what is in memory fits, and whoever is in memory is known to the policy, and nobody
//! else.

use crate::id::{FileId, IdMap, ProgramId};
use crate::replace::{Arrival, Block, Policy, Replacement};

/// Files are the units of replacement here, and nobody looks at whose they are.
const ANYBODY: ProgramId = ProgramId(0);
/// What is taken for the number of files in memory where a policy has to remember others: a large tree's.
const FILES: usize = 1 << 14;

/// Files in memory, from their starts.
pub(super) struct Memory {
    capacity: u64,
    used: u64,
    /// Bytes of each that are there; never 0.
    there: IdMap<FileId, u64>,
    replacement: Box<dyn Replacement>,
}

impl Memory {
    /// Empty, with room for `capacity` bytes.
    pub(super) fn new(capacity: u64, policy: Policy) -> Memory {
        Memory { capacity, used: 0, there: IdMap::default(), replacement: policy.build(FILES) }
    }

    /// How many bytes of a file are there, from its start.
    pub(super) fn holds(&self, file: FileId) -> u64 {
        self.there.get(&file).copied().unwrap_or(0)
    }

    /// A file is used.
    pub(super) fn touch(&mut self, file: FileId) {
        if self.there.contains_key(&file) {
            self.replacement.touch(unit(file), ANYBODY);
        }
    }

    /// The first `bytes` of a file come in; others leave for them, and are handed out. What is larger than
    /// all of memory passes through it and drives nobody out.
    pub(super) fn bring(&mut self, file: FileId, bytes: u64, mut gone: impl FnMut(FileId)) {
        if bytes > self.capacity || bytes <= self.holds(file) {
            return;
        }
        match self.there.insert(file, bytes) {
            Some(before) => {
                self.used -= before;
                self.replacement.touch(unit(file), ANYBODY);
            }
            None => self.replacement.insert(unit(file), ANYBODY, Arrival::Demand),
        }
        self.used += bytes;
        while self.used > self.capacity {
            let Some(victim) = self.replacement.evict().map(file_of) else { return };
            self.used -= self.there.remove(&victim).unwrap_or(0);
            gone(victim);
        }
    }

    /// A file goes.
    pub(super) fn remove(&mut self, file: FileId) {
        if let Some(bytes) = self.there.remove(&file) {
            self.used -= bytes;
            self.replacement.remove(unit(file));
        }
    }

    /// Everything goes.
    pub(super) fn empty(&mut self) {
        while let Some(victim) = self.replacement.evict().map(file_of) {
            self.used -= self.there.remove(&victim).unwrap_or(0);
        }
    }
}

fn unit(file: FileId) -> Block {
    Block(file.0.into())
}

fn file_of(unit: Block) -> FileId {
    FileId(unit.0 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The files in the order in which they would leave, with their bytes: slow and obvious.
    #[derive(Default)]
    struct Model(Vec<(FileId, u64)>);

    impl Model {
        fn bring(&mut self, policy: Policy, file: FileId, bytes: u64, capacity: u64) {
            let there = self.0.iter().find(|entry| entry.0 == file).map_or(0, |entry| entry.1);
            if bytes > capacity || bytes <= there {
                return;
            }
            match self.0.iter_mut().find(|entry| entry.0 == file) {
                Some(entry) => entry.1 = bytes,
                None => self.0.push((file, bytes)),
            }
            self.touch(policy, file);
            while self.0.iter().map(|entry| entry.1).sum::<u64>() > capacity {
                self.0.remove(0);
            }
        }

        fn touch(&mut self, policy: Policy, file: FileId) {
            let place = self.0.iter().position(|entry| entry.0 == file);
            if let (Policy::Lru, Some(place)) = (policy, place) {
                let entry = self.0.remove(place);
                self.0.push(entry);
            }
        }
    }

    proptest! {
        #[test]
        fn memory_is_what_the_obvious_one_is(
            policy in prop_oneof![Just(Policy::Lru), Just(Policy::Fifo)],
            deeds in prop::collection::vec((0..3u8, 0..8u32, 1..60u64), 0..100),
        ) {
            let (mut memory, mut model) = (Memory::new(100, policy), Model::default());
            for (deed, file, bytes) in deeds {
                let file = FileId(file);
                match deed {
                    0 => {
                        memory.bring(file, bytes * 2, |_| ());
                        model.bring(policy, file, bytes * 2, 100);
                    }
                    1 => {
                        memory.touch(file);
                        model.touch(policy, file);
                    }
                    _ => {
                        memory.remove(file);
                        model.0.retain(|entry| entry.0 != file);
                    }
                }
                for file in (0..8).map(FileId) {
                    let there = model.0.iter().find(|entry| entry.0 == file).map_or(0, |entry| entry.1);
                    prop_assert_eq!(memory.holds(file), there);
                }
            }
            memory.empty();
            prop_assert_eq!(memory.used, 0);
        }
    }
}
