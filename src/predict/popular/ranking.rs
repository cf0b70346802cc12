//! Counts that decay, and the list of the files with the largest ones.
//!
//! What must stay true: the list is in order of the counts, largest first, of equals the one that got
//! there first. Halving all counts does not change that, so it is done when a count is next looked at.

use super::super::table::{Entry, Table};
use crate::codec::{CodecError, Reader, put_varint};
use crate::id::{FileId, IdMap};

/// Opens after which all counts are halved: a few builds of a middling project, so that a project nobody
/// works on any more is soon no longer popular.
pub(super) const HALF_LIFE: u64 = 1 << 16;

/// How often one file was opened. Eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    opens: u32,
    /// How often all counts had been halved when this one was written.
    halved: u32,
}

impl Count {
    fn after(self, halved: u32) -> u32 {
        self.opens.checked_shr(halved.wrapping_sub(self.halved)).unwrap_or(0)
    }
}

impl Entry for Count {
    fn known(&self) -> bool {
        self.opens > 0
    }

    fn forget(&mut self, _: &dyn Fn(FileId) -> bool) {}

    fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.opens));
    }

    fn load(reader: &mut Reader<'_>, _: usize) -> Result<Self, CodecError> {
        Ok(Count { opens: reader.below(1 << 32, "how often a file was opened")? as u32, halved: 0 })
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    size: usize,
    counts: Table<Count>,
    list: Vec<FileId>,
    /// Opens since all counts were halved, how often that was, and opens of all files, halved with them.
    since: u64,
    halved: u32,
    total: u64,
    /// How often another file came onto the list.
    changes: u64,
}

impl Ranking {
    /// A list of the `size` most popular files, empty so far.
    pub(super) fn new(size: usize) -> Self {
        let counts = Table::default();
        Ranking { size, counts, list: Vec::new(), since: 0, halved: 0, total: 0, changes: 0 }
    }

    /// The file is opened.
    pub(super) fn open(&mut self, file: FileId) {
        if self.since == HALF_LIFE {
            (self.since, self.halved, self.total) = (0, self.halved.wrapping_add(1), self.total / 2);
        }
        self.since += 1;
        self.total += 1;
        self.place(file, self.count(file).saturating_add(1));
    }

    /// The most popular files, best first.
    pub(super) fn list(&self) -> &[FileId] {
        &self.list
    }

    /// Changes when another file comes onto the list.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The file's share of all opens; older ones count less.
    pub(super) fn likelihood(&self, file: FileId) -> f32 {
        (self.count(file) as f32 / self.total.max(1) as f32).min(1.0)
    }

    /// Files that were counted, and the memory that takes in bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.counts.known().count(), self.counts.bytes() + self.list.capacity() * size_of::<FileId>())
    }

    /// Memory for each file that has a number, in bytes.
    pub(super) fn bytes_a_file(&self) -> usize {
        self.counts.bytes_a_file()
    }

    /// Marks the files that were counted.
    pub(super) fn mark(&self, marks: &mut [bool]) {
        for (file, _) in self.counts.known() {
            if let Some(mark) = marks.get_mut(file.index()) {
                *mark = true;
            }
        }
    }

    /// The least popular quarter of those, by number.
    pub(super) fn least(&self) -> Vec<FileId> {
        let mut counted: Vec<(u32, FileId)> =
            self.counts.known().map(|(file, count)| (count.after(self.halved), file)).collect();
        counted.sort_unstable();
        let mut least: Vec<FileId> =
            counted[..counted.len().div_ceil(4)].iter().map(|&(_, file)| file).collect();
        least.sort_unstable();
        least
    }

    /// These files were never opened. Others come onto the list in their place, by number where counts
    /// are equal.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.counts.forget(gone);
        let before = self.list.len();
        self.list.retain(|&file| !gone(file));
        if self.list.len() < before {
            let ranked = self.ranked();
            self.list = ranked.into_iter().take(self.size).collect();
            self.changes += 1;
        }
    }

    /// Appends the counts, best first.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, self.since);
        put_varint(out, self.total);
        let ranked = self.ranked();
        put_varint(out, ranked.len() as u64);
        for file in ranked {
            put_varint(out, u64::from(file.0));
            put_varint(out, u64::from(self.count(file)));
        }
    }

    /// Reads what [`Ranking::save`] wrote into a list of the given size.
    pub(super) fn load(reader: &mut Reader<'_>, size: usize, files: usize) -> Result<Self, CodecError> {
        let mut ranking = Ranking::new(size);
        ranking.since = reader.below(HALF_LIFE + 1, "opens since the last halving")?;
        ranking.total = reader.varint("opens of all files")?;
        for _ in 0..reader.count("the number of counted files")? {
            let wrong = reader.error("a file that has no count yet, and its count");
            let file = FileId(reader.below(files as u64, "the number of a file")? as u32);
            let opens = reader.below(1 << 32, "how often it was opened")? as u32;
            if opens == 0 || ranking.count(file) > 0 {
                return Err(wrong);
            }
            ranking.place(file, opens);
        }
        Ok(ranking)
    }

    fn count(&self, file: FileId) -> u32 {
        self.counts.get(file).map_or(0, |count| count.after(self.halved))
    }

    /// Every file with a count: the list as it stands, and then the others.
    fn ranked(&self) -> Vec<FileId> {
        let counted = self.counts.known().map(|(file, _)| file).filter(|&file| self.count(file) > 0);
        let places: IdMap<FileId, usize> = self.list.iter().copied().zip(0..).collect();
        let place = |file| places.get(&file).copied().unwrap_or(usize::MAX);
        let mut ranked: Vec<(u32, usize, FileId)> =
            counted.map(|file| (u32::MAX - self.count(file), place(file), file)).collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, _, file)| file).collect()
    }

    /// Sets a file's count, which is larger than before, and gives it its place.
    fn place(&mut self, file: FileId, opens: u32) {
        let place = self.list.iter().position(|&known| known == file).or_else(|| self.admit(file, opens));
        *self.counts.of(file) = Count { opens, halved: self.halved };
        if let Some(place) = place {
            let better = self.list[..place].partition_point(|&other| self.count(other) >= opens);
            self.list[better..=place].rotate_right(1);
        }
    }

    /// Puts a file at the end of the list, if it is good enough.
    fn admit(&mut self, file: FileId, opens: u32) -> Option<usize> {
        if self.list.len() == self.size {
            self.list
                .pop_if(|last| self.counts.get(*last).is_none_or(|count| count.after(self.halved) < opens))?;
        }
        self.list.push(file);
        self.changes += 1;
        Some(self.list.len() - 1)
    }
}
