//! The directories whose entries are known, within bounds.
//!
//! Must stay true: an entry belongs to one directory; what has not been touched for longest goes first.

use super::directory::Directory;
use crate::event::{Entry, Listing};
use crate::id::{FileId, IdMap};

/// Entries kept: some megabytes, a directory of a hundred thousand among them.
const ENTRIES_MAX: usize = 160_000;

/// Where an entry is: its directory, and its place as listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) dir: FileId,
    pub(super) index: u32,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Known {
    directories: IdMap<FileId, Kept>,
    children: IdMap<FileId, Child>,
    /// A listing that has not come to its end.
    partial: Option<(FileId, Vec<Entry>)>,
    entries: usize,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    directory: Directory,
    touched: u64,
}

impl Known {
    /// Takes in a piece of a listing. Says whether the directory is known now.
    pub(super) fn add(&mut self, listing: &Listing) -> bool {
        let Some(entries) = self.join(listing) else { return false };
        self.drop_directory(listing.dir);
        for (index, entry) in entries.iter().enumerate() {
            self.children.insert(entry.file, Child { dir: listing.dir, index: index as u32 });
        }
        self.entries += entries.len();
        self.clock += 1;
        let kept = Kept { directory: Directory::new(entries), touched: self.clock };
        self.directories.insert(listing.dir, kept);
        self.make_room();
        true
    }

    /// The whole of a listing, when its last piece has come.
    fn join(&mut self, listing: &Listing) -> Option<Vec<Entry>> {
        let before = self.partial.take();
        let mut entries = match before {
            _ if listing.at == 0 => Vec::new(),
            Some((dir, entries)) if dir == listing.dir && entries.len() == listing.at as usize => entries,
            // Pieces of two listings came mixed: neither is worth the trouble.
            _ => return None,
        };
        entries.extend_from_slice(&listing.entries);
        if listing.last {
            return Some(entries);
        }
        if entries.len() <= ENTRIES_MAX {
            self.partial = Some((listing.dir, entries));
        }
        None
    }

    pub(super) fn get(&self, dir: FileId) -> Option<&Directory> {
        self.directories.get(&dir).map(|kept| &kept.directory)
    }

    pub(super) fn child(&self, file: FileId) -> Option<Child> {
        self.children.get(&file).copied()
    }

    pub(super) fn entry(&self, child: Child) -> Option<&Entry> {
        self.get(child.dir)?.entries().get(child.index as usize)
    }

    /// Somebody is there: it is to stay.
    pub(super) fn touch(&mut self, dir: FileId) {
        self.clock += 1;
        if let Some(kept) = self.directories.get_mut(&dir) {
            kept.touched = self.clock;
        }
    }

    fn drop_directory(&mut self, dir: FileId) {
        let Some(kept) = self.directories.remove(&dir) else { return };
        self.entries -= kept.directory.entries().len();
        for entry in kept.directory.entries() {
            if self.children.get(&entry.file).is_some_and(|child| child.dir == dir) {
                self.children.remove(&entry.file);
            }
        }
    }

    /// Lets go of a quarter, so that the search for what is oldest is rare.
    fn make_room(&mut self) {
        if self.entries <= ENTRIES_MAX {
            return;
        }
        let mut oldest: Vec<(u64, FileId)> =
            self.directories.iter().map(|(&dir, kept)| (kept.touched, dir)).collect();
        oldest.sort_unstable();
        for (_, dir) in oldest {
            if self.entries <= ENTRIES_MAX / 4 * 3 || self.directories.len() == 1 {
                return;
            }
            self.drop_directory(dir);
        }
    }
}
