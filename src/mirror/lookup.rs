//! Names to inodes, inodes to the numbers they are learned by, and forgetting.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::attr::{Attr, Key};
use super::inodes::{Found, Inode, Place, ROOT};
use super::source::stat_fd;
use super::{Entry, How, Mirror, Requester, Result};
use crate::event::{Op, Residency};
use crate::id::FileId;
use crate::live::Want;

impl Mirror {
    /// Resolves `name` in the directory `parent` and counts one look-up for what it leads to.
    ///
    /// # Errors
    /// `ENOENT` when the name leads nowhere, `EAGAIN` when `how` forbids to block, else the source's.
    pub fn lookup(&self, who: Requester, parent: u64, name: &OsStr, how: How) -> Result<Entry> {
        if !is_component(name) {
            return Err(Errno::INVAL);
        }
        let dir = self.inode(parent)?;
        let at = self.location(&dir, how)?;
        let cold = how == How::MayBlock && self.is_cold(&at, name);
        let joined = if cold { self.join_name(who, &dir, name) } else { Residency::Hit };
        let turn =
            (joined == Residency::Miss && !self.live.is_own(who.tid)).then(|| self.live.foreground(false));
        let fd = self.source.locate(&at, name, how)?;
        drop(turn);
        let entry = self.enter(&dir, name, &fd)?;
        if cold && let Some(inode) = self.inodes.get(entry.attr.ino) {
            self.note(who, &inode, Op::Lookup, joined);
        }
        self.hold(&entry, fd);
        Ok(entry)
    }

    /// Holds a regular file that the kernel has just been told of, at `fd`. Only where every removal is told of: then
    /// it is not held for longer than somebody has it open.
    pub(super) fn hold(&self, entry: &Entry, fd: OwnedFd) {
        if self.watched.load(Ordering::Acquire)
            && entry.attr.kind().is_file()
            && self.source.is_on_own_mount(&fd)
            && let Some(inode) = self.inodes.get(entry.attr.ino)
        {
            self.descriptors.remember(&inode, fd);
        }
    }

    /// Would resolving this name wait for the device?
    fn is_cold(&self, at: &OwnedFd, name: &OsStr) -> bool {
        matches!(self.source.locate(at, name, How::InMemory), Err(Errno::AGAIN))
    }

    /// Enters what `fd` refers to, met as `name` in `dir`, and counts one look-up.
    pub(super) fn enter(&self, dir: &Inode, name: &OsStr, fd: &OwnedFd) -> Result<Entry> {
        let stat = stat_fd(fd)?;
        let key = Key::of(&stat);
        let found = Found {
            key,
            kind: FileType::from_raw_mode(u32::from(stat.stx_mode)),
            handle: self.source.handle_of(fd, key),
            place: Place { parent: dir.nodeid, name: name.as_bytes().into() },
        };
        let inode = self.inodes.enter(found);
        let attr = Attr::new(inode.nodeid, &stat);
        self.tell_hidden(&inode, &attr);
        Ok(Entry { attr, generation: inode.generation(), fresh: self.fresh_named(&inode, &attr) })
    }

    /// Takes `count` look-ups of `nodeid` back. What comes back has to be dropped where that may
    /// block: it may be the last hold on a file without names, whose blocks are freed then.
    pub fn forget(&self, nodeid: u64, count: u64) -> Option<impl Send + use<>> {
        let inode = self.inodes.forget(nodeid, count)?;
        let (pin, recent) = (inode.set_pin(None), self.descriptors.let_go(nodeid));
        (pin.is_some() || recent.is_some()).then_some((pin, recent))
    }

    /// Waits, bounded, for the prefetch of a name that is not resolved yet.
    fn join_name(&self, who: Requester, dir: &Inode, name: &OsStr) -> Residency {
        let file = self.file_id(dir).and_then(|dir| self.names.lock().find(dir, name.as_bytes()));
        file.map_or(Residency::Miss, |file| self.join_file(who, file, Want::Attributes))
    }

    /// The number under which accesses to `inode` are learned; given when there is none yet.
    pub(super) fn file_id(&self, inode: &Inode) -> Option<FileId> {
        inode.file().or_else(|| self.name_file(inode))
    }

    /// Interns the path of `inode`: upwards to the first directory that has a number, then down.
    fn name_file(&self, inode: &Inode) -> Option<FileId> {
        let mut above: Vec<(Arc<Inode>, Place)> = Vec::new();
        let first = inode.place();
        let mut parent = self.inodes.get(first.parent)?;
        while parent.file().is_none() && parent.nodeid != ROOT {
            let place = parent.place();
            let next = self.inodes.get(place.parent)?;
            above.push((parent, place));
            parent = next;
        }
        let mut names = self.names.lock();
        let mut file = parent.file()?;
        for (directory, place) in above.iter().rev() {
            file = named(names.intern(file, &place.name))?;
            directory.set_file(file);
        }
        file = named(names.intern(file, &first.name))?;
        inode.set_file(file);
        Some(file)
    }
}

/// Names that do not fit any more are answered with the root.
fn named(file: FileId) -> Option<FileId> {
    Some(file).filter(|&file| file != FileId::ROOT)
}

/// Is this a single name? The kernel sends no others; the source must not be left if one came.
fn is_component(name: &OsStr) -> bool {
    !matches!(name.as_bytes(), b"" | b"." | b"..") && !name.as_bytes().contains(&b'/')
}
