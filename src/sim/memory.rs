//! The page cache of a simulation, and who leaves it first.
//!
//! What must stay true: what is in memory fits, and whoever is in memory is known to the policy, and nobody
//! else.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use lru::LruCache;
use thiserror::Error;

use crate::id::{FileId, IdMap};

/// Decides who leaves. Files are its units.
pub trait Replacement: Send {
    /// A file that was not there comes in.
    fn insert(&mut self, file: FileId);

    /// A file that is there is used.
    fn touch(&mut self, file: FileId);

    /// A file goes for reasons of its own.
    fn remove(&mut self, file: FileId);

    /// Chooses a file and lets it go; `None` when there is none.
    fn evict(&mut self) -> Option<FileId>;
}

/// Which policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Who was used least recently goes first.
    #[default]
    Lru,
    /// Who came first goes first.
    Fifo,
}

/// There is no policy of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown policy '{0}': known are lru and fifo")]
pub struct UnknownPolicy(String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        match name {
            "lru" => Ok(Policy::Lru),
            "fifo" => Ok(Policy::Fifo),
            _ => Err(UnknownPolicy(name.to_owned())),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Lru => "lru",
            Policy::Fifo => "fifo",
        })
    }
}

impl Policy {
    fn build(self) -> Box<dyn Replacement> {
        match self {
            Policy::Lru => Box::new(Lru(LruCache::unbounded())),
            Policy::Fifo => Box::<Fifo>::default(),
        }
    }
}

struct Lru(LruCache<FileId, ()>);

impl Replacement for Lru {
    fn insert(&mut self, file: FileId) {
        self.0.put(file, ());
    }

    fn touch(&mut self, file: FileId) {
        self.0.promote(&file);
    }

    fn remove(&mut self, file: FileId) {
        self.0.pop(&file);
    }

    fn evict(&mut self) -> Option<FileId> {
        self.0.pop_lru().map(|(file, ())| file)
    }
}

#[derive(Default)]
struct Fifo(VecDeque<FileId>);

impl Replacement for Fifo {
    fn insert(&mut self, file: FileId) {
        self.0.push_back(file);
    }

    fn touch(&mut self, _: FileId) {}

    fn remove(&mut self, file: FileId) {
        self.0.retain(|&other| other != file);
    }

    fn evict(&mut self) -> Option<FileId> {
        self.0.pop_front()
    }
}

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
        Memory { capacity, used: 0, there: IdMap::default(), replacement: policy.build() }
    }

    /// How many bytes of a file are there, from its start.
    pub(super) fn holds(&self, file: FileId) -> u64 {
        self.there.get(&file).copied().unwrap_or(0)
    }

    /// A file is used.
    pub(super) fn touch(&mut self, file: FileId) {
        if self.there.contains_key(&file) {
            self.replacement.touch(file);
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
                self.replacement.touch(file);
            }
            None => self.replacement.insert(file),
        }
        self.used += bytes;
        while self.used > self.capacity {
            let Some(victim) = self.replacement.evict() else { return };
            self.used -= self.there.remove(&victim).unwrap_or(0);
            gone(victim);
        }
    }

    /// A file goes.
    pub(super) fn remove(&mut self, file: FileId) {
        if let Some(bytes) = self.there.remove(&file) {
            self.used -= bytes;
            self.replacement.remove(file);
        }
    }

    /// Everything goes.
    pub(super) fn empty(&mut self) {
        while let Some(victim) = self.replacement.evict() {
            self.used -= self.there.remove(&victim).unwrap_or(0);
        }
    }
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

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(["lru", "fifo"].map(|name| name.parse::<Policy>().unwrap().to_string()), ["lru", "fifo"]);
        let unknown = "belady".parse::<Policy>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown policy 'belady': known are lru and fifo");
    }
}
