//! The last successor, Kroeger and Long's yardstick: a file is followed by what followed it last time.

use super::PredictorChoice;
use super::successors::Rule;
use super::table::{Entry, Link};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// How often it is right: Kroeger and Long's mean over their traces. It keeps no count of its own.
const LIKELIHOOD: f32 = 0.72;

/// See the module's head. Four bytes a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Last;

/// The last successor of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Successor(Link);

impl Rule for Last {
    type Entry = Successor;

    fn choice(self) -> PredictorChoice {
        PredictorChoice::Last
    }

    fn learn(self, entry: &mut Successor, next: FileId) {
        *entry = Successor(Link::to(next));
    }

    fn expected(self, entry: &Successor) -> Option<(FileId, f32)> {
        Some((entry.0.file()?, LIKELIHOOD))
    }
}

impl Entry for Successor {
    fn known(&self) -> bool {
        self.0 != Link::NONE
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        if self.0.is_in(gone) {
            *self = Successor::default();
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        Ok(Successor(Link::load(reader, files)?))
    }
}
