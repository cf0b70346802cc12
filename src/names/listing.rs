//! All names in the open, for commands on model files.

use super::{NOBODY, Names};
use crate::codec::{CodecError, put_bytes, put_varint};
use crate::id::FileId;

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub file: FileId,
    /// The directory it is in.
    pub parent: FileId,
    /// Its last component.
    pub name: Vec<u8>,
    /// It was removed, and its number waits for it to come back.
    pub gone: bool,
}

impl Names {
    /// By number: is it this one, or does it lie below it?
    pub fn inside(&self, top: FileId) -> Vec<bool> {
        let mut known: Vec<Option<bool>> = vec![None; self.entries.len()];
        known[FileId::ROOT.index()] = Some(top == FileId::ROOT);
        known[top.index()] = Some(true);
        let mut way = Vec::new();
        for number in 0..self.entries.len() {
            let mut at = number;
            // Each name is gone through once: whoever comes later finds the answer.
            let inside = loop {
                match (known[at], self.entries[at].parent) {
                    (Some(inside), _) => break inside,
                    (None, NOBODY) => break false,
                    (None, parent) if way.len() <= self.entries.len() => {
                        way.push(at);
                        at = parent as usize;
                    }
                    // Names that are above each other, as only a damaged file could have them.
                    _ => break false,
                }
            };
            known[at] = Some(inside);
            way.drain(..).for_each(|at| known[at] = Some(inside));
        }
        known.into_iter().map(|inside| inside.unwrap_or(false)).collect()
    }

    /// Every name in the order of its number, without the root.
    pub fn listing(&self) -> impl Iterator<Item = Listed> + '_ {
        let named = self.entries.iter().enumerate().skip(1).filter(|(_, entry)| entry.parent != NOBODY);
        named.map(|(number, entry)| {
            let (file, parent) = (FileId(number as u32), FileId(entry.parent));
            Listed { file, parent, name: self.name_of(file).to_vec(), gone: entry.gone }
        })
    }

    /// Names numbered below `count`, of which these are listed, in the order of their numbers.
    ///
    /// # Errors
    /// As [`Names::load`].
    pub fn from_listing(count: usize, listing: Vec<Listed>) -> Result<Names, CodecError> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, count as u64 - 1);
        let mut listing = listing.into_iter().peekable();
        for number in 1..count as u32 {
            match listing.next_if(|listed| listed.file.0 == number) {
                Some(listed) => {
                    bytes.push(if listed.gone { 2 } else { 1 });
                    put_varint(&mut bytes, u64::from(listed.parent.0));
                    put_bytes(&mut bytes, &listed.name);
                }
                None => bytes.push(0),
            }
        }
        Names::load(&bytes)
    }

    /// The file at `path` and everything below it, removed or not; nothing when it is not known. The root is not
    /// given away.
    pub fn below(&self, path: &[u8]) -> Vec<FileId> {
        let path = super::components(path);
        let Some(top) = path.map(Some).try_fold(FileId::ROOT, |parent, name| self.slot(parent, name?)) else {
            return Vec::new();
        };
        let inside = self.inside(top);
        (1..self.entries.len() as u32)
            .map(FileId)
            .filter(|file| top != FileId::ROOT && inside[file.index()])
            .collect()
    }
}
