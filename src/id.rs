//! Small dense numbers for the things the engine talks about.
//!
//! Dense means: handed out from 0 upwards, so that they can index vectors and cost four bytes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub mod dense;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// A path below the source, as `names` numbers them. Directories have one too.
    FileId(u32)
}
dense_id! {
    /// One process life. Threads share it; a reused process number gets a new one.
    StreamId(u32)
}
dense_id! {
    /// An executable's identity: what a stream runs.
    ProgramId(u32)
}
dense_id! {
    /// One job in the shell's sense (a process group's life): the processes of one build share it.
    GroupId(u32)
}
dense_id! {
    /// One login or terminal (a session in the kernel's sense): all jobs started from it share it.
    SessionId(u32)
}
dense_id! {
    /// One piece of work for a worker.
    JobId(u64)
}

impl FileId {
    /// The source directory itself.
    pub const ROOT: FileId = FileId(0);
}

/// A hash map keyed by one of these numbers. Cheap (one multiplication) and the same in every
/// process; still, never let its order of iteration reach an effect.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// The hash behind [`IdMap`]: fine for numbers we hand out ourselves, not for names from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

/// 2^64 divided by the golden ratio: multiplying spreads neighbouring numbers over the whole range.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }

    fn finish(&self) -> u64 {
        // The product's good bits are the high ones; the table takes its index from the low ones.
        self.0 ^ (self.0 >> 32)
    }
}
