//! What is known of each file: dense by number, 20 bytes a file.
//!
//! Must stay true: facts only give order and budget; wrong ones cost time, never correctness.

use std::collections::BTreeMap;

use super::Parts;
use crate::codec::{CodecError, Reader, put_varint, unzigzag, zigzag};
use crate::event::{Facts, Span};
use crate::id::FileId;
use crate::id::dense::reach;

/// Facts by file.
#[derive(Clone, Debug, Default)]
pub struct FactTable {
    inodes: Vec<u64>,
    extents: Vec<u64>,
    /// Sizes, and in the highest bit whether it is a directory.
    sizes: Vec<u32>,
    /// Which parts of large files were used.
    parts: BTreeMap<FileId, Parts>,
}

/// What is read from the start of a file up to here is no news: that much is brought of any file.
const START: u64 = 1 << 20;

/// Marks a directory.
const DIRECTORY: u32 = 1 << 31;
/// Larger sizes are all alike: far more than is ever fetched ahead of one file.
const SIZE_MAX: u64 = DIRECTORY as u64 - 1;

impl FactTable {
    /// What is known of the file.
    pub fn get(&self, file: FileId) -> Option<Facts> {
        let number = file.index();
        let inode = *self.inodes.get(number)?;
        let facts = Facts {
            inode,
            size: u64::from(self.sizes[number] & !DIRECTORY),
            extent: self.extents[number],
            directory: self.sizes[number] & DIRECTORY != 0,
        };
        Some(facts).filter(Facts::known)
    }

    /// Takes in what was seen; a size of 2 GiB and more counts as 2 GiB less a byte. A place on the device that was known stays until a new one is.
    pub fn set(&mut self, file: FileId, facts: Facts) {
        let number = file.index();
        if number >= self.inodes.len() {
            self.resize(number + 1);
        }
        if facts.extent != 0 || self.inodes[number] != facts.inode {
            self.extents[number] = facts.extent;
        }
        self.inodes[number] = facts.inode;
        let mark = if facts.directory { DIRECTORY } else { 0 };
        self.sizes[number] = facts.size.min(SIZE_MAX) as u32 | mark;
    }

    /// Bytes of the file had to be read. Whoever uses a large one uses its beginning, seen or not.
    pub fn read(&mut self, file: FileId, span: Span) {
        if span.offset.saturating_add(span.len) > START {
            let head = || {
                let mut parts = Parts::NONE;
                parts.add(Span { offset: 0, len: 1 });
                parts
            };
            self.parts.entry(file).or_insert_with(head).add(span);
        } else if let Some(parts) = self.parts.get_mut(&file) {
            parts.add(span);
        }
    }

    /// The parts of the file that were used; none while that is not known.
    pub fn parts(&self, file: FileId) -> Parts {
        self.parts.get(&file).copied().unwrap_or(Parts::NONE)
    }

    /// Nothing is known any more.
    pub fn forget(&mut self, file: FileId) {
        self.parts.remove(&file);
        if let Some(inode) = self.inodes.get_mut(file.index()) {
            *inode = 0;
        }
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        (self.inodes.capacity() + self.extents.capacity()) * 8
            + self.sizes.capacity() * 4
            + self.parts.len() * size_of::<(FileId, Parts)>()
    }

    /// Appends all facts.
    pub fn save(&self, out: &mut Vec<u8>) {
        let known = (0..self.inodes.len()).map(|number| FileId(number as u32));
        let known: Vec<(FileId, Facts)> = known.filter_map(|file| Some((file, self.get(file)?))).collect();
        put_varint(out, known.len() as u64);
        let (mut next, mut inode, mut extent) = (0, 0i64, 0i64);
        for (file, facts) in known {
            put_varint(out, u64::from(file.0 - next) << 1 | u64::from(facts.directory));
            put_varint(out, zigzag((facts.inode as i64).wrapping_sub(inode)));
            put_varint(out, facts.size);
            put_varint(out, zigzag((facts.extent as i64).wrapping_sub(extent)));
            (next, inode, extent) = (file.0 + 1, facts.inode as i64, facts.extent as i64);
        }
        self.save_parts(out);
    }

    /// Behind the rest, if there are any: models from before there were parts have none.
    fn save_parts(&self, out: &mut Vec<u8>) {
        if self.parts.is_empty() {
            return;
        }
        put_varint(out, self.parts.len() as u64);
        for (file, parts) in &self.parts {
            let (shift, mask) = parts.to_numbers();
            [u64::from(file.0), shift, mask].into_iter().for_each(|number| put_varint(out, number));
        }
    }

    fn load_parts(&mut self, reader: &mut Reader<'_>, files: usize) -> Result<(), CodecError> {
        if reader.left() == 0 {
            return Ok(());
        }
        for _ in 0..reader.count("the number of large files")? {
            let file = reader.below(files as u64, "a file of the names")?;
            let wrong = reader.error("parts of a file");
            let (shift, mask) = (reader.varint("a length of parts")?, reader.varint("parts")?);
            let parts = Parts::from_numbers(shift, mask).ok_or(wrong)?;
            self.parts.insert(FileId(file as u32), parts);
        }
        Ok(())
    }

    /// Reads what [`FactTable::save`] wrote, about files below `files`.
    ///
    /// # Errors
    /// Where the bytes are not that.
    pub fn load(bytes: &[u8], files: usize) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let mut table = FactTable::default();
        let (mut next, mut inode, mut extent) = (0u64, 0i64, 0i64);
        for _ in 0..reader.count("the number of facts")? {
            let wrong = reader.error("a file of the names");
            let number = reader.varint("a file")?;
            let file = next.checked_add(number >> 1).filter(|&file| file < files as u64).ok_or(wrong)?;
            inode = inode.wrapping_add(unzigzag(reader.varint("an inode number")?));
            let size = reader.varint("a size")?;
            extent = extent.wrapping_add(unzigzag(reader.varint("an address")?));
            let facts =
                Facts { inode: inode as u64, size, extent: extent as u64, directory: number & 1 == 1 };
            table.set(FileId(file as u32), facts);
            next = file + 1;
        }
        table.load_parts(&mut reader, files)?;
        reader.finish("the end of the facts")?;
        Ok(table)
    }

    fn resize(&mut self, count: usize) {
        let last = count - 1;
        reach(&mut self.inodes, last, 0);
        reach(&mut self.sizes, last, 0);
        reach(&mut self.extents, last, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn saved_is_loaded(all in prop::collection::btree_map(0..500u32, (any::<u64>(), 0..=SIZE_MAX, any::<u64>(), any::<bool>()), 0..50)) {
            let mut table = FactTable::default();
            for (&file, &(inode, size, extent, directory)) in &all {
                table.set(FileId(file), Facts { inode, size, extent, directory });
            }
            let mut bytes = Vec::new();
            table.save(&mut bytes);
            let loaded = FactTable::load(&bytes, 500).unwrap();
            for file in (0..500).map(FileId) {
                prop_assert_eq!(loaded.get(file), table.get(file));
            }
            if let Some((&last, _)) = all.iter().rev().find(|(_, facts)| facts.0 != 0) {
                prop_assert!(FactTable::load(&bytes, last as usize).is_err());
            }
        }

        #[test]
        fn garbage_is_refused_or_loaded(bytes: Vec<u8>) {
            if let Ok(table) = FactTable::load(&bytes, 100) {
                prop_assert!(table.inodes.len() <= 100);
            }
        }
    }

    #[test]
    fn parts_of_large_files_are_kept_and_forgotten() {
        let mut table = FactTable::default();
        let span = |offset| Span { offset, len: 4096 };
        table.set(FileId(2), Facts { inode: 7, size: 1 << 30, extent: 0, directory: false });
        table.read(FileId(2), span(0));
        assert!(table.parts(FileId(2)).are_none(), "its start is brought in any case");
        table.read(FileId(2), span(40 << 20));
        let offsets = |table: &FactTable| -> Vec<u64> {
            table.parts(FileId(2)).spans(1 << 30).iter().map(|span| span.offset).collect()
        };
        assert_eq!(offsets(&table), [0, 40 << 20]);
        let mut bytes = Vec::new();
        table.save(&mut bytes);
        let mut loaded = FactTable::load(&bytes, 3).unwrap();
        assert_eq!(offsets(&loaded), [0, 40 << 20]);
        assert!(FactTable::load(&bytes, 2).is_err());
        loaded.forget(FileId(2));
        assert!(loaded.parts(FileId(2)).are_none());
    }

    #[test]
    fn a_very_large_file_is_very_large() {
        let mut table = FactTable::default();
        table.set(FileId(0), Facts { inode: 7, size: 1 << 40, extent: 4096, directory: false });
        table.set(FileId(1), Facts { inode: 8, size: 1 << 40, extent: 0, directory: true });
        let told = |file| table.get(FileId(file)).map(|facts| (facts.size, facts.directory));
        assert_eq!((told(0), told(1)), (Some((SIZE_MAX, false)), Some((SIZE_MAX, true))));
    }

    #[test]
    fn a_look_without_a_place_keeps_the_known_place() {
        let mut table = FactTable::default();
        table.set(FileId(3), Facts { inode: 7, size: 1, extent: 4096, directory: false });
        table.set(FileId(3), Facts { inode: 7, size: 2, extent: 0, directory: false });
        assert_eq!(table.get(FileId(3)).map(|facts| (facts.size, facts.extent)), Some((2, 4096)));
        table.set(FileId(3), Facts { inode: 8, size: 2, extent: 0, directory: false });
        assert_eq!(table.get(FileId(3)).map(|facts| facts.extent), Some(0));
    }
}
