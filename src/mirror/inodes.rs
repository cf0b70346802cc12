//! The inode table: every inode the kernel knows, keyed by device and inode number of the source.
//!
//! What must stay true: an entry lives exactly as long as its lookup count is above zero (the root
//! for ever); hard links share one entry; the same (device, inode) met again under another file
//! handle is a new file and gets a new generation; no descriptor is held, except for inodes whose
//! last name is gone.

mod legacy;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rustix::fs::FileType;

use super::attr::{Key, Version};
use crate::id::FileId;
use crate::sys::handle::FileHandle;

/// The node id of the root, fixed by the FUSE protocol.
pub(super) const ROOT: u64 = 1;

/// Node ids that are not inode numbers of the root device carry this bit.
const SYNTHETIC: u64 = 1 << 63;

/// Inode numbers of other devices keep this many bits inside a synthetic node id.
const INO_BITS: u32 = 48;

/// Stands where a device's place would, for inodes whose numbers need more bits.
const MISFITS: u64 = (1 << (63 - INO_BITS)) - 1;

/// An answer reaches the kernel within this time, however busy the machine is.
const HEARD: Duration = Duration::from_secs(1);

/// Marks an inode that has no `FileId` yet.
const NO_FILE: u32 = u32::MAX;

/// Where an inode was last seen: the node id of its directory and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Node id of the directory.
    pub parent: u64,
    /// The name, as bytes.
    pub name: Box<[u8]>,
}

/// One inode the kernel knows.
#[derive(Debug)]
pub(super) struct Inode {
    /// Its number in the mount.
    pub nodeid: u64,
    /// Its identity in the source.
    pub key: Key,
    /// Its type.
    pub kind: FileType,
    lookups: AtomicU64,
    generation: AtomicU64,
    file: AtomicU32,
    locked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: Option<FileHandle>,
    place: Place,
    pin: Option<Arc<OwnedFd>>,
    cached: Option<(Version, Instant)>,
    told: Option<Version>,
}

/// What a look-up found, ready to be entered.
#[derive(Debug)]
pub(super) struct Found {
    /// Identity in the source.
    pub key: Key,
    /// Type.
    pub kind: FileType,
    /// Lasting name, where the source has such.
    pub handle: Option<FileHandle>,
    /// Where it was found.
    pub place: Place,
}

impl Inode {
    fn new(nodeid: u64, found: Found, generation: u64) -> Self {
        Inode {
            nodeid,
            key: found.key,
            kind: found.kind,
            lookups: AtomicU64::new(0),
            generation: AtomicU64::new(generation),
            file: AtomicU32::new(NO_FILE),
            locked: AtomicBool::new(false),
            state: Mutex::new(State {
                handle: found.handle,
                place: found.place,
                pin: None,
                cached: None,
                told: None,
            }),
        }
    }

    /// Which file of this inode number it is; grows when the source used the number again.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The lasting name, where the source has such.
    pub(super) fn handle(&self) -> Option<FileHandle> {
        self.state.lock().handle.clone()
    }

    /// Has it a lasting name?
    pub(super) fn has_handle(&self) -> bool {
        self.state.lock().handle.is_some()
    }

    /// Where it was last seen.
    pub(super) fn place(&self) -> Place {
        self.state.lock().place.clone()
    }

    /// A descriptor (`O_PATH`) that keeps it alive though its last name is gone.
    pub(super) fn pin(&self) -> Option<Arc<OwnedFd>> {
        self.state.lock().pin.clone()
    }

    /// Keeps it alive until the kernel forgets it (or no longer). The former pin comes back: closing
    /// the last descriptor of a file without names frees its blocks, which can take its time.
    pub(super) fn set_pin(&self, fd: Option<Arc<OwnedFd>>) -> Option<Arc<OwnedFd>> {
        std::mem::replace(&mut self.state.lock().pin, fd)
    }

    /// Says that it has a new place, and so another path to be learned by.
    pub(super) fn moved(&self, place: Place) {
        let mut state = self.state.lock();
        state.place = place;
        state.told = None;
        drop(state);
        self.file.store(NO_FILE, Ordering::Release);
    }

    /// Has anybody locked it through the mount, ever?
    pub(super) fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Acquire)
    }

    /// Somebody has.
    pub(super) fn set_locked(&self) {
        self.locked.store(true, Ordering::Release);
    }

    /// The number under which accesses to it are learned, if it has one.
    pub(super) fn file(&self) -> Option<FileId> {
        match self.file.load(Ordering::Acquire) {
            NO_FILE => None,
            n => Some(FileId(n)),
        }
    }

    /// Sets that number.
    pub(super) fn set_file(&self, file: FileId) {
        self.file.store(file.0, Ordering::Release);
    }

    /// Takes that number away.
    pub(super) fn unname(&self) {
        self.file.store(NO_FILE, Ordering::Release);
    }

    /// Notes which version the kernel is told of. True when it would take the content for what it was, and may be wrong.
    pub(super) fn tells(&self, version: Version) -> bool {
        self.state.lock().told.replace(version).is_some_and(|told| told.hides(&version))
    }

    /// We have changed it ourselves in a way that concerns no content: what it was told to be says nothing any more.
    pub(super) fn changed_by_us(&self) {
        self.state.lock().told = None;
    }

    /// Notes which version of the content the kernel is about to cache. True when it is the one that
    /// was cached before, and has been for long enough that the kernel has heard of the change to it:
    /// the answer that told of it may still be on its way beside this one.
    pub(super) fn caches(&self, version: Version) -> bool {
        let mut state = self.state.lock();
        match state.cached {
            Some((cached, since)) if cached == version => since.elapsed() > HEARD,
            _ => {
                state.cached = Some((version, Instant::now()));
                false
            }
        }
    }
}

/// Entries whose room is worth a look at the memory: some five megabytes.
const MANY: usize = 10_000;

/// What is behind the lock of the table.
#[derive(Debug, Default)]
struct Nodes {
    known: HashMap<u64, Arc<Inode>>,
    /// Hash of a file handle -> node id, so that a report about a handle finds its inode.
    handles: HashMap<u64, u64>,
    hasher: RandomState,
}

impl Nodes {
    fn hash(&self, handle: &FileHandle) -> u64 {
        self.hasher.hash_one(handle)
    }

    fn insert(&mut self, inode: Arc<Inode>) {
        // Another file may have had the number: nothing must be left of it.
        self.remove(inode.nodeid);
        if let Some(handle) = inode.handle() {
            self.handles.insert(self.hash(&handle), inode.nodeid);
        }
        self.known.insert(inode.nodeid, inode);
    }

    fn remove(&mut self, nodeid: u64) -> Option<Arc<Inode>> {
        let inode = self.known.remove(&nodeid)?;
        if let Some(handle) = inode.handle() {
            self.handles.remove(&self.hash(&handle));
        }
        Some(inode)
    }

    /// Moving what is left into less room takes as long as there is left, so this is done when that is little: an eighth.
    fn shrink(&mut self) {
        if self.known.len() < self.known.capacity() / 8 {
            self.known.shrink_to_fit();
            self.handles.shrink_to_fit();
        }
    }
}

/// Made-up node ids.
#[derive(Debug, Default)]
struct Synthetic {
    /// Devices other than the root's, in the order met; the place is part of their node ids.
    devices: Vec<u64>,
    /// Inodes whose numbers do not fit beside that.
    misfits: HashMap<Key, u64>,
}

impl Synthetic {
    fn number(&mut self, key: Key) -> u64 {
        let slot = self.devices.iter().position(|&d| d == key.dev).unwrap_or_else(|| {
            self.devices.push(key.dev);
            self.devices.len() - 1
        }) as u64;
        if key.ino >> INO_BITS == 0 && slot < MISFITS {
            return SYNTHETIC | slot << INO_BITS | key.ino;
        }
        let next = self.misfits.len() as u64;
        SYNTHETIC | MISFITS << INO_BITS | *self.misfits.entry(key).or_insert(next)
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct Inodes {
    root: Arc<Inode>,
    nodes: RwLock<Nodes>,
    synthetic: Mutex<Synthetic>,
    generations: AtomicU64,
    /// Entries that went since the last `settle` that found many.
    gone: AtomicUsize,
}

impl Inodes {
    /// A table that knows the root only.
    pub(super) fn new(root: Key, handle: Option<FileHandle>) -> Self {
        let found = Found {
            key: root,
            kind: FileType::Directory,
            handle,
            place: Place { parent: ROOT, name: [].into() },
        };
        let root = Arc::new(Inode::new(ROOT, found, 0));
        root.set_file(FileId::ROOT);
        let mut nodes = Nodes::default();
        nodes.insert(root.clone());
        Inodes {
            root,
            nodes: RwLock::new(nodes),
            synthetic: Mutex::default(),
            generations: AtomicU64::new(0),
            gone: AtomicUsize::new(0),
        }
    }

    /// The root.
    pub(super) fn root(&self) -> Arc<Inode> {
        self.root.clone()
    }

    /// The inode the kernel calls `nodeid`.
    pub(super) fn get(&self, nodeid: u64) -> Option<Arc<Inode>> {
        self.nodes.read().known.get(&nodeid).cloned()
    }

    /// The inode with this identity, if the kernel knows it.
    pub(super) fn by_key(&self, key: Key) -> Option<Arc<Inode>> {
        self.get(self.nodeid(key)).filter(|i| i.key == key)
    }

    /// The inode with this lasting name, if the kernel knows it.
    pub(super) fn by_handle(&self, handle: &FileHandle) -> Option<Arc<Inode>> {
        let nodes = self.nodes.read();
        let inode = nodes.known.get(nodes.handles.get(&nodes.hash(handle))?)?;
        (inode.handle().as_ref() == Some(handle)).then(|| inode.clone())
    }

    /// All inodes the kernel knows.
    pub(super) fn all(&self) -> Vec<Arc<Inode>> {
        self.nodes.read().known.values().cloned().collect()
    }

    /// The number under which users of the mount see an inode of the source: its own on the root
    /// device; made up for other devices, whose numbers may collide with those.
    pub(super) fn nodeid(&self, key: Key) -> u64 {
        if key == self.root.key {
            ROOT
        } else if key.dev == self.root.key.dev && key.ino != ROOT && key.ino & SYNTHETIC == 0 {
            key.ino
        } else {
            self.synthetic.lock().number(key)
        }
    }

    /// Enters what a look-up found and counts one look-up for it.
    pub(super) fn enter(&self, found: Found) -> Arc<Inode> {
        let nodeid = self.nodeid(found.key);
        if nodeid == ROOT {
            return self.root();
        }
        {
            let nodes = self.nodes.read();
            if let Some(inode) = nodes.known.get(&nodeid)
                && self.matches(inode, &found)
            {
                inode.lookups.fetch_add(1, Ordering::AcqRel);
                return inode.clone();
            }
        }
        let mut nodes = self.nodes.write();
        let known = nodes.known.get(&nodeid).cloned();
        let inode = match known {
            Some(inode) if self.matches(&inode, &found) => inode,
            former => {
                let generation =
                    former.as_ref().map_or(0, |_| 1 + self.generations.fetch_add(1, Ordering::AcqRel));
                let carried = former.as_ref().map_or(0, |i| i.lookups.load(Ordering::Acquire));
                let inode = Arc::new(Inode::new(nodeid, found, generation));
                inode.lookups.store(carried, Ordering::Release);
                nodes.insert(inode.clone());
                inode
            }
        };
        inode.lookups.fetch_add(1, Ordering::AcqRel);
        inode
    }

    /// Is `found` the file that `inode` stands for? If so, remembers its place.
    fn matches(&self, inode: &Inode, found: &Found) -> bool {
        let mut state = inode.state.lock();
        let same = inode.key == found.key
            && inode.kind == found.kind
            && (state.handle.is_none() || found.handle.is_none() || state.handle == found.handle);
        if same && state.place != found.place {
            state.place = found.place.clone();
            inode.file.store(NO_FILE, Ordering::Release);
        }
        same
    }

    /// Takes `count` look-ups back; the entry goes when none is left, and comes back to be dropped
    /// where that may block.
    pub(super) fn forget(&self, nodeid: u64, count: u64) -> Option<Arc<Inode>> {
        if nodeid == ROOT {
            return None;
        }
        // The write lock keeps a concurrent `enter` from finding an entry that is about to go.
        let mut nodes = self.nodes.write();
        let inode = nodes.known.get(&nodeid)?;
        let before = inode.lookups.load(Ordering::Acquire);
        inode.lookups.store(before.saturating_sub(count), Ordering::Release);
        if before > count {
            return None;
        }
        self.gone.fetch_add(1, Ordering::Relaxed);
        nodes.remove(nodeid)
    }

    /// Gives the table's own room back when most of it is empty. True when very many entries have gone since it last was:
    /// then what they held is worth giving back too.
    pub(super) fn settle(&self) -> bool {
        let many = self.gone.load(Ordering::Relaxed) >= MANY;
        if many {
            self.gone.store(0, Ordering::Relaxed);
            self.nodes.write().shrink();
        }
        many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_used_again_leaves_nothing_of_the_former_file() {
        let inodes = Inodes::new(Key { dev: 1, ino: 2 }, None);
        let found = |handle: &[u8]| Found {
            key: Key { dev: 1, ino: 12 },
            kind: FileType::RegularFile,
            handle: Some(FileHandle::from_parts(1, handle)),
            place: Place { parent: ROOT, name: (*b"name").into() },
        };
        let former = inodes.enter(found(b"former"));
        let latter = inodes.enter(found(b"latter"));
        assert_ne!(latter.generation(), former.generation());
        assert!(inodes.by_handle(&FileHandle::from_parts(1, b"former")).is_none());
        assert_eq!(inodes.nodes.read().handles.len(), 1);
        inodes.forget(12, 2);
        let nodes = inodes.nodes.read();
        assert_eq!((nodes.known.len(), nodes.handles.len()), (1, 0));
    }

    #[test]
    fn a_table_that_has_emptied_gives_its_room_back() {
        let inodes = Inodes::new(Key { dev: 1, ino: 2 }, None);
        let most = MANY as u64 + 20;
        for ino in 10..10 + most {
            inodes.enter(Found {
                key: Key { dev: 1, ino },
                kind: FileType::RegularFile,
                handle: Some(FileHandle::from_parts(1, &ino.to_ne_bytes())),
                place: Place { parent: ROOT, name: (*b"name").into() },
            });
        }
        let room = || inodes.nodes.read().known.capacity() + inodes.nodes.read().handles.capacity();
        let full = room();
        (10..10 + most - 20).for_each(|ino| drop(inodes.forget(ino, 1)));
        assert!(inodes.settle(), "that was many");
        assert!(room() < full / 8, "{} of {full}", room());
        assert!(!inodes.settle(), "none since then");
        inodes.forget(10 + most - 1, 1);
        assert!(!inodes.settle(), "one since then");
        assert!(inodes.get(10 + most - 2).is_some() && inodes.get(10).is_none());
    }
}
