//! The passthrough operations: what users do in the mount is done in the source.
//!
//! What must stay true: errors are the kernel's own; nothing here waits for the engine or a worker
//! except `join`, which is bounded and only for operations that were about to block anyway; an
//! operation told `How::InMemory` never blocks and says `EAGAIN` instead; no lock is held across a
//! system call that may block.

pub mod attr;
mod attributes;
mod cursors;
mod data;
mod debris;
mod descriptors;
mod directory;
mod entries;
mod handles;
mod inodes;
mod legacy;
mod locks;
mod lookup;
mod own;
mod privileges;
mod requester;
mod source;
mod watch;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;

use crate::event::{Op, Residency};
use crate::id::FileId;
use crate::live::{Joined, Live, Note, Want};
use crate::names::Names;
use attr::Attr;
use cursors::Cursors;
use descriptors::Descriptors;
use handles::Handles;
use inodes::{Inode, Inodes};
use locks::Locks;
use source::Source;

pub use attributes::{Change, SetTime, Volume, Xattr};
pub use data::{Opened, Reading, Writing};
pub use directory::{DirEntry, Listing};
pub use entries::Creation;
pub use legacy::{Bundle, Legacy};
pub use locks::{Locking, Style};
pub use requester::Requester;
pub use watch::Kernel;

/// What an operation of the mirror gives; the error is the kernel's own.
pub type Result<T> = std::result::Result<T, Errno>;

/// May an operation block?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Never: `EAGAIN` when the answer is not in memory. For the thread that reads requests.
    InMemory,
    /// Yes. For threads of the pool.
    MayBlock,
}

/// How long the kernel may rely on what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// That a name leads to this inode, or to none.
    pub entry: Duration,
    /// That the attributes are these.
    pub attr: Duration,
}

/// A name and what it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Attributes; `attr.ino` is the node id.
    pub attr: Attr,
    /// Which file of this number it is.
    pub generation: u64,
    /// How long this may be relied on.
    pub fresh: Freshness,
}

/// Requests that may wait for prefetches at once: half the threads of the pool, so that the workers'
/// own requests, which end the waiting, always find one.
const JOINERS: usize = 128;

/// The mirror of one source.
#[derive(Debug)]
pub struct Mirror {
    source: Source,
    inodes: Inodes,
    descriptors: Descriptors,
    cursors: Cursors,
    handles: Handles,
    locks: Locks,
    names: Arc<Mutex<Names>>,
    live: Arc<Live>,
    /// How long the kernel may rely on what it was told while the source is not watched.
    timeout: Duration,
    /// Access times of the source are left alone.
    quiet: bool,
    watched: AtomicBool,
    changes: watch::Changes,
    /// Requests that wait for a prefetch now.
    joiners: AtomicUsize,
    /// Where reads are served from, if not from the source.
    own: Option<own::Own>,
}

impl Mirror {
    /// A mirror of the directory `root` (a readable descriptor). `timeout` is how long the kernel
    /// may rely on names and attributes while the source is not watched; `quiet` reads without leaving
    /// access times behind.
    ///
    /// # Errors
    /// What statx gives for the directory.
    pub fn new(
        root: Arc<OwnedFd>,
        names: Arc<Mutex<Names>>,
        live: Arc<Live>,
        timeout: Duration,
        quiet: bool,
    ) -> Result<Self> {
        let source = Source::new(root)?;
        let handle = source.handle_of(&source.root(), source.root_key());
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        Ok(Mirror {
            inodes: Inodes::new(source.root_key(), handle),
            source,
            descriptors: Descriptors::new(limit),
            cursors: Cursors::default(),
            handles: Handles::default(),
            locks: Locks::default(),
            names,
            live,
            timeout,
            quiet,
            watched: AtomicBool::new(false),
            changes: watch::Changes::default(),
            joiners: AtomicUsize::new(0),
            own: None,
        })
    }

    /// Says which device number our own mount got, and what its mountpoint is without it, so that
    /// a mount inside its own source is not entered from below.
    pub fn cover(&self, (major, minor): (u32, u32), below: Arc<OwnedFd>) {
        self.source.cover(attr::device(major, minor), below);
    }

    /// Closes what was opened for requests without a handle and has not been used for a moment.
    /// True when nothing of the kind is open any more.
    pub fn sweep(&self) -> bool {
        let listed = self.cursors.sweep();
        self.descriptors.sweep(&self.source, self.watched.load(Ordering::Acquire)) && listed
    }

    /// True when the kernel has forgotten very many inodes since this last was: their memory is free now.
    pub fn settle(&self) -> bool {
        self.inodes.settle()
    }

    /// These numbers have no name any more: whatever had one gets another at its next use.
    pub fn drop_numbers(&self, numbers: &[FileId]) {
        let gone: std::collections::HashSet<FileId> = numbers.iter().copied().collect();
        for inode in self.inodes.all() {
            if inode.file().is_some_and(|file| gone.contains(&file)) {
                inode.unname();
            }
        }
    }

    fn inode(&self, nodeid: u64) -> Result<Arc<Inode>> {
        self.inodes.get(nodeid).ok_or(Errno::STALE)
    }

    fn location(&self, inode: &Arc<Inode>, how: How) -> Result<Arc<OwnedFd>> {
        self.descriptors.location(&self.source, &self.inodes, inode, how)
    }

    /// Waits, bounded, for a prefetch of `inode` that is planned or under way. How it was found.
    fn join(&self, who: Requester, inode: &Inode, want: Want) -> Residency {
        inode.file().map_or(Residency::Miss, |file| self.join_file(who, file, want))
    }

    fn join_file(&self, who: Requester, file: FileId, want: Want) -> Residency {
        // Own threads' requests are what is waited for.
        if self.live.is_own(who.tid) {
            return Residency::Miss;
        }
        let crowded = self.joiners.fetch_add(1, Ordering::AcqRel) >= JOINERS;
        let joined = if crowded { Joined::NotPlanned } else { self.live.join(file, want) };
        self.joiners.fetch_sub(1, Ordering::AcqRel);
        match joined {
            Joined::Arrived => Residency::Partial,
            Joined::NotPlanned | Joined::TimedOut => Residency::Miss,
        }
    }

    fn note(&self, who: Requester, inode: &Inode, op: Op, residency: Residency) {
        if self.live.is_own(who.tid) {
            return;
        }
        if let Some(file) = self.file_id(inode) {
            self.live.note(Note { tid: who.tid, file, op, residency });
        }
    }
}
