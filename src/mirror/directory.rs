//! Listings of directories.
//!
//! What must stay true: listing keeps no state between requests: the position is the source's own
//! cookie, so a listing goes on correctly while the directory changes.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags, RawDir, SeekFrom};

use super::attr::Key;
use super::inodes::{Inode, ROOT};
use super::{Entry, How, Mirror, Requester, Result};
use crate::event::{Op, Residency};
use crate::live::Want;

/// How much of a directory is read in one go.
const BUFFER: usize = 32 * 1024;

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
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let _first = RawDir::new(&listing.fd, &mut buffer).next();
        let cold = start.elapsed() > COLD;
        // Nothing has been handed out: back to where it began.
        rustix::fs::seek(&listing.fd, SeekFrom::Start(0))?;
        let residency = match (cold, joined) {
            (_, Residency::Partial) => Residency::Partial,
            (true, _) => Residency::Miss,
            (false, _) => Residency::Hit,
        };
        self.note(who, &listing.dir, Op::List, residency);
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
    /// `ENOENT` when the entry has gone since it was listed, else the source's.
    pub fn enter_listed(&self, listing: &Listing, name: &OsStr) -> Result<Entry> {
        let fd = match self.source.locate(&listing.at, name, How::InMemory) {
            Err(_) => self.source.locate(&listing.at, name, How::MayBlock)?,
            Ok(fd) => fd,
        };
        self.enter(&listing.dir, name, &fd)
    }
}
