//! Replacement: which block leaves a full cache.
//!
//! One trait and one set of policies serve the simulator, where they run bare, and the mount's own cache, which holds them
//! behind its lock.
//!
//! How to drive one: `insert` what comes in, `touch` what is used, then `evict` for as long as there is too much. `dear`
//! and `lru-seq` also tell how each program refers to its blocks.
//!
//! What must stay true: a policy is pure (the same calls give the same victims) and knows exactly the blocks that are in
//! the cache; what came in last never leaves while there is another; time is a count of references.

use crate::id::ProgramId;

mod arc;
mod dear;
mod detector;
mod detectors;
mod foresight;
mod history;
mod labels;
mod lru;
mod opt;
mod policy;
mod programs;
mod s3fifo;
mod sieve;

pub use detector::{Detector, Pattern, Rules};
pub use labels::Labels;
pub use opt::opt_misses;
pub use policy::{POLICIES, Policy, PolicyError};

/// A block of a file, or a whole file where those are the units: any number that is always the same one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u64);

impl Block {
    /// Block `index` of the file with this number.
    pub fn of(file: u32, index: u32) -> Block {
        Block(u64::from(file) << 32 | u64::from(index))
    }

    /// The number of its file.
    pub fn file(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Which block of its file.
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

/// Why a block comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// It is being used.
    Demand,
    /// It is expected to be used; its first `touch` is its first use.
    Ahead,
}

/// A program's pattern was found to be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whose.
    pub owner: ProgramId,
    /// What it was.
    pub from: Pattern,
    /// What it is.
    pub to: Pattern,
    /// After how many references of the program.
    pub at: u64,
}

impl Turn {
    /// In words, the program by its name: `cscope: sequential -> looping at reference 1,500`.
    pub fn told_of(&self, name: &str) -> String {
        let digits = self.at.to_string();
        let mut at = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                at.push(',');
            }
            at.push(digit);
        }
        format!("{name}: {} -> {} at reference {at}", self.from, self.to)
    }
}

/// Decides who leaves.
pub trait Replacement: Send {
    /// A block that was not there comes in, for this program.
    fn insert(&mut self, block: Block, owner: ProgramId, arrival: Arrival);

    /// A block that is there is used by this program.
    fn touch(&mut self, block: Block, owner: ProgramId);

    /// A block goes for reasons of its own.
    fn remove(&mut self, block: Block);

    /// Chooses a block and lets it go; `None` when there is none. What came in last goes only when it is alone.
    fn evict(&mut self) -> Option<Block>;

    /// Memory it takes, in bytes, as near as can be told.
    fn bytes(&self) -> usize;

    /// How each program refers to its blocks, where that is looked at; programs in their order.
    fn patterns(&self) -> Vec<(ProgramId, Pattern)> {
        Vec::new()
    }

    /// The changes of patterns since this was last asked; at most the last hundred.
    fn turns(&mut self) -> Vec<Turn> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
