//! What is known of each file, in a table by its number, and how that is saved.
//!
//! What must stay true: memory is one entry for each number up to the largest seen (numbers are
//! dense), and a quarter more at most.

use std::num::NonZeroU32;

use crate::codec::{CodecError, Reader, put_varint};
use crate::id::FileId;

/// The table grows by this part of itself: doubling would leave half of a large one empty.
const GROWTH_PART: usize = 4;

/// A file or none, in four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link(Option<NonZeroU32>);

impl Link {
    /// No file.
    pub(super) const NONE: Link = Link(None);

    /// To a file. The largest number there is stands for none; no file has it.
    pub(super) fn to(file: FileId) -> Self {
        Link(NonZeroU32::new(file.0.wrapping_add(1)))
    }

    /// Which file.
    pub(super) fn file(self) -> Option<FileId> {
        self.0.map(|number| FileId(number.get() - 1))
    }

    /// Is this one of them?
    pub(super) fn is_in(self, gone: &dyn Fn(FileId) -> bool) -> bool {
        self.file().is_some_and(gone)
    }

    /// Appends the link.
    pub(super) fn save(self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.0.map_or(0, NonZeroU32::get)));
    }

    /// Reads what [`Link::save`] wrote; links to files numbered `files` or more are damage.
    pub(super) fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let number = reader.below(files as u64 + 1, "the number of a file, or none")?;
        Ok(Link(NonZeroU32::new(number as u32)))
    }
}

/// What is known of one file; the default is nothing.
pub(super) trait Entry: Clone + Default {
    /// Does it say anything?
    fn known(&self) -> bool;

    /// Forgets other files.
    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool);

    /// Appends it, if it is known.
    fn save(&self, out: &mut Vec<u8>);

    /// Reads what [`Entry::save`] wrote, with files numbered below `files`.
    fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError>;
}

/// See the module's head.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table<E> {
    entries: Vec<E>,
}

impl<E: Entry> Table<E> {
    /// What is known of the file.
    pub(super) fn get(&self, file: FileId) -> Option<&E> {
        self.entries.get(file.index())
    }

    /// The file's entry, made if it has none.
    pub(super) fn of(&mut self, file: FileId) -> &mut E {
        let size = file.index() + 1;
        if size > self.entries.capacity() {
            self.entries.reserve_exact(size + size / GROWTH_PART - self.entries.len());
        }
        if size > self.entries.len() {
            self.entries.resize(size, E::default());
        }
        &mut self.entries[file.index()]
    }

    /// The known files and what is known of them, in order of their numbers.
    pub(super) fn known(&self) -> impl Iterator<Item = (FileId, &E)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter(|(_, entry)| entry.known()).map(|(number, entry)| (FileId(number as u32), entry))
    }

    /// Forgets these files, and that others know of them.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for (number, entry) in self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.known()) {
            if gone(FileId(number as u32)) {
                *entry = E::default();
            } else {
                entry.forget(gone);
            }
        }
    }

    /// Memory for each file that has a number, and the table's idle part with it, in bytes.
    pub(super) fn bytes_a_file(&self) -> usize {
        size_of::<E>() + size_of::<E>() / GROWTH_PART
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<E>()
    }

    /// Appends how many files are known; then for each the step from the one before, and its entry.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, self.known().count() as u64);
        let mut next = 0;
        for (file, entry) in self.known() {
            put_varint(out, u64::from(file.0 - next));
            entry.save(out);
            next = file.0 + 1;
        }
    }

    /// Reads what [`Table::save`] wrote.
    pub(super) fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let mut table = Table { entries: Vec::new() };
        for _ in 0..reader.count("the number of known files")? {
            let left = files - table.entries.len();
            let step = reader.below(left as u64, "the step to the next file's number")? as usize;
            let wrong = reader.error("something known of the file");
            let entry = E::load(reader, files)?;
            if !entry.known() {
                return Err(wrong);
            }
            table.entries.resize(table.entries.len() + step, E::default());
            table.entries.push(entry);
        }
        Ok(table)
    }
}
