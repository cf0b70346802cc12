//! Noah, by Amer and Long: a file's stable successor, which another one replaces only after it has come
//! several times in a row. One odd run does not spoil what many have shown.
//!
//! What must stay true: a file with a recent successor has a stable one, the first that came.

use super::PredictorChoice;
use super::successors::Rule;
use super::table::{Entry, Link};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// How often it is right, by its authors' account: about four times in five. It keeps no count of hits.
const LIKELIHOOD: f32 = 0.8;

/// See the module's head. Twelve bytes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noah {
    /// How often in a row a successor must come to become the stable one, from 1 (which is the last
    /// successor).
    pub repeats: u8,
}

impl Default for Noah {
    /// The least that makes a difference.
    fn default() -> Self {
        Noah { repeats: 2 }
    }
}

/// The successors of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pair {
    stable: Link,
    recent: Link,
    /// How often in a row the recent one has come; stays at 255.
    repeats: u8,
}

impl Rule for Noah {
    type Entry = Pair;

    fn choice(self) -> PredictorChoice {
        PredictorChoice::Noah(self)
    }

    fn learn(self, entry: &mut Pair, next: FileId) {
        let next = Link::to(next);
        entry.repeats = if entry.recent == next { entry.repeats.saturating_add(1) } else { 1 };
        entry.recent = next;
        if entry.stable == Link::NONE || entry.repeats >= self.repeats {
            entry.stable = next;
        }
    }

    fn expected(self, entry: &Pair) -> Option<(FileId, f32)> {
        Some((entry.stable.file()?, LIKELIHOOD))
    }
}

impl Entry for Pair {
    fn known(&self) -> bool {
        self.stable != Link::NONE
    }

    /// Without its stable successor a file starts anew from the recent one.
    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        if self.recent.is_in(gone) {
            (self.recent, self.repeats) = (Link::NONE, 0);
        }
        if self.stable.is_in(gone) {
            self.stable = self.recent;
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.stable.save(out);
        self.recent.save(out);
        out.push(self.repeats);
    }

    fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let (stable, recent) = (Link::load(reader, files)?, Link::load(reader, files)?);
        Ok(Pair { stable, recent, repeats: reader.byte("how often the recent successor came")? })
    }
}
