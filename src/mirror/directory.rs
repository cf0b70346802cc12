//! Listings of directories.
//!
//! What must stay true: the position is the source's own cookie, so a listing goes on correctly while the directory
//! changes; nothing else is kept between requests, but for sources to which a cookie means something only together with the
//! descriptor that gave it: there that descriptor is (`cursors`).

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags, RawDir, RawDirEntry};
use rustix::io::Errno;

use super::attr::Key;
use super::cursors::Cursor;
use super::inodes::{Inode, ROOT};
use super::{Entry, How, Mirror, Requester, Result};
use crate::event::{Op, Residency};
use crate::live::{Listed, Want};

/// How much of a directory is read in one go.
pub(super) const BUFFER: usize = 32 * 1024;

/// Entries that a request reads ahead for the engine: one buffer full or two. Of larger directories a worker tells.
const TOLD_MAX: usize = 1024;

/// A listing that took this long has waited for the device: memory answers in a tenth of it.
const COLD: Duration = Duration::from_micros(500);

/// One entry.
#[derive(Clone, Debug)]
pub struct DirEntry {
    /// The name.
    pub name: OsString,
    /// The inode number users see.
    pub ino: u64,
    /// The type.
    pub kind: FileType,
    /// Where the listing goes on after this entry.
    pub next: u64,
}

/// A directory opened for one request.
#[derive(Debug)]
pub struct Listing {
    dir: Arc<Inode>,
    cursor: Cursor,
    at: Arc<OwnedFd>,
    /// The thread that asked, if the cursor has to be there when it goes on.
    keep_for: Option<u32>,
    /// At the start: what was read of it already.
    ahead: Option<Result<Ahead>>,
}

/// The beginning of a directory, with the source's inode numbers.
#[derive(Debug)]
struct Ahead {
    entries: Vec<DirEntry>,
    /// There are no more.
    all: bool,
}

impl DirEntry {
    /// As the source has it.
    fn of(entry: &RawDirEntry<'_>) -> Self {
        DirEntry {
            name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
            ino: entry.ino(),
            kind: entry.file_type(),
            next: entry.next_entry_cookie(),
        }
    }
}

impl Mirror {
    /// Opens a directory for listing from the position `from` (0 is the start).
    ///
    /// # Errors
    /// The source's own.
    pub fn list(&self, who: Requester, nodeid: u64, from: u64) -> Result<Listing> {
        let dir = self.inode(nodeid)?;
        let joined = self.join(who, &dir, Want::Attributes);
        let start = Instant::now();
        let at = self.location(&dir, How::MayBlock)?;
        let lasting = self.source.offsets_last(&at, dir.key.dev);
        let cursor = match from {
            0 => self.cursor(&dir)?,
            _ if lasting => {
                let cursor = self.cursor(&dir)?;
                cursor.seek(from)?;
                cursor
            }
            _ => self.taken_up(&dir, from, who.tid)?,
        };
        let keep_for = (!lasting).then_some(who.tid);
        let mut listing = Listing { dir, cursor, at, keep_for, ahead: None };
        if from == 0 {
            self.begin(who, &mut listing, joined, start);
        }
        Ok(listing)
    }

    /// A descriptor for listing, at the start.
    fn cursor(&self, dir: &Arc<Inode>) -> Result<Cursor> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.descriptors.open(&self.source, &self.inodes, dir, flags, How::MayBlock).map(Cursor::new)
    }

    /// One at an offset that only the descriptor that gave it need understand.
    fn taken_up(&self, dir: &Arc<Inode>, from: u64, tid: u32) -> Result<Cursor> {
        if let Some(cursor) = self.cursors.take(dir, from, tid)? {
            return Ok(cursor);
        }
        let cursor = self.cursor(dir)?;
        cursor.walk_to(from)?;
        Ok(cursor)
    }

    /// Reads the beginning of a listing, and says that it began and whether its first block had to come from the device.
    fn begin(&self, who: Requester, listing: &mut Listing, joined: Residency, start: Instant) {
        let tells = self.live.follows_walks() && !self.live.is_own(who.tid);
        let mut cold = false;
        let ahead = ahead(&listing.cursor.fd, tells, || cold = start.elapsed() > COLD);
        let residency = match (cold, joined) {
            (_, Residency::Partial) => Residency::Partial,
            (true, _) => Residency::Miss,
            (false, _) => Residency::Hit,
        };
        self.note(who, &listing.dir, Op::List, residency);
        if let (Ok(Ahead { entries, all: true }), Some(dir)) = (&ahead, self.file_id(&listing.dir)) {
            self.live.listed(dir, &told(entries));
        }
        listing.ahead = Some(ahead);
    }

    /// Hands entries to `take` until it says that it is full or there are no more.
    ///
    /// # Errors
    /// The source's own, when no entry was handed out before it.
    pub fn entries(&self, listing: &Listing, take: impl FnMut(DirEntry) -> bool) -> Result<()> {
        let given = match &listing.ahead {
            Some(Ok(ahead)) => self.hand_out(listing, ahead.entries.iter().cloned().map(Ok), take)?,
            Some(Err(error)) => return Err(*error),
            None => {
                let mut buffer = Vec::with_capacity(BUFFER);
                let mut raw = RawDir::new(&*listing.cursor.fd, buffer.spare_capacity_mut());
                let entries = std::iter::from_fn(|| raw.next().map(|entry| entry.map(|e| DirEntry::of(&e))));
                self.hand_out(listing, entries, take)?
            }
        };
        self.keep(listing, &given);
        Ok(())
    }

    /// Hands these to `take` as users see them. The positions that come back are those that were given.
    fn hand_out(
        &self,
        listing: &Listing,
        entries: impl Iterator<Item = Result<DirEntry>>,
        mut take: impl FnMut(DirEntry) -> bool,
    ) -> Result<Vec<u64>> {
        let mut given = Vec::new();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(_) if !given.is_empty() => break,
                Err(error) => return Err(error),
            };
            let (next, ino) = (entry.next, self.ino_of(&listing.dir, entry.name.as_bytes(), entry.ino));
            if take(DirEntry { ino, ..entry }) {
                break;
            }
            given.push(next);
        }
        Ok(given)
    }

    /// Keeps what a listing was read from for the next request; whoever was given nothing is at the end and will not come.
    fn keep(&self, listing: &Listing, given: &[u64]) {
        let Some(tid) = listing.keep_for.filter(|_| !given.is_empty()) else { return };
        let mut cursor = listing.cursor.clone();
        cursor.gave(given);
        let nested = listing.dir.key.dev != self.source.root_key().dev;
        self.cursors.keep(&listing.dir, cursor, tid, nested);
    }

    /// The inode number of an entry as users of the mount see it.
    fn ino_of(&self, dir: &Inode, name: &[u8], ino: u64) -> u64 {
        match name {
            b"." => self.visible(dir.nodeid),
            b".." => self.visible(dir.place().parent),
            _ => self.visible(self.inodes.nodeid(Key { dev: dir.key.dev, ino })),
        }
    }

    /// The inode number users see for a node id: the root shows the one it has in the source.
    pub fn visible(&self, nodeid: u64) -> u64 {
        if nodeid == ROOT { self.source.root_key().ino } else { nodeid }
    }

    /// The inode behind an entry, counted as one look-up.
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block; `ENOENT` when the entry has gone since it was listed, else the source's.
    pub fn enter_listed(&self, listing: &Listing, name: &OsStr, how: How) -> Result<Entry> {
        let fd = match self.source.locate(&listing.at, name, How::InMemory) {
            Err(_) if how == How::InMemory => return Err(Errno::AGAIN),
            Err(_) => self.source.locate(&listing.at, name, How::MayBlock)?,
            Ok(fd) => fd,
        };
        self.enter(&listing.dir, name, &fd)
    }

    /// Are the inodes of a listing's entries brought by others, if anybody wants them?
    pub fn follows_walks(&self) -> bool {
        self.live.follows_walks()
    }
}

/// The beginning of a directory: one buffer full, or `all` of it, if that is wanted and there are not too many for a
/// request. `started` is called when the first has come. A descriptor in user space need not be able to go back to its start:
/// what was read is handed out, not read again.
fn ahead(fd: &OwnedFd, all: bool, started: impl FnOnce()) -> Result<Ahead> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut raw = RawDir::new(fd, buffer.spare_capacity_mut());
    let first = raw.next().map(|entry| entry.map(|e| DirEntry::of(&e)));
    started();
    let Some(first) = first else { return Ok(Ahead { entries: Vec::new(), all: false }) };
    let mut entries = vec![first?];
    loop {
        if raw.is_buffer_empty() && !all || entries.len() > TOLD_MAX {
            return Ok(Ahead { entries, all: false });
        }
        match raw.next() {
            None => return Ok(Ahead { entries, all }),
            // Whoever goes on from here is told.
            Some(Err(_)) => return Ok(Ahead { entries, all: false }),
            Some(Ok(entry)) => entries.push(DirEntry::of(&entry)),
        }
    }
}

/// What the engine is told.
fn told(entries: &[DirEntry]) -> Vec<Listed> {
    let named = entries.iter().filter(|entry| !matches!(entry.name.as_bytes(), b"." | b".."));
    named
        .map(|entry| Listed {
            name: entry.name.as_bytes().to_vec(),
            inode: entry.ino,
            directory: entry.kind == FileType::Directory,
        })
        .collect()
}
