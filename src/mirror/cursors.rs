//! Descriptors of directories that are listed in several requests, where an offset means something only to the descriptor
//! that gave it.
//!
//! A file system of the kernel's own finds its place in a directory again from the offset alone. One in user space need not:
//! to many an offset is a place in the listing that was taken when this descriptor was first read, and a fresh descriptor that
//! is asked for it gives something else, or ends the program behind it (sshfs 3.7.3 with its cache of listings).
//!
//! What must stay true: an offset is taken up on a descriptor that gave it or has been read past it; whoever goes on has
//! the descriptor to himself; the number held is bounded, and what nobody comes back for is closed; nothing is closed
//! under the lock.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{RawDir, SeekFrom};

use super::Result;
use super::debris::close_elsewhere;
use super::directory::BUFFER;
use super::inodes::Inode;

/// Descriptors held, as many as there are open files held for requests without a handle.
const MOST: usize = 64;

/// Offsets remembered for each, the latest: 32 KiB. Who goes back further has the directory read from its start.
const GIVEN: usize = 4096;

/// A program that does something for each entry comes back later than one that only lists; what is lost by closing too early
/// is a second reading.
const PAUSE: Duration = Duration::from_secs(30);

/// The same, where the descriptor keeps a mount inside the source busy: as long as other descriptors that do.
const PAUSE_NESTED: Duration = Duration::from_millis(500);

/// A descriptor and what it gave.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub(super) fd: Arc<OwnedFd>,
    /// The latest offsets it gave, in the order it gave them.
    given: Vec<u64>,
}

impl Cursor {
    /// A descriptor that has not been read.
    pub(super) fn new(fd: OwnedFd) -> Self {
        Cursor { fd: Arc::new(fd), given: Vec::new() }
    }

    /// It has given these now.
    pub(super) fn gave(&mut self, offsets: &[u64]) {
        self.given.extend_from_slice(offsets);
        let over = self.given.len().saturating_sub(GIVEN);
        drop(self.given.drain(..over));
    }

    /// Puts a descriptor that has not been read to an offset that another one gave: reads until that offset is passed.
    /// The entry that had it may have gone meanwhile. Then all has been read, and the source is asked for the offset
    /// itself, as it would be by whoever has kept a descriptor open.
    ///
    /// # Errors
    /// The source's own.
    pub(super) fn walk_to(&self, offset: u64) -> Result<()> {
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut raw = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            if entry?.next_entry_cookie() == offset {
                break;
            }
        }
        self.seek(offset)
    }

    /// Puts it to an offset it gave.
    pub(super) fn seek(&self, offset: u64) -> Result<()> {
        rustix::fs::seek(&self.fd, SeekFrom::Start(offset)).map(drop)
    }
}

/// One that waits for the next request.
#[derive(Debug)]
struct Held {
    cursor: Cursor,
    of: Weak<Inode>,
    /// The thread it was read for.
    by: u32,
    until: Instant,
}

impl Held {
    fn leads(&self, dir: &Arc<Inode>, offset: u64) -> bool {
        // From the end: nearly always it is the last one given.
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(dir))
            && self.cursor.given.iter().rev().any(|&o| o == offset)
    }
}

/// Those that are held, the latest last.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    held: Mutex<Vec<Held>>,
}

impl Cursors {
    /// One of `dir` that gave `offset`, put there. The thread's own before others': two programs that list the same directory
    /// may see it as it was at different times.
    ///
    /// # Errors
    /// What lseek gives.
    pub(super) fn take(&self, dir: &Arc<Inode>, offset: u64, by: u32) -> Result<Option<Cursor>> {
        let found = {
            let mut held = self.held.lock();
            let own = held.iter().rposition(|h| h.by == by && h.leads(dir, offset));
            own.or_else(|| held.iter().rposition(|h| h.leads(dir, offset))).map(|at| held.remove(at))
        };
        let Some(Held { cursor, .. }) = found else { return Ok(None) };
        cursor.seek(offset)?;
        Ok(Some(cursor))
    }

    /// Holds one for the next request; `nested` when it is on a mount inside the source. May close another, which may block.
    pub(super) fn keep(&self, dir: &Arc<Inode>, cursor: Cursor, by: u32, nested: bool) {
        let until = Instant::now() + if nested { PAUSE_NESTED } else { PAUSE };
        let mut held = self.held.lock();
        let oldest = (held.len() >= MOST).then(|| held.remove(0));
        held.push(Held { cursor, of: Arc::downgrade(dir), by, until });
        drop(held);
        drop(oldest);
    }

    /// Closes those whose time is over. True when none is left. Does not block.
    pub(super) fn sweep(&self) -> bool {
        let now = Instant::now();
        let mut held = self.held.lock();
        let old: Vec<Held> = held.extract_if(.., |h| h.until <= now || h.of.strong_count() == 0).collect();
        let none = held.is_empty();
        drop(held);
        close_elsewhere(old);
        none
    }
}
