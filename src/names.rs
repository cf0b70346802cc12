//! Names: every path below the source that anybody spoke of, as a dense number and back.
//!
//! What must stay true:
//! - a number stands for a *path*, so that what was learned about `foo.c` stays with `foo.c` when an
//!   editor replaces it by renaming a new file over it, or a build removes and makes it again;
//! - directories that move take everything below along, because children point at their parent;
//! - a number is given to another path only when nothing speaks of the old one any more (`release`);
//!   a name costs little more than its bytes (see the test).
//!
//! Not thread safe: owners put a mutex around it.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::codec::{CodecError, Reader, put_bytes, put_varint};
use crate::id::FileId;
use crate::id::dense::room;

mod component;
mod listing;
mod programs;
mod release;
mod table;

use component::{components, possible};
pub use listing::Listed;
pub use programs::Programs;
use table::Table;

/// Parent of what has no name any more.
const NOBODY: u32 = u32::MAX;
/// Deepest path: PATH_MAX (4096) has room for 2048 components of one byte.
const DEPTH_MAX: usize = 2048;
/// So many removed names are remembered, in case they come back (a `make clean` of a large project).
const GONE_KEPT: usize = 65_536;

/// The names. See the module's head.
#[derive(Clone, Debug)]
pub struct Names {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// Bytes in `bytes` that no entry uses.
    idle_bytes: usize,
    table: Table,
    gone: VecDeque<FileId>,
    /// Numbers that may be given again.
    free: Vec<FileId>,
    /// Keyed afresh in each process: names come from users, who must not be able to make them collide.
    hasher: RandomState,
    limit: release::Limit,
    /// How many have a name, gone or not.
    named: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    parent: u32,
    start: u32,
    len: u16,
    /// The path was removed, but its number still waits for it.
    gone: bool,
    /// Entries below that are neither gone nor nameless.
    children: u32,
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

impl Names {
    /// Only the root.
    pub fn new() -> Self {
        let root = Entry { parent: 0, start: 0, len: 0, gone: false, children: 0 };
        Names {
            entries: vec![root],
            bytes: Vec::new(),
            idle_bytes: 0,
            table: Table::with_room(0),
            gone: VecDeque::new(),
            free: Vec::new(),
            hasher: RandomState::new(),
            limit: release::Limit::default(),
            named: 0,
        }
    }

    /// The number of `name` in the directory `parent`, new if it was not known.
    ///
    /// What cannot be a component (empty, with a slash, longer than FUSE allows) and what no longer
    /// fits (4 GiB of names, or the limit) is answered with the root, which nothing is ever planned for.
    pub fn intern(&mut self, parent: FileId, name: &[u8]) -> FileId {
        if let Some(known) = self.slot(parent, name) {
            self.revive(known);
            return known;
        }
        if !possible(name) || parent.index() >= self.entries.len() || !self.room(name.len()) || self.is_full()
        {
            return FileId::ROOT;
        }
        let id = self.free.pop().unwrap_or(FileId(self.entries.len() as u32));
        if id.index() == self.entries.len() {
            room(&mut self.entries, 1);
            self.entries.push(Entry { parent: NOBODY, start: 0, len: 0, gone: false, children: 0 });
        }
        self.attach(id, parent, name);
        id
    }

    /// The number of `name` in `parent`, if it has one and is not gone.
    pub fn find(&self, parent: FileId, name: &[u8]) -> Option<FileId> {
        self.slot(parent, name).filter(|id| !self.entries[id.index()].gone)
    }

    /// The number of a path below the source, its components separated by slashes.
    pub fn intern_path(&mut self, path: &[u8]) -> FileId {
        let below = |parent, name| Some(self.intern(parent, name)).filter(|&file| file != FileId::ROOT);
        components(path).try_fold(FileId::ROOT, below).unwrap_or(FileId::ROOT)
    }

    /// The number of a path below the source, if it has one and is not gone.
    pub fn find_path(&self, path: &[u8]) -> Option<FileId> {
        components(path).try_fold(FileId::ROOT, |parent, name| self.find(parent, name))
    }

    /// The path below the source, empty for the root; `None` if the name is gone.
    pub fn path(&self, file: FileId) -> Option<Vec<u8>> {
        let mut chain = Vec::new();
        let mut at = file;
        while at != FileId::ROOT {
            let entry = self.entries.get(at.index())?;
            if entry.gone || entry.parent == NOBODY || chain.len() == DEPTH_MAX {
                return None;
            }
            chain.push(at);
            at = FileId(entry.parent);
        }
        let names: Vec<&[u8]> = chain.iter().rev().map(|&id| self.name_of(id)).collect();
        Some(names.join(&b'/'))
    }

    /// The last component, `None` if the name is gone; empty for the root.
    pub fn name(&self, file: FileId) -> Option<&[u8]> {
        let entry = self.entries.get(file.index())?;
        (entry.parent != NOBODY && !entry.gone).then(|| self.name_of(file))
    }

    /// The directory it is in; `None` for the root and for what has no name.
    pub fn parent(&self, file: FileId) -> Option<FileId> {
        let entry = self.entries.get(file.index())?;
        (file != FileId::ROOT && entry.parent != NOBODY).then_some(FileId(entry.parent))
    }

    /// Directory and last component, also of a name that was removed and may come back; `None` for the root and for
    /// what has no name. As [`Names::parent`], with the name.
    pub fn place(&self, file: FileId) -> Option<(FileId, &[u8])> {
        Some((self.parent(file)?, self.name_of(file)))
    }

    /// A rename happened. Returns who the destination is now, `None` if neither end was known.
    ///
    /// A destination that has a number keeps it, and the source's number is gone as if removed;
    /// unless the source is a directory with known names below, which moves with them.
    pub fn rename(&mut self, from: (FileId, &[u8]), to: (FileId, &[u8])) -> Option<FileId> {
        let (source, target) = (self.find(from.0, from.1), self.slot(to.0, to.1));
        match (source, target) {
            (Some(source), Some(target)) if source == target => {}
            (Some(source), Some(target)) if self.entries[source.index()].children > 0 => {
                self.detach(target);
                self.shift(source, to);
                return Some(source);
            }
            (Some(source), Some(_)) => self.leave(source),
            (Some(source), None) => {
                self.shift(source, to);
                return Some(source);
            }
            (None, _) => {}
        }
        target.inspect(|&id| self.revive(id))
    }

    /// Two paths changed places. Files keep the number of their path; directories with known names
    /// below swap, so that those follow.
    pub fn exchange(&mut self, one: (FileId, &[u8]), other: (FileId, &[u8])) {
        let (a, b) = (self.intern(one.0, one.1), self.intern(other.0, other.1));
        let moves = |id: FileId| self.entries[id.index()].children > 0;
        if a == b || a == FileId::ROOT || b == FileId::ROOT || !(moves(a) || moves(b)) {
            return;
        }
        let (one_name, other_name) = (one.1.to_vec(), other.1.to_vec());
        self.detach(a);
        self.detach(b);
        self.attach(a, other.0, &other_name);
        self.attach(b, one.0, &one_name);
    }

    /// The name was removed. Returns whose it was. The number waits for the name to come back.
    pub fn remove(&mut self, parent: FileId, name: &[u8]) -> Option<FileId> {
        let id = self.find(parent, name)?;
        self.leave(id);
        Some(id)
    }

    /// How many numbers were handed out, the root included: every `FileId` is below this.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory held, in bytes.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.bytes.capacity()
            + self.table.bytes()
            + (self.gone.capacity() + self.free.capacity()) * size_of::<FileId>()
    }

    /// Appends all names in the order of their numbers.
    pub fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, self.entries.len() as u64 - 1);
        for (number, entry) in self.entries.iter().enumerate().skip(1) {
            match (entry.parent, entry.gone) {
                (NOBODY, _) => {
                    out.push(0);
                    continue;
                }
                (_, false) => out.push(1),
                (_, true) => out.push(2),
            }
            put_varint(out, u64::from(entry.parent));
            put_bytes(out, self.name_of(FileId(number as u32)));
        }
    }

    /// Reads what [`Names::save`] wrote.
    ///
    /// # Errors
    /// Where the bytes are not that: impossible names, a parent that does not exist, a name twice.
    pub fn load(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let count = reader.count("the number of names")?;
        let mut names = Names::new();
        let blank = Entry { parent: NOBODY, start: 0, len: 0, gone: false, children: 0 };
        names.entries.resize(count + 1, blank);
        for number in 1..=count {
            names.load_one(&mut reader, FileId(number as u32))?;
        }
        reader.finish("the end of the names")?;
        Ok(names)
    }

    fn load_one(&mut self, reader: &mut Reader<'_>, id: FileId) -> Result<(), CodecError> {
        let kind = reader.byte("a kind of name")?;
        if kind == 0 {
            return Ok(());
        }
        let parent = FileId(reader.below(self.entries.len() as u64, "the number of a parent")? as u32);
        let wrong = reader.error("a name, possible and unlike its siblings");
        let name = reader.bytes("a name")?;
        if kind > 2
            || parent == id
            || !possible(name)
            || !self.room(name.len())
            || self.slot(parent, name).is_some()
        {
            return Err(wrong);
        }
        self.attach(id, parent, name);
        if kind == 2 {
            self.leave(id);
        }
        Ok(())
    }

    fn name_of(&self, id: FileId) -> &[u8] {
        let entry = &self.entries[id.index()];
        &self.bytes[entry.start as usize..entry.start as usize + usize::from(entry.len)]
    }

    /// Who owns this name, gone or not.
    fn slot(&self, parent: FileId, name: &[u8]) -> Option<FileId> {
        let same = |number: u32| {
            self.entries[number as usize].parent == parent.0 && self.name_of(FileId(number)) == name
        };
        self.table.find(self.hash(parent.0, name), same).map(FileId)
    }

    fn hash(&self, parent: u32, name: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        parent.hash(&mut hasher);
        hasher.write(name);
        hasher.finish()
    }

    fn room(&self, len: usize) -> bool {
        // Two bits of a number are spoken for in the history, and offsets have 32.
        self.entries.len() < (1 << 30) - 1 && self.bytes.len() + len <= u32::MAX as usize
    }

    fn shift(&mut self, id: FileId, to: (FileId, &[u8])) {
        if possible(to.1) && self.room(to.1.len()) {
            self.detach(id);
            self.attach(id, to.0, to.1);
        }
    }

    /// Gives a nameless number its name.
    fn attach(&mut self, id: FileId, parent: FileId, name: &[u8]) {
        let start = self.bytes.len() as u32;
        room(&mut self.bytes, name.len());
        self.bytes.extend_from_slice(name);
        let entry = &mut self.entries[id.index()];
        (entry.parent, entry.start, entry.len, entry.gone) = (parent.0, start, name.len() as u16, false);
        self.entries[parent.index()].children += 1;
        self.named += 1;
        if self.table.full() {
            self.rebuild();
        } else {
            self.table.insert(self.hash(parent.0, name), id.0);
        }
    }

    /// Takes a number's name away for good.
    fn detach(&mut self, id: FileId) {
        let entry = self.entries[id.index()];
        if entry.parent == NOBODY {
            return;
        }
        let hash = self.hash(entry.parent, self.name_of(id));
        self.table.erase(hash, id.0);
        if !entry.gone {
            self.entries[entry.parent as usize].children -= 1;
        }
        self.idle_bytes += usize::from(entry.len);
        self.named -= 1;
        let entry = &mut self.entries[id.index()];
        (entry.parent, entry.start, entry.len, entry.gone) = (NOBODY, 0, 0, false);
        if self.idle_bytes > 4096 && self.idle_bytes * 8 > self.bytes.len() {
            self.compact();
        }
    }

    /// Marks a name as gone; the oldest ones are forgotten in the end.
    fn leave(&mut self, id: FileId) {
        let entry = &mut self.entries[id.index()];
        entry.gone = true;
        let parent = entry.parent as usize;
        self.entries[parent].children -= 1;
        self.gone.push_back(id);
        if self.gone.len() > GONE_KEPT
            && let Some(oldest) = self.gone.pop_front()
            && self.entries[oldest.index()].gone
        {
            self.detach(oldest);
        }
    }

    fn revive(&mut self, id: FileId) {
        let entry = &mut self.entries[id.index()];
        if entry.gone {
            entry.gone = false;
            let parent = entry.parent as usize;
            self.entries[parent].children += 1;
        }
    }

    fn rebuild(&mut self) {
        let mut table = Table::with_room(self.entries.len() * 3 / 2);
        for (number, entry) in self.entries.iter().enumerate().skip(1) {
            if entry.parent != NOBODY {
                table.insert(self.hash(entry.parent, self.name_of(FileId(number as u32))), number as u32);
            }
        }
        self.table = table;
    }

    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.idle_bytes);
        for entry in self.entries.iter_mut().filter(|entry| entry.parent != NOBODY) {
            let start = bytes.len() as u32;
            let old = entry.start as usize;
            bytes.extend_from_slice(&self.bytes[old..old + usize::from(entry.len)]);
            entry.start = start;
        }
        (self.bytes, self.idle_bytes) = (bytes, 0);
    }
}

#[cfg(test)]
mod tests;
