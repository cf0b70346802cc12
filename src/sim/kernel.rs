//! What the simulated kernel has in memory: names, directories' entries, blocks of inodes, files' bytes.
//!
//! Only the bytes of files are bounded: the rest is small beside them, and a kernel keeps it longer.
//!
//! What must stay true: a name is known only when the entries it is among and the inode it leads to are there.

use std::collections::HashSet;

use super::layout::{block_span, data_span, inode_block};
use super::memory::Memory;
use super::workload::Workload;
use crate::device::Span;
use crate::event::Facts;
use crate::id::FileId;
use crate::replace::Policy;

/// Something that is read from the device in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// A directory's entries.
    Entries(FileId),
    /// A block of inodes, by number.
    Inodes(u64),
    /// A file's bytes.
    Data(FileId),
}

/// See the module's head.
pub(super) struct Kernel<'a> {
    workload: &'a Workload,
    named: Vec<bool>,
    listed: Vec<bool>,
    inodes: HashSet<u64>,
    removed: Vec<bool>,
    pub(super) memory: Memory,
}

impl<'a> Kernel<'a> {
    /// Nothing in memory, which has room for `capacity` bytes of files.
    pub(super) fn new(workload: &'a Workload, capacity: u64, policy: Policy) -> Kernel<'a> {
        let none = vec![false; workload.files.len()];
        let mut kernel = Kernel {
            workload,
            named: none.clone(),
            listed: none.clone(),
            inodes: HashSet::new(),
            removed: none,
            memory: Memory::new(capacity, policy),
        };
        kernel.empty();
        kernel
    }

    pub(super) fn facts(&self, file: FileId) -> Facts {
        self.workload.file(file).facts
    }

    /// Everything goes.
    pub(super) fn empty(&mut self) {
        self.named.fill(false);
        self.listed.fill(false);
        self.inodes.clear();
        self.memory.empty();
        // The mount's root is known as long as it is mounted.
        self.named[FileId::ROOT.index()] = true;
    }

    /// Everything comes, as far as there is room.
    pub(super) fn fill(&mut self) {
        self.named.fill(true);
        self.listed.fill(true);
        for (number, file) in self.workload.files.iter().enumerate() {
            if !file.facts.directory {
                self.memory.bring(FileId(number as u32), file.facts.size, |_| ());
            }
        }
    }

    pub(super) fn is_named(&self, file: FileId) -> bool {
        self.named[file.index()]
    }

    pub(super) fn name(&mut self, file: FileId) {
        self.named[file.index()] = true;
    }

    pub(super) fn is_listed(&self, directory: FileId) -> bool {
        self.listed[directory.index()]
    }

    /// Has it been removed?
    pub(super) fn is_removed(&self, file: FileId) -> bool {
        self.removed[file.index()]
    }

    /// What has to be read next to know the file's name.
    pub(super) fn missing_for_name(&self, file: FileId) -> Option<Item> {
        let parent = self.workload.file(file).parent;
        let block = inode_block(&self.facts(file));
        if !self.is_listed(parent) {
            Some(Item::Entries(parent))
        } else if !self.inodes.contains(&block) {
            Some(Item::Inodes(block))
        } else {
            None
        }
    }

    /// Where something lies on the device: of a file what is not there yet, up to `to`.
    pub(super) fn span(&self, item: Item, to: u64) -> Span {
        match item {
            Item::Entries(directory) => {
                let facts = self.facts(directory);
                data_span(&facts, 0, facts.size)
            }
            Item::Inodes(block) => block_span(block),
            Item::Data(file) => data_span(&self.facts(file), self.memory.holds(file), to),
        }
    }

    /// Something has come; files that leave memory for it are handed out.
    pub(super) fn take_in(&mut self, item: Item, to: u64, gone: impl FnMut(FileId)) {
        match item {
            Item::Entries(directory) => self.listed[directory.index()] = true,
            Item::Inodes(block) => {
                self.inodes.insert(block);
            }
            Item::Data(file) => self.memory.bring(file, to, gone),
        }
    }

    /// A file is written: it is in memory, whatever it was before.
    pub(super) fn write(&mut self, file: FileId, gone: impl FnMut(FileId)) {
        self.removed[file.index()] = false;
        self.named[file.index()] = true;
        self.inodes.insert(inode_block(&self.facts(file)));
        self.memory.bring(file, self.facts(file).size, gone);
    }

    /// A name is taken away.
    pub(super) fn remove(&mut self, file: FileId) {
        self.removed[file.index()] = true;
        self.named[file.index()] = false;
        self.memory.remove(file);
    }
}
