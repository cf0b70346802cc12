//! Locks: taken in the source for those who take them in the mount, so that programs above and below exclude each other.
//!
//! A record lock (fcntl) belongs to whom the kernel calls its owner: a process, or for locks of descriptions an open
//! file. Each owner gets an open file description of its own in the source, which the locks are of. A whole-file lock (flock)
//! is one of the handle's own description.
//!
//! What must stay true: nothing here waits for a lock; an owner's locks end when the kernel says so: at each flush by that
//! owner, and at the release of the handle they were taken through, whichever is first.

mod legacy;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::inodes::Inode;
use super::source::errno;
use super::{How, Mirror, Result};
use crate::sys::lock::{self, Held, Mode, Range};

/// Which of the two kinds of lock is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Of a range: fcntl(2).
    Record,
    /// Of the file: flock(2).
    Whole,
}

/// A lock that is asked for, or an end to locks.
#[derive(Clone, Copy, Debug)]
pub struct Locking {
    /// The file.
    pub nodeid: u64,
    /// The open file it is asked for through.
    pub handle: u64,
    /// Whose it shall be, in the kernel's numbers.
    pub owner: u64,
    /// The process that asks.
    pub pid: u32,
    /// What it shall allow others.
    pub mode: Mode,
    /// Of which bytes.
    pub range: Range,
}

/// One that holds, or has held, locks on a file.
#[derive(Debug)]
struct Owner {
    number: u64,
    style: Style,
    /// The handle it came by.
    handle: u64,
    pid: u32,
    /// What its locks are of.
    description: Arc<OwnedFd>,
}

/// Who holds locks, by the number of the file.
#[derive(Debug, Default)]
pub(super) struct Locks {
    owners: Mutex<HashMap<u64, Vec<Owner>>>,
}

impl Locks {
    fn find<T>(&self, nodeid: u64, owner: u64, tell: impl Fn(&Owner) -> T) -> Option<T> {
        self.owners.lock().get(&nodeid)?.iter().find(|known| known.number == owner).map(tell)
    }

    fn enter(&self, nodeid: u64, owner: Owner) {
        self.owners.lock().entry(nodeid).or_default().push(owner);
    }

    /// Takes out those owners for whom `ends` holds. They come back, to be dropped where closing may block.
    fn take(&self, nodeid: u64, ends: impl Fn(&Owner) -> bool) -> Vec<Owner> {
        let mut owners = self.owners.lock();
        let Some(here) = owners.get_mut(&nodeid) else { return Vec::new() };
        let gone = here.extract_if(.., |owner| ends(owner)).collect();
        if here.is_empty() {
            owners.remove(&nodeid);
        }
        gone
    }

    /// The process of the only other owner.
    fn other(&self, nodeid: u64, owner: u64) -> Option<u32> {
        let owners = self.owners.lock();
        let mut others = owners.get(&nodeid)?.iter().filter(|known| known.number != owner);
        others.next().filter(|_| others.next().is_none()).map(|owner| owner.pid)
    }
}

impl Mirror {
    /// Sets or ends a lock, without waiting. `style` is asked when it is not known which kind an owner uses.
    ///
    /// # Errors
    /// `EAGAIN` when another lock is in the way, else the source's.
    pub fn lock(&self, wanted: &Locking, style: impl Fn() -> Style) -> Result<()> {
        let &Locking { nodeid, handle, owner, pid, mode, range } = wanted;
        let known = self.locks.find(nodeid, owner, |owner| (owner.style, owner.description.clone()));
        let (style, description) = match known {
            Some(known) => known,
            None if mode == Mode::Unlock => return Ok(()),
            None if range == Range::WHOLE && style() == Style::Whole => {
                (Style::Whole, self.handles.get(handle)?)
            }
            None => (Style::Record, self.description(&self.inode(nodeid)?, handle)?),
        };
        match style {
            Style::Whole => rustix::fs::flock(&description, whole(mode))?,
            Style::Record => lock::set(&description, mode, range).map_err(errno)?,
        }
        if mode == Mode::Unlock && range == Range::WHOLE {
            drop(self.locks.take(nodeid, |known| known.number == owner));
        } else if self.locks.find(nodeid, owner, |_| ()).is_none() {
            self.inode(nodeid)?.set_locked();
            self.locks.enter(nodeid, Owner { number: owner, style, handle, pid, description });
        }
        Ok(())
    }

    /// The lock that would be in the way of this one.
    ///
    /// # Errors
    /// The source's own.
    pub fn lock_in_the_way(&self, wanted: &Locking) -> Result<Option<Held>> {
        let &Locking { nodeid, handle, owner, mode, range, .. } = wanted;
        let known = self.locks.find(nodeid, owner, |owner| (owner.style, owner.description.clone()));
        let description = match known {
            Some((Style::Record, description)) => description,
            _ => self.description(&self.inode(nodeid)?, handle)?,
        };
        let held = lock::in_the_way(&description, mode, range).map_err(errno)?;
        // A lock that we hold for somebody in the mount tells no process: that one is known here.
        Ok(held.map(|held| Held { pid: held.pid.or_else(|| self.locks.other(nodeid, owner)), ..held }))
    }

    /// An owner closed a descriptor of the file: its record locks are over. Were there any?
    pub fn end_locks(&self, nodeid: u64, owner: u64) -> bool {
        let ends = |known: &Owner| known.number == owner && known.style == Style::Record;
        !self.locks.take(nodeid, ends).is_empty()
    }

    /// The handle is closed: what was locked through it is over. Was there anything?
    pub fn end_locks_of_handle(&self, nodeid: u64, handle: u64) -> bool {
        let gone = self.locks.take(nodeid, |known| known.handle == handle);
        for owner in gone.iter().filter(|owner| owner.style == Style::Whole) {
            // Closing the handle is not enough: the kernel may hold on to its description as a backing.
            if let Err(error) = rustix::fs::flock(&owner.description, whole(Mode::Unlock)) {
                log::warn!("a lock could not be given up: {error}");
            }
        }
        !gone.is_empty()
    }

    /// A new open file description of the file: for both kinds of lock where that is possible, else for the kind the
    /// handle allows.
    fn description(&self, inode: &Arc<Inode>, handle: u64) -> Result<Arc<OwnedFd>> {
        let open = |flags| {
            let flags = flags | OFlags::NONBLOCK;
            self.descriptors.open(&self.source, &self.inodes, inode, flags, How::MayBlock).map(Arc::new)
        };
        match open(OFlags::RDWR) {
            // A running program, a read-only source, or a file that we may not write ourselves.
            Err(Errno::TXTBSY | Errno::ROFS | Errno::ACCESS | Errno::PERM) => {
                let flags = rustix::fs::fcntl_getfl(&self.handles.get(handle)?)?;
                open(flags & OFlags::RWMODE)
            }
            other => other,
        }
    }
}

fn whole(mode: Mode) -> FlockOperation {
    match mode {
        Mode::Shared => FlockOperation::NonBlockingLockShared,
        Mode::Exclusive => FlockOperation::NonBlockingLockExclusive,
        Mode::Unlock => FlockOperation::NonBlockingUnlock,
    }
}
