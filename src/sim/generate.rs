//! Workloads made from a seed, each with one trait that predictors and policies differ on.
//!
//! `NAME[:key=value,...]` chooses a shape and changes its defaults: `traversal:files=5000,think=100`.
//!
//! What must stay true: the same shape, values, seed and number of passes make the same workload, on any
//! machine; a pass does not depend on how many come after it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::draft::Draft;
use super::workload::Workload;
use crate::device::SplitMix;

mod build;
mod chance;
mod lists;
mod project;
mod walk;

/// A shape of workload.
#[derive(Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What can be changed.
    pub keys: &'static [Key],
    write: fn(&mut Draft, &Values, u64, usize),
}

/// A value of a shape that can be changed.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it is when nothing is said.
    pub default: u64,
    /// The least it may be; the most is `MOST`.
    pub least: u64,
}

/// The most any value may be: enough for a giant tree, and no more files than fit into numbers and memory.
pub const MOST: u64 = 1_000_000;

const fn key(name: &'static str, default: u64) -> Key {
    Key { name, default, least: 1 }
}

/// Time a program spends on a file between two opens, in microseconds. A search takes some tens on a small file.
const THINK: Key = Key { name: "think", default: 50, least: 0 };

/// All shapes.
pub static SHAPES: &[Shape] = &[
    Shape {
        name: "traversal",
        about: "one program reads a tree of documents, directory by directory",
        keys: &[key("files", 2000), key("per_directory", 20), THINK],
        write: walk::traversal,
    },
    Shape {
        name: "build",
        about: "make compiles units one by one, each with shared headers, then links",
        keys: build::KEYS,
        write: build::build,
    },
    Shape {
        name: "build-j",
        about: "the same, several units at once, interleaved differently in each pass",
        keys: build::PARALLEL_KEYS,
        write: build::parallel,
    },
    Shape {
        name: "link",
        about: "make links many libraries from overlapping sets of objects, then all of them",
        keys: &[key("objects", 180), key("links", 51), THINK],
        write: lists::link,
    },
    Shape {
        name: "patch",
        about: "before each build but the first, a patch replaces units and brings new ones",
        keys: build::PATCH_KEYS,
        write: build::patch,
    },
    Shape {
        name: "search",
        about: "queries, each going through an index and then some of the files it points to",
        keys: &[key("queries", 5), key("index", 16), key("files", 2000), key("postings", 200), THINK],
        write: lists::search,
    },
    Shape {
        name: "sort",
        about: "two sorted runs of blocks are merged into one",
        keys: &[key("blocks", 400), THINK],
        write: lists::sort,
    },
    Shape {
        name: "zipf",
        about: "a server opens files by popularity; skew in hundredths",
        keys: &[key("files", 2000), key("opens", 5000), Key { name: "skew", default: 100, least: 0 }, THINK],
        write: chance::zipf,
    },
    Shape {
        name: "phases",
        about: "one working set after another, several times each, in a new order each pass",
        keys: &[key("phases", 6), key("files", 300), key("rounds", 3), THINK],
        write: chance::phases,
    },
    Shape {
        name: "random",
        about: "every open is a throw of the dice: nothing can be learned",
        keys: &[key("files", 2000), key("opens", 3000), THINK],
        write: chance::random,
    },
    Shape {
        name: "branches",
        about: "builds of a tree that is switched between two branches, one in even passes, one in odd",
        keys: build::BRANCH_KEYS,
        write: build::branches,
    },
];

/// A shape with its values.
#[derive(Clone, Debug)]
pub struct Recipe {
    shape: &'static Shape,
    values: Values,
    words: String,
}

/// The values of a shape's keys, in their order.
#[derive(Clone, Debug)]
struct Values(Vec<(&'static str, u64)>);

impl Values {
    /// The value of a key; a shape asks for its own only.
    fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(key, _)| *key == name).map_or(0, |(_, value)| *value)
    }

    fn micros(&self, name: &str) -> Duration {
        Duration::from_micros(self.get(name))
    }
}

/// The words are no recipe.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecipeError {
    /// No shape of that name.
    #[error("unknown workload '{given}': known are {known}")]
    Unknown {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// It has no such key.
    #[error("workload {shape} has no value '{given}': it has {known}")]
    UnknownKey {
        /// Whose.
        shape: &'static str,
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// No number, or out of range.
    #[error("{key}={given}: expected a whole number from {least} to {MOST}")]
    Value {
        /// Which key.
        key: &'static str,
        /// What was given.
        given: String,
        /// The least.
        least: u64,
    },
}

impl FromStr for Recipe {
    type Err = RecipeError;

    fn from_str(words: &str) -> Result<Recipe, RecipeError> {
        let (name, changes) = words.split_once(':').unwrap_or((words, ""));
        let shape = SHAPES.iter().find(|shape| shape.name == name).ok_or_else(|| {
            let known: Vec<_> = SHAPES.iter().map(|shape| shape.name).collect();
            RecipeError::Unknown { given: name.to_owned(), known: known.join(", ") }
        })?;
        let mut values = Values(shape.keys.iter().map(|key| (key.name, key.default)).collect());
        for change in changes.split(',').filter(|change| !change.is_empty()) {
            let (name, value) = change.split_once('=').unwrap_or((change, ""));
            let place = shape.keys.iter().position(|key| key.name == name).ok_or_else(|| {
                let known: Vec<_> = shape.keys.iter().map(|key| key.name).collect();
                RecipeError::UnknownKey { shape: shape.name, given: name.to_owned(), known: known.join(", ") }
            })?;
            let Key { name: key, least, .. } = shape.keys[place];
            let number = value.parse().ok().filter(|number| (least..=MOST).contains(number));
            values.0[place].1 =
                number.ok_or_else(|| RecipeError::Value { key, given: value.to_owned(), least })?;
        }
        Ok(Recipe { shape, values, words: words.to_owned() })
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Recipe {
    /// Makes the workload, with so many passes.
    pub fn generate(&self, seed: u64, passes: usize) -> Workload {
        let mut draft = Draft::new(&self.words);
        (self.shape.write)(&mut draft, &self.values, seed, passes);
        draft.finish()
    }
}

/// Dice for one purpose: neither the number of throws for another nor another pass changes them.
fn dice(seed: u64, purpose: u64) -> SplitMix {
    SplitMix(SplitMix(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next())
}

/// A size between two, any order of magnitude as likely as any other.
fn size(dice: &mut SplitMix, least: u64, most: u64) -> u64 {
    let doublings = (most / least).max(1).ilog2();
    let base = least << dice.below(u64::from(doublings));
    base + dice.below(base)
}

#[cfg(test)]
mod tests;
