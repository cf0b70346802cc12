//! What the own cache holds, under its lock: blocks, versions, and the policy that knows the same blocks.
//!
//! What must stay true: the policy knows exactly the blocks that are held; `held` is the sum of their lengths.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lru::LruCache;

use super::figures::{self, Counts};
use super::{CacheFigures, CacheSettings, Wanted};
use crate::id::{IdMap, ProgramId};
use crate::replace::{Arrival, Block, Replacement};

/// Files whose numbers are remembered, with or without blocks: more than a large tree's working set.
const FILES: usize = 1 << 16;
/// What a block costs besides its bytes, its slot and the policy's share: the counts and the rounding of its allocation,
/// and its number in the file's tree, whose nodes are two thirds full.
const PER_BLOCK: usize = 32 + 8;

/// What is to be done about a block.
pub(super) enum Look {
    Held(Arc<[u8]>),
    /// Somebody is reading it.
    Coming,
    /// Whoever asks is to read this block and those after it that are missing too.
    Missing {
        ticket: u64,
        count: u32,
    },
}

enum Slot {
    Held { bytes: Arc<[u8]>, unused: bool },
    Coming { ticket: u64 },
}

struct File<V> {
    /// Its number in blocks.
    number: u32,
    version: V,
    blocks: BTreeSet<u32>,
}

/// See the module's head.
pub(super) struct Shelf<V> {
    settings: CacheSettings,
    policy: Box<dyn Replacement>,
    files: LruCache<u64, File<V>>,
    /// The files by their numbers in blocks.
    names: IdMap<u32, u64>,
    slots: IdMap<Block, Slot>,
    held: u64,
    numbers: u32,
    tickets: u64,
    /// The block each program referred to last: going on within a block is no new reference.
    last: IdMap<ProgramId, Block>,
    counts: Counts,
}

impl<V: Copy + Eq> Shelf<V> {
    pub(super) fn new(settings: CacheSettings) -> Self {
        let room = (settings.capacity / u64::from(settings.block_size)).max(1) as usize;
        Shelf {
            settings,
            policy: settings.policy.build(room),
            files: LruCache::unbounded(),
            names: IdMap::default(),
            slots: IdMap::default(),
            held: 0,
            numbers: 0,
            tickets: 0,
            last: IdMap::default(),
            counts: Counts::default(),
        }
    }

    /// The file in the version wanted. What is held of another one goes.
    fn file(&mut self, name: u64, version: V) -> u32 {
        if let Some(file) = self.files.get(&name).filter(|file| file.version == version) {
            return file.number;
        }
        self.let_go(name);
        let number = match self.files.pop(&name) {
            // The policy remembers blocks by it: of a file that has changed a little it still knows how it is used.
            Some(file) => file.number,
            None => {
                self.numbers = self.numbers.wrapping_add(1);
                self.numbers
            }
        };
        self.names.insert(number, name);
        self.files.put(name, File { number, version, blocks: BTreeSet::new() });
        if self.files.len() > FILES
            && let Some((oldest, _)) = self.files.peek_lru()
        {
            let oldest = *oldest;
            self.let_go(oldest);
            self.files.pop(&oldest).map(|file| self.names.remove(&file.number));
        }
        number
    }

    /// All of these blocks, if they are held; then they are used.
    pub(super) fn all(&mut self, wanted: &Wanted<V>, blocks: Range<u32>) -> Option<Vec<Arc<[u8]>>> {
        let number = self.file(wanted.file, wanted.version);
        let held = |index| match self.slots.get(&Block::of(number, index)) {
            Some(Slot::Held { bytes, .. }) => Some(bytes.clone()),
            _ => None,
        };
        let found: Vec<_> = blocks.clone().map(held).collect::<Option<_>>()?;
        blocks.for_each(|index| self.refer(Block::of(number, index), wanted));
        Some(found)
    }

    /// Looks for one block; if it is missing, it and at most `most` together are the caller's to bring.
    pub(super) fn look(&mut self, wanted: &Wanted<V>, index: u32, most: u32) -> Look {
        let number = self.file(wanted.file, wanted.version);
        let block = Block::of(number, index);
        match self.slots.get(&block) {
            Some(Slot::Held { bytes, .. }) => {
                let bytes = bytes.clone();
                self.refer(block, wanted);
                return Look::Held(bytes);
            }
            Some(Slot::Coming { .. }) => {
                self.counts.own.waits += 1;
                return Look::Coming;
            }
            None => {}
        }
        let missing = |at: &u32| !self.slots.contains_key(&Block::of(number, *at));
        let count = (index..index + most).take_while(missing).count() as u32;
        self.tickets += 1;
        let ticket = self.tickets;
        for index in index..index + count {
            let block = Block::of(number, index);
            self.slots.insert(block, Slot::Coming { ticket });
        }
        if let Some(file) = self.files.get_mut(&wanted.file) {
            file.blocks.extend(index..index + count);
        }
        Look::Missing { ticket, count }
    }

    /// A block that is there is used, or wanted ahead once more, which changes nothing.
    fn refer(&mut self, block: Block, wanted: &Wanted<V>) {
        if wanted.arrival == Arrival::Ahead {
            return;
        }
        if let Some(Slot::Held { unused, .. }) = self.slots.get_mut(&block)
            && std::mem::take(unused)
        {
            self.counts.own.ahead_used += 1;
        }
        if self.last.insert(wanted.owner, block) != Some(block) {
            self.counts.own.hits += 1;
            self.policy.touch(block, wanted.owner);
            self.keep_turns();
        }
    }

    /// A block has come that was on its way under this ticket, unless the file has changed meanwhile.
    pub(super) fn put(&mut self, wanted: &Wanted<V>, ticket: u64, index: u32, bytes: Arc<[u8]>) {
        let current = self.files.peek(&wanted.file).filter(|file| file.version == wanted.version);
        let Some(block) = current.map(|file| Block::of(file.number, index)) else {
            self.counts.own.late += 1;
            return;
        };
        match self.slots.get(&block) {
            Some(Slot::Coming { ticket: ours }) if *ours == ticket => {}
            _ => {
                self.counts.own.late += 1;
                return;
            }
        }
        let ahead = wanted.arrival == Arrival::Ahead;
        if ahead {
            self.counts.own.ahead += 1;
        } else {
            self.counts.own.misses += 1;
            self.last.insert(wanted.owner, block);
        }
        self.counts.own.read_bytes += bytes.len() as u64;
        self.held += bytes.len() as u64;
        self.slots.insert(block, Slot::Held { bytes, unused: ahead });
        self.policy.insert(block, wanted.owner, wanted.arrival);
        self.keep_turns();
        self.shrink();
    }

    /// Evicts until what is held fits.
    fn shrink(&mut self) {
        while self.held > self.settings.capacity {
            let Some(victim) = self.policy.evict() else { return };
            self.counts.own.evictions += 1;
            self.drop_slot(victim);
            let file = self.names.get(&victim.file()).and_then(|name| self.files.peek_mut(name));
            file.map(|file| file.blocks.remove(&victim.index()));
        }
    }

    fn drop_slot(&mut self, block: Block) {
        if let Some(Slot::Held { bytes, unused }) = self.slots.remove(&block) {
            self.held -= bytes.len() as u64;
            self.counts.own.ahead_unused += u64::from(unused);
        }
    }

    /// Blocks that were announced under this ticket and have not come will not come.
    pub(super) fn call_off(&mut self, name: u64, ticket: u64, blocks: Range<u32>) {
        let Some(file) = self.files.peek_mut(&name) else { return };
        for index in blocks {
            let block = Block::of(file.number, index);
            if matches!(self.slots.get(&block), Some(Slot::Coming { ticket: ours }) if *ours == ticket) {
                self.slots.remove(&block);
                file.blocks.remove(&index);
            }
        }
    }

    /// All of a file goes, what is on its way too.
    pub(super) fn let_go(&mut self, name: u64) {
        let Some(file) = self.files.peek_mut(&name) else { return };
        let (number, blocks) = (file.number, std::mem::take(&mut file.blocks));
        for index in blocks {
            let block = Block::of(number, index);
            if matches!(self.slots.get(&block), Some(Slot::Held { .. })) {
                self.policy.remove(block);
                self.counts.own.invalidated += 1;
            }
            self.drop_slot(block);
        }
    }

    pub(super) fn clear(&mut self) {
        let names: Vec<u64> = self.files.iter().map(|(&name, _)| name).collect();
        names.into_iter().for_each(|name| self.let_go(name));
    }

    /// See [`super::OwnCache::written`].
    pub(super) fn write(&mut self, name: u64, (from, to): (V, V), size: u64, offset: u64, bytes: &[u8]) {
        let step = u64::from(self.settings.block_size);
        let known = self.files.peek_mut(&name).filter(|file| file.version == from);
        let Some(file) = known else { return self.let_go(name) };
        file.version = to;
        let (number, touched) = (file.number, offset / step..(offset + bytes.len() as u64).div_ceil(step));
        // What grows by this, or is on its way, would come out mixed: it goes.
        let stays = |index: u64, slot: &Slot| match slot {
            Slot::Held { bytes, .. } => bytes.len() as u64 == size.saturating_sub(index * step).min(step),
            Slot::Coming { .. } => false,
        };
        for index in std::mem::take(&mut file.blocks) {
            let block = Block::of(number, index);
            let Some(slot) = self.slots.get_mut(&block) else { continue };
            if !stays(index.into(), slot) {
                if matches!(slot, Slot::Held { .. }) {
                    self.policy.remove(block);
                    self.counts.own.invalidated += 1;
                }
                self.drop_slot(block);
                continue;
            }
            if let Slot::Held { bytes: old, .. } = slot
                && touched.contains(&index.into())
            {
                *old = overwritten(old, u64::from(index) * step, offset, bytes);
            }
            if let Some(file) = self.files.peek_mut(&name) {
                file.blocks.insert(index);
            }
        }
    }

    /// The policy keeps the last changes of patterns only; here they are kept for whoever asks.
    fn keep_turns(&mut self) {
        let turns = self.policy.turns();
        self.counts.keep(turns);
    }

    pub(super) fn figures(&self) -> CacheFigures {
        let bookkeeping = self.policy.bytes()
            + self.slots.len() * PER_BLOCK
            + self.slots.capacity() * (size_of::<(Block, Slot)>() + 1) * 8 / 7
            + self.names.capacity() * (size_of::<(u32, u64)>() + 1)
            + self.files.len() * (size_of::<(u64, File<V>)>() + 24);
        figures::figures(self.settings, &self.counts, self.policy.as_ref(), self.held, bookkeeping as u64)
    }
}

/// A block that begins at `start`, with what was written at `offset` in it.
fn overwritten(old: &[u8], start: u64, offset: u64, bytes: &[u8]) -> Arc<[u8]> {
    let mut new = old.to_vec();
    let from = offset.saturating_sub(start) as usize;
    let skip = start.saturating_sub(offset) as usize;
    let len = (new.len() - from.min(new.len())).min(bytes.len() - skip);
    new[from..from + len].copy_from_slice(&bytes[skip..skip + len]);
    Arc::from(new)
}
