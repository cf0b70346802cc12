//! One window of work, and the order in which it is best done: names first, directories before what
//! is in them, everything in the order of its place on the device.
//!
//! Must stay true: what has no known place keeps the predicted order, behind what has one.

use crate::event::Facts;
use crate::id::{FileId, IdMap};

/// A file of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) file: FileId,
    pub(super) facts: Option<Facts>,
    /// Directories above it.
    pub(super) depth: u32,
    pub(super) directory: bool,
    pub(super) attributes: bool,
    /// With those of its siblings.
    pub(super) siblings: bool,
    pub(super) data: bool,
    /// Budget for its data.
    pub(super) reserve: u64,
    /// Bytes of its data to bring at most.
    pub(super) limit: u64,
}

/// What is wanted, in the order in which it was predicted.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) wanted: Vec<Wanted>,
    pub(super) bytes: u64,
    /// Files whose data is among it: a run may use a file many times.
    data: IdMap<FileId, ()>,
}

impl Batch {
    pub(super) fn push(&mut self, wanted: Wanted) {
        self.bytes += wanted.reserve;
        if wanted.data {
            self.data.insert(wanted.file, ());
        }
        self.wanted.push(wanted);
    }

    /// Is the file's data among it?
    pub(super) fn has_data(&self, file: FileId) -> bool {
        self.data.contains_key(&file)
    }

    /// Those whose names and inodes are to be brought: directories from the top down, then files (all
    /// of them with `names_first`, else only those whose bytes are not wanted).
    pub(super) fn attributes(&self, names_first: bool) -> Vec<Wanted> {
        let now = |wanted: &Wanted| wanted.attributes && (names_first || !wanted.data);
        let mut all: Vec<Wanted> = self.wanted.iter().copied().filter(now).collect();
        all.sort_by_key(|wanted| {
            let depth = if wanted.directory { wanted.depth } else { 0 };
            let inode = wanted.facts.map(|facts| facts.inode);
            (!wanted.directory, depth, inode.is_none(), inode)
        });
        all
    }

    /// Those whose bytes are to be brought: by address, then those with an inode number only, by
    /// that, which is near it on most file systems.
    pub(super) fn data(&self) -> Vec<Wanted> {
        let mut all: Vec<Wanted> = self.wanted.iter().copied().filter(|wanted| wanted.data).collect();
        all.sort_by_key(|wanted| match wanted.facts {
            Some(facts) if facts.extent != 0 => (0, facts.extent),
            Some(facts) => (1, facts.inode),
            None => (2, 0),
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(file: u32, depth: u32, directory: bool, place: Option<(u64, u64)>) -> Wanted {
        let facts = place.map(|(inode, extent)| Facts { inode, size: 1, extent, directory });
        Wanted {
            file: FileId(file),
            facts,
            depth,
            directory,
            attributes: true,
            siblings: false,
            data: !directory,
            reserve: 1,
            limit: u64::MAX,
        }
    }

    fn files(list: Vec<Wanted>) -> Vec<u32> {
        list.into_iter().map(|wanted| wanted.file.0).collect()
    }

    #[test]
    fn directories_from_the_top_then_files_then_data_by_place() {
        let mut batch = Batch::default();
        for one in [
            wanted(1, 2, true, Some((5, 0))),
            wanted(2, 3, false, None),
            wanted(3, 3, false, Some((90, 10_000))),
            wanted(4, 1, true, Some((80, 0))),
            wanted(5, 1, true, Some((70, 0))),
            wanted(6, 3, false, Some((60, 20_000))),
            wanted(7, 3, false, Some((50, 0))),
            wanted(8, 3, false, None),
        ] {
            batch.push(one);
        }
        assert_eq!(files(batch.attributes(true)), [5, 4, 1, 7, 6, 3, 2, 8]);
        assert_eq!(files(batch.attributes(false)), [5, 4, 1]);
        assert_eq!(files(batch.data()), [3, 6, 7, 2, 8]);
        assert_eq!(batch.bytes, 8);
    }
}
