//! Recent popularity: of a file's last few successors the one that came most often, if it came often
//! enough; else nothing. It declines rather than be wrong.

use super::PredictorChoice;
use super::successors::Rule;
use super::table::{Entry, Link};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// Most successors that can be remembered: twice the published number.
pub(super) const SUCCESSORS_MAX: usize = 8;

/// See the module's head. 32 bytes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recent {
    /// How often a successor must be among the last ones, from 1.
    pub least: u8,
    /// How many of the last ones count, from `least` to 8.
    pub of: u8,
}

impl Default for Recent {
    /// Twice among the last four: an error of 2 % at more than 60 % predicted, as published.
    fn default() -> Self {
        Recent { least: 2, of: 4 }
    }
}

/// The last successors of one file, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LastFew([Link; SUCCESSORS_MAX]);

impl Rule for Recent {
    type Entry = LastFew;

    fn choice(self) -> PredictorChoice {
        PredictorChoice::Recent(self)
    }

    fn learn(self, entry: &mut LastFew, next: FileId) {
        entry.0.copy_within(..SUCCESSORS_MAX - 1, 1);
        entry.0[0] = Link::to(next);
    }

    /// Of equals the newest. What has not come yet counts against all.
    fn expected(self, entry: &LastFew) -> Option<(FileId, f32)> {
        let last = &entry.0[..usize::from(self.of).min(SUCCESSORS_MAX)];
        let times = |link: &Link| last.iter().filter(|&other| other == link).count();
        let known = last.iter().take_while(|&&link| link != Link::NONE).map(|link| (link, times(link)));
        let (best, times) = known.reduce(|newer, older| if older.1 > newer.1 { older } else { newer })?;
        let enough = times >= usize::from(self.least);
        best.file().filter(|_| enough).map(|file| (file, times as f32 / last.len() as f32))
    }
}

impl Entry for LastFew {
    fn known(&self) -> bool {
        self.0[0] != Link::NONE
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        let mut left = LastFew::default();
        let staying = self.0.iter().filter(|link| !link.is_in(gone));
        left.0.iter_mut().zip(staying).for_each(|(slot, &link)| *slot = link);
        *self = left;
    }

    fn save(&self, out: &mut Vec<u8>) {
        let known = self.0.iter().take_while(|&&link| link != Link::NONE);
        out.push(known.clone().count() as u8);
        known.for_each(|link| link.save(out));
    }

    fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let mut entry = LastFew::default();
        let count = reader.below(SUCCESSORS_MAX as u64 + 1, "the number of successors")? as usize;
        for slot in &mut entry.0[..count] {
            let wrong = reader.error("a successor");
            *slot = Link::load(reader, files)?;
            if *slot == Link::NONE {
                return Err(wrong);
            }
        }
        Ok(entry)
    }
}
