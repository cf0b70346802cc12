//! Traces of blocks made from a seed: single patterns, and programs of the published measurements in outline.
//!
//! `NAME[+NAME...]` interleaves several: `cscope+wc`. `NAME:BLOCKS` changes how many blocks the first file has.
//!
//! What must stay true: the same words and seed make the same trace, on any machine.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{BlockTrace, Reference};
use crate::device::SplitMix;
use crate::id::ProgramId;
use crate::replace::Block;

/// A shape: its name, what it is, the default of its blocks, and what writes it.
#[derive(Debug)]
pub struct BlockShape {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Blocks of its first file when nothing is said.
    pub blocks: u32,
    write: fn(&mut Pen, u32),
}

const fn shape(name: &'static str, about: &'static str, blocks: u32, write: fn(&mut Pen, u32)) -> BlockShape {
    BlockShape { name, about, blocks, write }
}

/// All shapes. The sizes of programs are the published ones in blocks of 8 KiB.
pub static BLOCK_SHAPES: &[BlockShape] = &[
    shape("loop", "one file is read from start to end, again and again", 1100, |pen, blocks| {
        (0..40_000 / blocks.min(40_000)).for_each(|_| pen.scan(0, 0, blocks));
    }),
    shape("scan", "one long file is read once", 40_000, |pen, blocks| pen.scan(0, 0, blocks)),
    shape("zipf", "blocks by popularity, skew 0.9", 2000, zipf),
    shape("stack", "recently used blocks are likelier, by Pareto's law", 2000, stack),
    shape("cscope", "five queries, each through the whole index of 9 MB", 1150, |pen, blocks| {
        (0..5).for_each(|_| pen.scan(0, 0, blocks));
    }),
    shape("glimpse", "five searches: an index of 5 MB, then parts of 50 MB of text", 640, glimpse),
    shape("sort", "4.5 MB are sorted in runs, which are merged in two passes", 576, sort),
    shape("link", "symbols of all objects, 2.5 MB, then their contents, again and again", 320, link),
    shape("cpp", "1,000 sources, each with some of 1 MB of headers", 1250, cpp),
    shape("gnuplot", "four views of a file of 8 MB", 1000, |pen, blocks| {
        (0..4).for_each(|_| pen.scan(0, 0, blocks));
    }),
    shape("join", "a table is read once, and for each row an index and a row of another", 800, join),
    shape("wc", "files of 12 MB are read once", 1500, |pen, blocks| pen.scan(0, 0, blocks)),
];

/// Writes the references of one program.
struct Pen {
    owner: u32,
    dice: SplitMix,
    references: Vec<Reference>,
}

impl Pen {
    fn refer(&mut self, file: u32, index: u32) {
        // Nobody else has the same files.
        let block = Block::of(self.owner * 8 + file, index);
        self.references.push(Reference { owner: ProgramId(self.owner), block });
    }

    fn scan(&mut self, file: u32, from: u32, to: u32) {
        (from..to).for_each(|index| self.refer(file, index));
    }

    /// Below `limit`, small ones likelier: `limit` to the power of a uniform share.
    fn popular(&mut self, limit: u32) -> u32 {
        let power = f64::from(limit.max(1)).powf(self.share());
        (power as u32).clamp(1, limit.max(1)) - 1
    }

    /// Uniform, from 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.dice.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn zipf(pen: &mut Pen, blocks: u32) {
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=blocks)
        .map(|rank| {
            sum += f64::from(rank).powf(-0.9);
            sum
        })
        .collect();
    for _ in 0..40_000 {
        let throw = pen.share() * sum;
        pen.refer(0, shares.partition_point(|&share| share <= throw).min(blocks as usize - 1) as u32);
    }
}

fn stack(pen: &mut Pen, blocks: u32) {
    let mut order: Vec<u32> = (0..blocks).collect();
    for _ in 0..40_000 {
        let depth = (1.0 - pen.share()).powf(-1.0 / 0.6) as usize - 1;
        let block = order.remove(depth.min(order.len() - 1));
        order.insert(0, block);
        pen.refer(0, block);
    }
}

fn glimpse(pen: &mut Pen, blocks: u32) {
    for _ in 0..5 {
        pen.scan(0, 0, blocks);
        for _ in 0..60 {
            let start = pen.popular(640) * 10;
            pen.scan(1, start, start + 10);
        }
    }
}

fn sort(pen: &mut Pen, blocks: u32) {
    let run = (blocks / 16).max(1);
    pen.scan(0, 0, blocks);
    pen.scan(1, 0, blocks);
    for (from, to) in [(1, 2), (2, 3)] {
        // Sixteen runs are merged, four at a time: each reads on where it stopped.
        for (number, index) in (0..4).flat_map(|quarter| {
            (0..run).flat_map(move |index| (0..4).map(move |of| (quarter * 4 + of, index)))
        }) {
            pen.refer(from, number * run + index);
            pen.refer(to, number * run + index);
        }
    }
}

fn link(pen: &mut Pen, blocks: u32) {
    for _ in 0..3 {
        pen.scan(0, 0, blocks);
    }
    for index in 0..blocks {
        pen.refer(0, index);
        pen.refer(1, index / 2);
    }
}

fn cpp(pen: &mut Pen, blocks: u32) {
    for unit in 0..blocks {
        pen.refer(0, unit);
        for _ in 0..8 {
            let header = pen.popular(128);
            pen.refer(1, header);
        }
    }
}

fn join(pen: &mut Pen, blocks: u32) {
    for row in 0..blocks * 8 {
        if row % 8 == 0 {
            pen.refer(0, row / 8);
        }
        let key = (pen.dice.next() % 1600) as u32;
        pen.refer(1, 0);
        pen.refer(1, 1 + key / 40);
        pen.refer(2, key);
    }
}

/// Shapes that run at the same time.
#[derive(Clone, Debug)]
pub struct BlockRecipe {
    parts: Vec<(&'static BlockShape, u32)>,
    words: String,
}

/// The words are no recipe.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlockRecipeError {
    /// No shape of that name.
    #[error("unknown shape '{given}': known are {known}")]
    Unknown {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// No number of blocks.
    #[error("'{0}': expected a whole number of blocks from 16 to 1000000")]
    Blocks(String),
}

impl FromStr for BlockRecipe {
    type Err = BlockRecipeError;

    fn from_str(words: &str) -> Result<Self, BlockRecipeError> {
        let parts = words.split('+').map(part).collect::<Result<_, _>>()?;
        Ok(BlockRecipe { parts, words: words.to_owned() })
    }
}

fn part(words: &str) -> Result<(&'static BlockShape, u32), BlockRecipeError> {
    let (name, blocks) = words.split_once(':').map_or((words, None), |(name, blocks)| (name, Some(blocks)));
    let shape = BLOCK_SHAPES.iter().find(|shape| shape.name == name).ok_or_else(|| {
        let known: Vec<_> = BLOCK_SHAPES.iter().map(|shape| shape.name).collect();
        BlockRecipeError::Unknown { given: name.to_owned(), known: known.join(", ") }
    })?;
    let Some(blocks) = blocks else { return Ok((shape, shape.blocks)) };
    let number = blocks.parse().ok().filter(|number| (16..=1_000_000).contains(number));
    Ok((shape, number.ok_or_else(|| BlockRecipeError::Blocks(blocks.to_owned()))?))
}

impl fmt::Display for BlockRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl BlockRecipe {
    /// Makes the trace. Programs take turns in bursts of one to sixteen references, until the last is done.
    pub fn generate(&self, seed: u64) -> BlockTrace {
        let write = |(number, &(shape, blocks)): (usize, &(&BlockShape, u32))| {
            let dice = SplitMix(seed ^ ((number as u64 + 1) << 32));
            let mut pen = Pen { owner: number as u32, dice, references: Vec::new() };
            (shape.write)(&mut pen, blocks);
            pen.references.into_iter()
        };
        let mut running: Vec<_> = self.parts.iter().enumerate().map(write).collect();
        let mut dice = SplitMix(seed);
        let mut references = Vec::new();
        while !running.is_empty() {
            let turn = (dice.next() % running.len() as u64) as usize;
            let burst = 1 + (dice.next() % 16) as usize;
            let before = references.len();
            references.extend(running[turn].by_ref().take(burst));
            if references.len() - before < burst {
                drop(running.remove(turn));
            }
        }
        let programs = self.parts.iter().map(|(shape, _)| shape.name.to_owned()).collect();
        BlockTrace { name: self.words.clone(), programs, references, gone: Vec::new() }
    }
}
