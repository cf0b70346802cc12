//! Making, linking, moving and removing names.
//!
//! What must stay true: what a user makes belongs to that user, under that user's umask; a file
//! whose last name goes while the kernel still knows it is kept alive until the kernel forgets it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::attr::{Key, Version};
use super::inodes::{Inode, Place};
use super::source::{proc_path, reopen, stat_fd};
use super::{Entry, How, Mirror, Opened, Requester, Result};
use crate::event::{Op, Residency};

/// Permission and set-id bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// A name about to go, of a file that the kernel knows. The file is kept alive beforehand: afterwards
/// nobody could find it any more.
struct Doomed {
    inode: Arc<Inode>,
    fd: Arc<OwnedFd>,
}

/// How a file is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Creation {
    /// Permission bits, before the umask.
    pub mode: u32,
    /// The maker's umask.
    pub umask: u32,
    /// Flags of open(2).
    pub flags: OFlags,
    /// Shall it have a handle? If not, nothing has to be released.
    pub keep: bool,
}

impl Mirror {
    /// Makes a file, device node, fifo or socket, as `mode` says. `rdev` is (major, minor).
    ///
    /// # Errors
    /// The source's own.
    pub fn mknod(
        &self,
        who: Requester,
        parent: u64,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: (u32, u32),
    ) -> Result<Entry> {
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let acting = who.act(umask)?;
        let permissions = Mode::from_raw_mode(mode & PERMISSIONS);
        let dev = rustix::fs::makedev(rdev.0, rdev.1);
        rustix::fs::mknodat(&at, name, FileType::from_raw_mode(mode), permissions, dev)?;
        drop(acting);
        self.entered(&dir, &at, name)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The source's own.
    pub fn mkdir(&self, who: Requester, parent: u64, name: &OsStr, mode: u32, umask: u32) -> Result<Entry> {
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let acting = who.act(umask)?;
        rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(mode & PERMISSIONS))?;
        drop(acting);
        self.entered(&dir, &at, name)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// The source's own.
    pub fn symlink(&self, who: Requester, parent: u64, name: &OsStr, target: &OsStr) -> Result<Entry> {
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let acting = who.act(0)?;
        rustix::fs::symlinkat(target, &at, name)?;
        drop(acting);
        self.entered(&dir, &at, name)
    }

    /// Makes and opens a file.
    ///
    /// # Errors
    /// The source's own.
    pub fn create(
        &self,
        who: Requester,
        parent: u64,
        name: &OsStr,
        new: Creation,
    ) -> Result<(Entry, Opened)> {
        let Creation { mode, umask, flags, keep } = new;
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let acting = who.act(umask)?;
        // If somebody made a fifo there meanwhile, opening it must not wait for its other end.
        let ours = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let flags = (flags - OFlags::DIRECT) | ours;
        let fd = rustix::fs::openat(&at, name, flags, Mode::from_raw_mode(mode & PERMISSIONS))?;
        drop(acting);
        let entry = self.enter(&dir, name, &fd)?;
        let inode = self.inode(entry.attr.ino)?;
        self.note(who, &inode, Op::Open, Residency::Hit);
        let fd = Arc::new(fd);
        let unchanged = inode.caches(Version::from(&entry.attr));
        // With a handle, that one keeps it.
        if !keep && let Ok(location) = reopen(fd.as_fd(), OFlags::PATH) {
            self.hold(&entry, location);
        }
        let handle = if keep { self.handles.enter(fd.clone()) } else { 0 };
        Ok((entry, Opened { handle, fd, unchanged, direct: self.own.is_some(), quiet_close: true }))
    }

    /// Gives the file `nodeid` one more name.
    ///
    /// # Errors
    /// The source's own.
    pub fn link(&self, nodeid: u64, parent: u64, name: &OsStr) -> Result<Entry> {
        let inode = self.inode(nodeid)?;
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let file = self.location(&inode, How::MayBlock)?;
        rustix::fs::linkat(rustix::fs::CWD, proc_path(file.as_fd()), &at, name, AtFlags::SYMLINK_FOLLOW)?;
        inode.changed_by_us();
        self.entered(&dir, &at, name)
    }

    /// Removes the name of a file that is not a directory.
    ///
    /// # Errors
    /// The source's own.
    pub fn unlink(&self, who: Requester, parent: u64, name: &OsStr) -> Result<()> {
        self.remove(who, parent, name, AtFlags::empty())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The source's own.
    pub fn rmdir(&self, who: Requester, parent: u64, name: &OsStr) -> Result<()> {
        self.remove(who, parent, name, AtFlags::REMOVEDIR)
    }

    fn remove(&self, who: Requester, parent: u64, name: &OsStr, flags: AtFlags) -> Result<()> {
        let dir = self.inode(parent)?;
        let at = self.location(&dir, How::MayBlock)?;
        let doomed = self.doomed(&at, name);
        let removed = rustix::fs::unlinkat(&at, name, flags);
        if let Some(doomed) = doomed {
            if removed.is_ok() {
                self.note(who, &doomed.inode, Op::Remove, Residency::Unknown);
            }
            doomed.settle(self);
        }
        removed?;
        let mut names = self.names.lock();
        if let Some(dir) = dir.file() {
            names.remove(dir, name.as_bytes());
        }
        Ok(())
    }

    /// Moves a name, or with `RenameFlags::EXCHANGE` swaps two.
    ///
    /// # Errors
    /// The source's own.
    pub fn rename(
        &self,
        who: Requester,
        (parent, name): (u64, &OsStr),
        (new_parent, new_name): (u64, &OsStr),
        flags: RenameFlags,
    ) -> Result<()> {
        let from = self.inode(parent)?;
        let to = self.inode(new_parent)?;
        let from_at = self.location(&from, How::MayBlock)?;
        let to_at = self.location(&to, How::MayBlock)?;
        let moved = self.known(&from_at, name);
        let replaced = self.doomed(&to_at, new_name);
        let renamed = rustix::fs::renameat_with(&from_at, name, &to_at, new_name, flags);
        if let Some(other) = &replaced {
            other.settle(self);
        }
        renamed?;
        let exchanged = flags.contains(RenameFlags::EXCHANGE);
        self.rename_learned((&from, name), (&to, new_name), exchanged);
        if let Some((inode, _)) = &moved {
            inode.moved(Place { parent: to.nodeid, name: new_name.as_bytes().into() });
        }
        match replaced {
            Some(other) if exchanged => {
                other.inode.moved(Place { parent: from.nodeid, name: name.as_bytes().into() });
            }
            // Renaming a file over another name of itself removes nothing.
            Some(other) if moved.as_ref().is_none_or(|(m, _)| m.nodeid != other.inode.nodeid) => {
                self.note(who, &other.inode, Op::Write, Residency::Unknown);
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells the learned names of a rename.
    fn rename_learned(&self, from: (&Inode, &OsStr), to: (&Inode, &OsStr), exchanged: bool) {
        let (Some(from_dir), Some(to_dir)) = (self.file_id(from.0), self.file_id(to.0)) else { return };
        let mut names = self.names.lock();
        let (from, to) = ((from_dir, from.1.as_bytes()), (to_dir, to.1.as_bytes()));
        if exchanged {
            names.exchange(from, to);
        } else {
            names.rename(from, to);
        }
    }

    /// What `name` leads to, entered and counted once.
    fn entered(&self, dir: &Inode, at: &OwnedFd, name: &OsStr) -> Result<Entry> {
        let fd = self.source.locate(at, name, How::MayBlock)?;
        let entry = self.enter(dir, name, &fd)?;
        self.hold(&entry, fd);
        Ok(entry)
    }

    /// The inode behind a name, if the kernel knows it.
    fn known(&self, at: &OwnedFd, name: &OsStr) -> Option<(Arc<Inode>, OwnedFd)> {
        let fd = self.source.locate(at, name, How::MayBlock).ok()?;
        let stat = stat_fd(&fd).ok()?;
        Some((self.inodes.by_key(Key::of(&stat))?, fd))
    }

    /// What a removal of `name` would take away, if the kernel knows it; held from here on.
    fn doomed(&self, at: &OwnedFd, name: &OsStr) -> Option<Doomed> {
        let (inode, fd) = self.known(at, name)?;
        let fd = Arc::new(fd);
        let _former = inode.set_pin(Some(fd.clone()));
        Some(Doomed { inode, fd })
    }
}

impl Doomed {
    /// The name may have gone: an inode without names stays reachable through its descriptor, any
    /// other does not need it.
    fn settle(&self, mirror: &Mirror) {
        self.inode.changed_by_us();
        let nameless = stat_fd(&self.fd).is_ok_and(|stat| stat.stx_nlink == 0);
        if nameless {
            mirror.descriptors.drop_all(self.inode.nodeid);
            mirror.changed_below(self.inode.nodeid);
        }
        let _former = self.inode.set_pin(nameless.then(|| self.fd.clone()));
    }
}

/// `ENOSYS` is how FUSE is told to never ask again; a source's own must not be mistaken for it.
pub(super) fn not_enosys(error: Errno) -> Errno {
    if error == Errno::NOSYS { Errno::OPNOTSUPP } else { error }
}
