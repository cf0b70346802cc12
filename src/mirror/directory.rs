//! Listings of directories.
//!
//! What must stay true: listing keeps no state between requests: the position is the source's own
//! cookie, so a listing goes on correctly while the directory changes.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags, RawDir, RawDirEntry, SeekFrom};
use rustix::io::Errno;

use super::attr::Key;
use super::inodes::{Inode, ROOT};
use super::{Entry, How, Mirror, Requester, Result};
use crate::event::{Op, Residency};
use crate::live::{Listed, Want};

/// How much of a directory is read in one go.
const BUFFER: usize = 32 * 1024;

/// Entries that a request reads once more for the engine: one buffer full or two. Of larger directories a worker tells.
const TOLD_MAX: usize = 1024;

/// A listing that took this long has waited for the device: memory answers in a tenth of it.
const COLD: Duration = Duration::from_micros(500);

/// One entry.
#[derive(Debug)]
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
    fd: OwnedFd,
    at: Arc<OwnedFd>,
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
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = self.descriptors.open(&self.source, &self.inodes, &dir, flags, How::MayBlock)?;
        if from != 0 {
            rustix::fs::seek(&fd, SeekFrom::Start(from))?;
        }
        let listing = Listing { dir, fd, at };
        if from == 0 {
            self.note_listing(who, &listing, joined, start)?;
        }
        Ok(listing)
    }

    /// Says that a listing began, and whether its first block had to come from the device.
    fn note_listing(
        &self,
        who: Requester,
        listing: &Listing,
        joined: Residency,
        start: Instant,
    ) -> Result<()> {
        let tells = self.live.follows_walks() && !self.live.is_own(who.tid);
        let mut buffer = Vec::with_capacity(if tells { BUFFER } else { 4096 });
        let mut raw = RawDir::new(&listing.fd, buffer.spare_capacity_mut());
        let first = raw.next().and_then(std::result::Result::ok).map(|entry| listed(&entry));
        let cold = start.elapsed() > COLD;
        let all = first.filter(|_| tells).and_then(|first| rest(first, raw));
        // Nothing has been handed out: back to where it began.
        rustix::fs::seek(&listing.fd, SeekFrom::Start(0))?;
        let residency = match (cold, joined) {
            (_, Residency::Partial) => Residency::Partial,
            (true, _) => Residency::Miss,
            (false, _) => Residency::Hit,
        };
        self.note(who, &listing.dir, Op::List, residency);
        if let (Some(all), Some(dir)) = (all, self.file_id(&listing.dir)) {
            self.live.listed(dir, &all);
        }
        Ok(())
    }

    /// Hands entries to `take` until it says that it is full or there are no more.
    ///
    /// # Errors
    /// The source's own, when no entry was handed out before it.
    pub fn entries(&self, listing: &Listing, mut take: impl FnMut(DirEntry) -> bool) -> Result<()> {
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut raw = RawDir::new(&listing.fd, buffer.spare_capacity_mut());
        let mut any = false;
        while let Some(entry) = raw.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(_) if any => break,
                Err(error) => return Err(error),
            };
            let name = entry.file_name().to_bytes();
            let full = take(DirEntry {
                ino: self.ino_of(&listing.dir, name, entry.ino()),
                name: OsString::from_vec(name.to_vec()),
                kind: entry.file_type(),
                next: entry.next_entry_cookie(),
            });
            if full {
                break;
            }
            any = true;
        }
        Ok(())
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

/// An entry, as the engine is told of it.
fn listed(entry: &RawDirEntry<'_>) -> Listed {
    let directory = entry.file_type() == FileType::Directory;
    Listed { name: entry.file_name().to_bytes().to_vec(), inode: entry.ino(), directory }
}

/// All entries of a directory, if they are not too many for a request to read them twice.
fn rest(first: Listed, mut raw: RawDir<'_, &OwnedFd>) -> Option<Vec<Listed>> {
    let mut all = vec![first];
    while let Some(entry) = raw.next() {
        all.push(listed(&entry.ok()?));
        if all.len() > TOLD_MAX {
            return None;
        }
    }
    all.retain(|one| !matches!(one.name.as_slice(), b"." | b".."));
    Some(all)
}
