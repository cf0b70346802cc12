//! Attributes, extended attributes, link targets, and figures of the whole file system.

use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, StatVfs, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
};

use super::attr::{Attr, Time, Version};
use super::entries::not_enosys;
use super::inodes::Inode;
use super::source::{c_name, proc_path, stat_fd};
use super::{Freshness, How, Mirror, Requester, Result, privileges};
use crate::event::{Op, Residency};
use rustix::io::Errno;

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The moment the source is told.
    Now,
    /// This one.
    At(Time),
}

/// What setattr is to change; `None` leaves a field alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Permission and set-id bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub atime: Option<SetTime>,
    /// Last change of content.
    pub mtime: Option<SetTime>,
    /// The open file to act on, 0 for none.
    pub handle: u64,
}

impl Change {
    fn is_empty(&self) -> bool {
        let Change { mode, uid, gid, size, atime, mtime, handle: _ } = self;
        [mode, uid, gid].into_iter().all(Option::is_none)
            && size.is_none()
            && atime.is_none()
            && mtime.is_none()
    }
}

/// Figures of the file system the source is on.
pub type Volume = StatVfs;

impl Mirror {
    /// The attributes of `nodeid`.
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block, `ESTALE` when it has gone, else the source's.
    pub fn getattr(&self, nodeid: u64, how: How) -> Result<(Attr, Freshness)> {
        let inode = self.inode(nodeid)?;
        let at = self.location(&inode, how)?;
        let attr = Attr::new(nodeid, &stat_fd(&at)?);
        self.tell_hidden(&inode, &attr);
        Ok((attr, self.fresh(&inode)))
    }

    /// Changes attributes; the new ones come back. A change of nothing is how the kernel says that the content is
    /// about to change: set-ID bits have to go.
    ///
    /// # Errors
    /// The source's own.
    pub fn setattr(&self, who: Requester, nodeid: u64, change: &Change) -> Result<(Attr, Freshness)> {
        let inode = self.inode(nodeid)?;
        let at = self.location(&inode, How::MayBlock)?;
        if change.is_empty() {
            privileges::strip_alone(who, &at)?;
        }
        if let Some(size) = change.size {
            self.changing(&inode, || self.truncate(&inode, size, change.handle))?;
            privileges::strip(who, &at)?;
            self.note(who, &inode, Op::Write, Residency::Unknown);
        }
        if change.uid.is_some() || change.gid.is_some() {
            let (uid, gid) = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
            privileges::strip(who, &at)?;
            rustix::fs::chownat(&at, c"", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = change.mode {
            rustix::fs::chmod(proc_path(at.as_fd()), Mode::from_raw_mode(mode & 0o7777))?;
        }
        if change.atime.is_some() || change.mtime.is_some() {
            let times =
                Timestamps { last_access: timespec(change.atime), last_modification: timespec(change.mtime) };
            rustix::fs::utimensat(&at, c"", &times, AtFlags::EMPTY_PATH)?;
        }
        let attr = Attr::new(nodeid, &stat_fd(&at)?);
        let _by_us = inode.tells(Version::from(&attr));
        Ok((attr, self.fresh(&inode)))
    }

    fn truncate(&self, inode: &Arc<Inode>, size: u64, handle: u64) -> Result<()> {
        if handle != 0
            && let Ok(file) = self.handles.get(handle)
        {
            return rustix::fs::ftruncate(&file, size);
        }
        // Closed at once: no report of a last writer's close will come for it.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        let file = self.descriptors.open(&self.source, &self.inodes, inode, flags, How::MayBlock)?;
        rustix::fs::ftruncate(&file, size)
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// The source's own.
    pub fn readlink(&self, nodeid: u64) -> Result<OsString> {
        let at = self.location(&self.inode(nodeid)?, How::MayBlock)?;
        let target = rustix::fs::readlinkat(&at, c"", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Figures of the file system that `nodeid` is on.
    ///
    /// # Errors
    /// The source's own.
    pub fn statfs(&self, nodeid: u64) -> Result<Volume> {
        let at = self.location(&self.inode(nodeid)?, How::MayBlock)?;
        rustix::fs::fstatvfs(&at)
    }

    /// The value of an extended attribute, or with `size` 0 its length only (as an empty value).
    ///
    /// # Errors
    /// `ENODATA` when there is none, `ERANGE` when it is longer than `size`, else the source's.
    pub fn getxattr(&self, nodeid: u64, name: &OsStr, size: u32) -> Result<Xattr> {
        let at = self.location(&self.inode(nodeid)?, How::MayBlock)?;
        let (path, name) = (proc_path(at.as_fd()), c_name(name)?);
        let refusal = |error| no_acl(&name, not_enosys(error));
        if size == 0 {
            let length = rustix::fs::getxattr_query(&path, &name).map_err(refusal)?;
            return Ok(Xattr::Length(length as u32));
        }
        let mut value = vec![0; size as usize];
        let length = rustix::fs::getxattr(&path, &name, &mut value[..]).map_err(refusal)?;
        value.truncate(length);
        Ok(Xattr::Bytes(value))
    }

    /// The names of the extended attributes, each ended by a NUL, or with `size` 0 their length.
    ///
    /// # Errors
    /// `ERANGE` when they are longer than `size`, else the source's.
    pub fn listxattr(&self, nodeid: u64, size: u32) -> Result<Xattr> {
        let at = self.location(&self.inode(nodeid)?, How::MayBlock)?;
        let path = proc_path(at.as_fd());
        if size == 0 {
            let length = rustix::fs::listxattr_query(&path).map_err(not_enosys)?;
            return Ok(Xattr::Length(length as u32));
        }
        let mut names = vec![0_u8; size as usize];
        let length = rustix::fs::listxattr(&path, &mut names[..]).map_err(not_enosys)?;
        names.truncate(length);
        Ok(Xattr::Bytes(names))
    }

    /// Sets an extended attribute; `flags` are those of setxattr(2).
    ///
    /// # Errors
    /// The source's own.
    pub fn setxattr(
        &self,
        who: Requester,
        nodeid: u64,
        name: &OsStr,
        value: &[u8],
        flags: u32,
    ) -> Result<()> {
        let inode = self.inode(nodeid)?;
        let at = self.location(&inode, How::MayBlock)?;
        let (path, name, flags) = (proc_path(at.as_fd()), c_name(name)?, XattrFlags::from_bits_retain(flags));
        // An ACL takes the set-group-ID bit away unless its setter is of the group: for the source to judge.
        let _acting = if is_acl(&name) { Some(who.act(0)?) } else { None };
        rustix::fs::setxattr(path, &name, value, flags).map_err(not_enosys)?;
        inode.changed_by_us();
        Ok(())
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// The source's own.
    pub fn removexattr(&self, nodeid: u64, name: &OsStr) -> Result<()> {
        let inode = self.inode(nodeid)?;
        let at = self.location(&inode, How::MayBlock)?;
        rustix::fs::removexattr(proc_path(at.as_fd()), c_name(name)?).map_err(not_enosys)?;
        inode.changed_by_us();
        Ok(())
    }

    /// Writes a directory's entries out to the device.
    ///
    /// # Errors
    /// The source's own.
    pub fn fsyncdir(&self, nodeid: u64, data_only: bool) -> Result<()> {
        let inode = self.inode(nodeid)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = self.descriptors.open(&self.source, &self.inodes, &inode, flags, How::MayBlock)?;
        if data_only { rustix::fs::fdatasync(&dir) } else { rustix::fs::fsync(&dir) }
    }
}

/// An answer about extended attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Xattr {
    /// How long it would be, in bytes.
    Length(u32),
    /// The bytes themselves.
    Bytes(Vec<u8>),
}

/// A source without ACLs has none on this file either: the kernel, which checks permissions, would
/// take "not supported" as a refusal of access.
fn no_acl(name: &CStr, error: Errno) -> Errno {
    if is_acl(name) && error == Errno::OPNOTSUPP { Errno::NODATA } else { error }
}

fn is_acl(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"system.posix_acl_")
}

fn timespec(time: Option<SetTime>) -> Timespec {
    match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(SetTime::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(SetTime::At(t)) => Timespec { tv_sec: t.secs, tv_nsec: i64::from(t.nanos) },
    }
}
