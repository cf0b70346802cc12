//! Traces of blocks, and how many of their references each replacement policy has to read from the device.
//!
//! They come from lines of text, from a recorded mount (`recorded`), or are made for the purpose (`shapes`).
//!
//! No time passes here but the count of references: what is compared is the policies alone.
//!
//! What must stay true: the same trace, policy and size give the same counts.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::id::ProgramId;
use crate::replace::{Arrival, Block, Policy, Turn, opt_misses};

mod compare;
mod recorded;
mod shapes;

pub use compare::{Comparison, Limit, compare, periods};
pub use shapes::{BLOCK_SHAPES, BlockRecipe, BlockRecipeError, BlockShape};

/// Bytes of a block: those of the published measurements.
pub const BLOCK_SIZE: u64 = 8 << 10;

/// One reference to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// By which program.
    pub owner: ProgramId,
    /// To which block.
    pub block: Block,
}

/// References in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTrace {
    /// What it is called in tables.
    pub name: String,
    /// Programs by number.
    pub programs: Vec<String>,
    /// What they refer to.
    pub references: Vec<Reference>,
    /// Files that went while this went on, in their order: before which reference, and the file's number in blocks.
    pub gone: Vec<(usize, u32)>,
}

/// A line is no reference.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: expected program, file and block number, with white space between them")]
pub struct BlockLineError {
    /// Which, from 1.
    pub line: usize,
}

impl BlockTrace {
    /// Reads lines of program, file and block number. Empty ones and those that begin with # do not count.
    ///
    /// # Errors
    /// The first line that is something else.
    pub fn read(name: &str, text: &str) -> Result<BlockTrace, BlockLineError> {
        let mut trace = BlockTrace { name: name.to_owned(), ..BlockTrace::default() };
        let (mut programs, mut files) = (BTreeMap::new(), BTreeMap::new());
        for (number, line) in text.lines().enumerate() {
            let words: Vec<_> = line.split_whitespace().collect();
            if words.first().is_none_or(|word| word.starts_with('#')) {
                continue;
            }
            let wrong = BlockLineError { line: number + 1 };
            let &[program, file, index] = words.as_slice() else { return Err(wrong) };
            let Ok(index) = index.parse() else { return Err(wrong) };
            let next = programs.len() as u32;
            let owner = *programs.entry(program).or_insert_with(|| {
                trace.programs.push(program.to_owned());
                ProgramId(next)
            });
            let next = files.len() as u32;
            let file = *files.entry(file).or_insert(next);
            trace.references.push(Reference { owner, block: Block::of(file, index) });
        }
        Ok(trace)
    }

    /// The references without their programs.
    fn blocks(&self) -> Vec<Block> {
        self.references.iter().map(|reference| reference.block).collect()
    }

    /// How many references miss in a cache of `room` blocks.
    pub fn misses(&self, policy: Policy, room: usize) -> u64 {
        self.drive(policy, room, |_| ())
    }

    /// What a policy finds of the programs on the way: `cscope: sequential -> looping at reference 1,500`.
    pub fn changes(&self, policy: Policy, room: usize) -> Vec<String> {
        let mut changes = Vec::new();
        self.drive(policy, room, |turn| {
            let name = self.programs.get(turn.owner.index()).map_or("(unknown)", String::as_str);
            changes.push(turn.told_of(name));
        });
        changes
    }

    fn drive(&self, policy: Policy, room: usize, mut tell: impl FnMut(Turn)) -> u64 {
        let mut replacement = policy.build(room);
        let mut held = BTreeSet::new();
        let (mut misses, mut gone) = (0, self.gone.iter().peekable());
        for (at, &Reference { owner, block }) in self.references.iter().enumerate() {
            while let Some(&(_, file)) = gone.next_if(|&&(when, _)| when <= at) {
                let blocks = held.range(Block::of(file, 0)..=Block::of(file, u32::MAX));
                for block in blocks.copied().collect::<Vec<_>>() {
                    held.remove(&block);
                    replacement.remove(block);
                }
            }
            if held.contains(&block) {
                replacement.touch(block, owner);
            } else {
                misses += 1;
                held.insert(block);
                replacement.insert(block, owner, Arrival::Demand);
            }
            if held.len() > room
                && let Some(victim) = replacement.evict()
            {
                held.remove(&victim);
            }
            replacement.turns().into_iter().for_each(&mut tell);
        }
        misses
    }

    /// How many miss at least, whatever the policy.
    pub fn least_misses(&self, room: usize) -> u64 {
        opt_misses(&self.blocks(), room)
    }
}

#[cfg(test)]
mod tests;
