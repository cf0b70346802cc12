//! How programs refer to files that the kernel's cache serves: the same detectors, told of opens and of what is read.
//!
//! An open is a reference to the file as a whole, a read one to each of its pieces. Reads that the kernel answers itself
//! are not seen.
//!
//! What must stay true: it takes as much memory as is bounded in `detectors`, whatever is opened.

use super::detectors::{DearParameters, Detectors};
use super::{Block, Turn};
use crate::event::Span;
use crate::id::{FileId, IdMap, ProgramId};

/// Files and pieces of files whose pasts are told apart from what is new: as many as a large tree has.
const ROOM: usize = 8192;
/// A piece of a file: what the kernel reads ahead at most, by default.
const PIECE: u64 = 128 << 10;

/// See the module's head.
pub struct Labels {
    detectors: Detectors,
    now: u64,
    /// What each program referred to last: going on in a piece is no new reference.
    last: IdMap<ProgramId, Block>,
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Labels").field("patterns", &self.detectors.patterns()).finish_non_exhaustive()
    }
}

impl Default for Labels {
    fn default() -> Self {
        let detectors = Detectors::new(DearParameters::default(), ROOM);
        Labels { detectors, now: 0, last: IdMap::default() }
    }
}

impl Labels {
    /// A program opens a file. If it is found to do so by another pattern, that comes back.
    pub fn open(&mut self, program: ProgramId, file: FileId) -> Option<Turn> {
        self.refer(program, Block::of(file.0, 0));
        self.detectors.turns().pop()
    }

    /// A program reads these bytes.
    pub fn read(&mut self, program: ProgramId, file: FileId, span: Span) -> Option<Turn> {
        let end = span.offset.saturating_add(span.len).div_ceil(PIECE);
        for piece in span.offset / PIECE..end {
            self.refer(program, Block::of(file.0, (piece as u32).wrapping_add(1)));
        }
        self.detectors.turns().pop()
    }

    fn refer(&mut self, program: ProgramId, block: Block) {
        if self.last.insert(program, block) != Some(block) {
            self.now += 1;
            self.detectors.refer(block, program, self.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    /// The patterns that are found while a program opens so many files again and again.
    fn laps(files: u32) -> Vec<Pattern> {
        let mut labels = Labels::default();
        let opens = (0..4000).map(|at| FileId(at % files));
        opens.filter_map(|file| labels.open(ProgramId(3), file)).map(|turn| turn.to).collect()
    }

    #[test]
    fn opens_tell_scans_from_laps() {
        assert_eq!(laps(10_000), [Pattern::Sequential]);
        assert_eq!(laps(1200).last(), Some(&Pattern::Looping));
    }

    #[test]
    fn reads_of_a_large_file_are_references_to_its_pieces() {
        let mut labels = Labels::default();
        let mut turns = Vec::new();
        for at in 0..1100 * 4 {
            let span = Span { offset: at * (32 << 10), len: 32 << 10 };
            turns.extend(labels.read(ProgramId(0), FileId(1), span));
        }
        let turn = Turn { owner: ProgramId(0), from: Pattern::Undecided, to: Pattern::Sequential, at: 1000 };
        assert_eq!(turns, [turn]);
        assert!(labels.read(ProgramId(0), FileId(1), Span { offset: 0, len: 0 }).is_none());
    }
}
