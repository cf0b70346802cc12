//! The cache itself: the shelf behind its lock, and whoever waits for what others are reading.
//!
//! What must stay true: no lock is held while anything is read. `schedules` compiles this file once more, with other locks:
//! everything that is not its own it takes from `super`.

use std::sync::Arc;

use super::shelf::{Look, Shelf};
use super::sync::{Condvar, Mutex};
use super::{CacheFigures, CacheSettings, Wanted};

/// Most bytes that are read at once for one miss: what the kernel asks for at most, by default.
const RUN: u64 = 128 << 10;

/// See the module's head.
pub struct OwnCache<V> {
    settings: CacheSettings,
    shelf: Mutex<Shelf<V>>,
    arrived: Condvar,
}

impl<V> std::fmt::Debug for OwnCache<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnCache").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Blocks that this thread has said it would bring. Whatever happens, nobody waits for them in vain.
struct Fetch<'a, V: Copy + Eq> {
    cache: &'a OwnCache<V>,
    file: u64,
    ticket: u64,
    first: u32,
    count: u32,
}

impl<V: Copy + Eq> Drop for Fetch<'_, V> {
    fn drop(&mut self) {
        self.cache.shelf.lock().call_off(self.file, self.ticket, self.first..self.first + self.count);
        self.cache.arrived.notify_all();
    }
}

impl<V: Copy + Eq> OwnCache<V> {
    /// An empty one.
    pub fn new(settings: CacheSettings) -> Self {
        OwnCache { settings, shelf: Mutex::new(Shelf::new(settings)), arrived: Condvar::new() }
    }

    /// Can what is wanted be held at all? Blocks have 32-bit numbers: of a file of more than 2^32 blocks the rest has none.
    pub fn has_numbers_for(&self, wanted: &Wanted<V>) -> bool {
        let end = wanted.size.min(wanted.offset.saturating_add(wanted.len as u64));
        end.div_ceil(self.settings.block_size.into()) <= u64::from(u32::MAX)
    }

    /// What is wanted, if all of it is held. Never waits. The file must have numbers for it.
    pub fn at_hand(&self, wanted: &Wanted<V>) -> Option<Vec<u8>> {
        let blocks = self.blocks(wanted);
        let found = self.shelf.lock().all(wanted, blocks.clone())?;
        Some(self.assemble(wanted, blocks, &found))
    }

    /// What is wanted, to the end of the file at most; what is missing is read with `read`, which is given an offset and
    /// a length and gives less at the end of the file only.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        &self,
        wanted: &Wanted<V>,
        mut read: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let blocks = self.blocks(wanted);
        let mut found: Vec<Arc<[u8]>> = Vec::with_capacity(blocks.len());
        let most = (RUN / u64::from(self.settings.block_size)).max(1) as u32;
        while found.len() < blocks.len() {
            let at = blocks.start + found.len() as u32;
            let mut shelf = self.shelf.lock();
            match shelf.look(wanted, at, (blocks.end - at).min(most)) {
                Look::Held(block) => found.push(block),
                Look::Coming => self.arrived.wait(&mut shelf),
                Look::Missing { ticket, count } => {
                    drop(shelf);
                    let fetch = Fetch { cache: self, file: wanted.file, ticket, first: at, count };
                    found.extend(self.fetch(&fetch, wanted, &mut read)?);
                }
            }
        }
        Ok(self.assemble(wanted, blocks, &found))
    }

    /// Reads blocks, and keeps them if the file has not changed meanwhile.
    fn fetch<E>(
        &self,
        fetch: &Fetch<'_, V>,
        wanted: &Wanted<V>,
        read: &mut impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Arc<[u8]>>, E> {
        let size = self.settings.block_size as usize;
        let offset = u64::from(fetch.first) * size as u64;
        let len = (fetch.count as usize * size).min((wanted.size - offset) as usize);
        let bytes = read(offset, len)?;
        // Less than the size in this version means that it is another version by now.
        let whole = bytes.len() == len;
        let mut blocks: Vec<Arc<[u8]>> = bytes.chunks(size).map(Arc::from).collect();
        blocks.resize(fetch.count as usize, Arc::from([]));
        if whole {
            let mut shelf = self.shelf.lock();
            for (index, block) in (fetch.first..).zip(&blocks) {
                shelf.put(wanted, fetch.ticket, index, block.clone());
            }
        }
        Ok(blocks)
    }

    /// The content of a file has changed, or may have: all of it goes.
    pub fn changed(&self, file: u64) {
        self.shelf.lock().let_go(file);
        self.arrived.notify_all();
    }

    /// Bytes were written at `offset` by whoever asks, which made the file's version `from` into `to`, now of `size` bytes:
    /// what is held of `from` stays, with the new bytes in it. If anything else is held it goes.
    pub fn written(&self, file: u64, (from, to): (V, V), size: u64, offset: u64, bytes: &[u8]) {
        self.shelf.lock().write(file, (from, to), size, offset, bytes);
        self.arrived.notify_all();
    }

    /// Everything is forgotten: nobody knows what has changed.
    pub fn clear(&self) {
        self.shelf.lock().clear();
        self.arrived.notify_all();
    }

    /// How it stands.
    pub fn figures(&self) -> CacheFigures {
        self.shelf.lock().figures()
    }

    /// How it was made.
    pub fn settings(&self) -> CacheSettings {
        self.settings
    }

    /// The blocks that what is wanted lies in.
    fn blocks(&self, wanted: &Wanted<V>) -> std::ops::Range<u32> {
        let size = u64::from(self.settings.block_size);
        let end = wanted.size.min(wanted.offset.saturating_add(wanted.len as u64));
        if wanted.offset >= end {
            return 0..0;
        }
        (wanted.offset / size) as u32..end.div_ceil(size) as u32
    }

    /// The bytes wanted, out of their blocks; they end where a block is shorter than the file was said to be.
    fn assemble(&self, wanted: &Wanted<V>, blocks: std::ops::Range<u32>, found: &[Arc<[u8]>]) -> Vec<u8> {
        let size = self.settings.block_size as usize;
        let mut out = Vec::with_capacity(wanted.len.min(blocks.len() * size));
        for (index, block) in blocks.zip(found) {
            let start = u64::from(index) * size as u64;
            let from = wanted.offset.saturating_sub(start) as usize;
            let room = wanted.len - out.len();
            let to = from.saturating_add(room).min(block.len());
            out.extend_from_slice(block.get(from..to).unwrap_or_default());
            if block.len() < size {
                break;
            }
        }
        out
    }
}
