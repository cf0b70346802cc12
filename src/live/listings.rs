//! What directories contain, on its way to the engine: names become numbers.

use std::cmp::Ordering;

use parking_lot::Mutex;

use super::Live;
use crate::event::{Entry, Listing};
use crate::id::FileId;
use crate::names::Names;

/// One entry, as a directory tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: Vec<u8>,
    /// Its inode number in the source.
    pub inode: u64,
    /// Is it a directory? What the directory does not tell of counts as none.
    pub directory: bool,
}

/// The entries of `dir` as the engine is told of them.
pub(super) fn entries(names: &Mutex<Names>, dir: FileId, listed: &[Listed]) -> Vec<Entry> {
    let mut order: Vec<usize> = (0..listed.len()).collect();
    order.sort_by(|&a, &b| listed[a].name.cmp(&listed[b].name));
    let mut by_name = vec![0; listed.len()];
    for (place, index) in order.into_iter().enumerate() {
        by_name[index] = place as u32;
    }
    let mut names = names.lock();
    let entry = |(one, by_name): (&Listed, u32)| {
        let file = names.intern(dir, &one.name);
        // The root stands for names that cannot be kept.
        (file != FileId::ROOT).then_some(Entry { file, inode: one.inode, by_name, directory: one.directory })
    };
    listed.iter().zip(by_name).filter_map(entry).collect()
}

/// The order in which siblings are looked at: by inode, and for equal ones by name.
pub(super) fn by_inode(a: &Listed, b: &Listed) -> Ordering {
    (a.inode, &a.name).cmp(&(b.inode, &b.name))
}

impl Live {
    /// Is it worth reading a directory to tell the engine of it?
    pub fn follows_walks(&self) -> bool {
        self.desk.follows_walks() && !self.is_off()
    }

    /// A request has read all of the directory `dir`. Never waits; what does not fit is lost.
    pub fn listed(&self, dir: FileId, listed: &[Listed]) {
        self.desk.listed(Listing::pieces(dir, &entries(&self.names, dir, listed)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_numbers_and_places_by_name() {
        let names = Mutex::new(Names::new());
        let dir = names.lock().intern_path(b"dir");
        let listed: Vec<Listed> = [("c", 3, false), ("a", 9, true), ("b", 1, false)]
            .map(|(name, inode, directory)| Listed { name: name.into(), inode, directory })
            .into();
        let entries = entries(&names, dir, &listed);
        assert_eq!(entries.iter().map(|entry| entry.by_name).collect::<Vec<_>>(), [2, 0, 1]);
        let path = |entry: &Entry| names.lock().path(entry.file).unwrap();
        assert_eq!(entries.iter().map(path).collect::<Vec<_>>(), [b"dir/c", b"dir/a", b"dir/b"]);
        assert!(entries[1].directory && entries[2].inode == 1);
    }
}
