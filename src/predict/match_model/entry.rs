//! One access of the history, in twenty bytes: what was used and how, in which run, by which program,
//! and after what.
//!
//! What must stay true: from the entries alone every context can be made again (`keys`), so that the
//! table of contexts is never saved, and nothing is in a model that its history does not say.

use super::super::Kind;
use crate::id::{FileId, ProgramId};

/// The file number of an entry that was forgotten. `Names` hands out fewer.
const FORGOTTEN: u32 = (1 << 30) - 1;
const KIND_SHIFT: u32 = 30;
/// `Programs` hands out no more than 4096 numbers.
const PROGRAM_MASK: u16 = 0x0fff;
const LIFE_SHIFT: u32 = 12;
const SPARE: u16 = 1 << 14;
const SCAN: u16 = 1 << 15;

/// A file and how it was used, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item(u32);

impl Item {
    pub(super) const BLANK: Item = Item(FORGOTTEN);

    pub(super) fn new(file: FileId, kind: Kind) -> Self {
        Item((kind as u32) << KIND_SHIFT | file.0.min(FORGOTTEN))
    }

    pub(super) fn file(self) -> FileId {
        FileId(self.0 & FORGOTTEN)
    }

    pub(super) fn kind(self) -> Kind {
        match self.0 >> KIND_SHIFT {
            0 => Kind::Open,
            1 => Kind::List,
            _ => Kind::Lookup,
        }
    }

    pub(super) fn forgotten(self) -> bool {
        self.file().0 == FORGOTTEN
    }
}

/// Where in its program's life a process stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// The first file since the program started.
    First,
    /// The second.
    Second,
    /// A later one.
    Later,
    /// No use of its own: a look-up, or carried over from an older run. No context stands here.
    Payload,
}

/// Who, and where in its life, in two bytes; and what became of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct By(u16);

impl By {
    pub(super) fn new(program: ProgramId, life: Life) -> Self {
        By(program.0.min(u32::from(PROGRAM_MASK)) as u16 | (life as u16) << LIFE_SHIFT)
    }

    pub(super) fn program(self) -> ProgramId {
        ProgramId(u32::from(self.0 & PROGRAM_MASK))
    }

    pub(super) fn life(self) -> Life {
        match self.0 >> LIFE_SHIFT & 3 {
            0 => Life::First,
            1 => Life::Second,
            2 => Life::Later,
            _ => Life::Payload,
        }
    }

    /// A later run repeated it, so that it says nothing new.
    pub(super) fn spare(self) -> bool {
        self.0 & SPARE != 0
    }

    /// It is part of a scan.
    pub(super) fn scan(self) -> bool {
        self.0 & SCAN != 0
    }

    pub(super) fn set_spare(&mut self) {
        self.0 |= SPARE;
    }

    pub(super) fn set_scan(&mut self) {
        self.0 |= SCAN;
    }

    /// All of it as a number, and back.
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    pub(super) fn from_bits(bits: u16) -> Self {
        By(bits)
    }
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) item: Item,
    /// Which run it belongs to.
    pub(super) run: u32,
    pub(super) by: By,
    /// How far ahead the next entry of the run is; 0 when there is none.
    pub(super) next: u32,
    /// How far back the entry is that its process (or whom it inherited from) used before; 0 when there is none.
    pub(super) back: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_comes_back() {
        for life in [Life::First, Life::Second, Life::Later, Life::Payload] {
            let mut by = By::new(ProgramId(4095), life);
            assert_eq!((by.program(), by.life()), (ProgramId(4095), life));
            assert!(!by.spare() && !by.scan());
            by.set_spare();
            by.set_scan();
            assert!(by.spare() && by.scan());
            assert_eq!((by.program(), by.life()), (ProgramId(4095), life));
            assert_eq!(By::from_bits(by.bits()), by);
        }
        assert_eq!(size_of::<Entry>(), 20);
    }
}
