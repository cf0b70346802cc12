//! The mirrored directory: reached by descriptors only, so that a mount over it hides nothing.
//!
//! What must stay true: no path from the root of the system is used after the start; symbolic links
//! of the source are never followed here; our own mount, met inside the source, is never entered.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::attr::{Key, device};
use super::{How, Result};
use crate::sys::filesystem;
use crate::sys::handle::FileHandle;

/// Everything the mirror tells of a file.
const WANTED: StatxFlags = StatxFlags::BASIC_STATS;

/// The directory of our own mountpoint, as it is below the mount.
#[derive(Debug)]
struct Covered {
    /// The device number of our own mount.
    dev: u64,
    below: Arc<OwnedFd>,
}

/// The source, opened before anything is mounted.
#[derive(Debug)]
pub(super) struct Source {
    root: Arc<OwnedFd>,
    root_key: Key,
    /// Number of the mount that the root is on; `None` when the kernel does not tell (before 5.8).
    mount: Option<u64>,
    /// A directory on each further device, for opening by handle, and when it was last used. Held for a
    /// moment only: it keeps that device's mount busy.
    devices: Mutex<HashMap<u64, (Arc<OwnedFd>, Instant)>>,
    handles: bool,
    /// Is it on a file system of this machine, which answers from memory without asking anybody?
    local: bool,
    /// Are its files made up at each reading?
    made_up: bool,
    /// Is it served by a program?
    in_user_space: bool,
    covered: OnceLock<Covered>,
}

impl Source {
    /// Takes the source from `root`, a readable directory descriptor.
    ///
    /// # Errors
    /// What statx gives.
    pub(super) fn new(root: Arc<OwnedFd>) -> Result<Self> {
        let stat = stat_fd(&root)?;
        let handles =
            FileHandle::of_fd(&root).and_then(|(handle, _)| handle.open(&root, OFlags::PATH)).is_ok();
        let local = filesystem::is_local(&root);
        let made_up = filesystem::is_made_up(&root);
        let in_user_space = filesystem::is_in_user_space(&root);
        Ok(Source {
            root_key: Key::of(&stat),
            mount: mount_of(&root),
            root,
            devices: Mutex::new(HashMap::new()),
            handles,
            local,
            made_up,
            in_user_space,
            covered: OnceLock::new(),
        })
    }

    /// The root directory.
    pub(super) fn root(&self) -> Arc<OwnedFd> {
        self.root.clone()
    }

    /// Identity of the root directory.
    pub(super) fn root_key(&self) -> Key {
        self.root_key
    }

    /// Is this on the mount of the root itself, which we keep busy in any case?
    pub(super) fn is_on_own_mount(&self, file: &OwnedFd) -> bool {
        self.mount.is_some() && mount_of(file) == self.mount
    }

    /// Can what is in memory on this device be had without waiting for anybody? A network file system
    /// may ask its server even for what it has.
    pub(super) fn answers_from_memory(&self, dev: u64) -> bool {
        self.local && dev == self.root_key.dev
    }

    /// Does the content of this file, on this device, come into being only when it is read?
    pub(super) fn is_made_up(&self, file: impl AsFd, dev: u64) -> bool {
        if dev == self.root_key.dev { self.made_up } else { filesystem::is_made_up(file) }
    }

    /// Does an offset in the directory `dir`, on this device, mean the same to every descriptor?
    pub(super) fn offsets_last(&self, dir: impl AsFd, dev: u64) -> bool {
        !if dev == self.root_key.dev { self.in_user_space } else { filesystem::is_in_user_space(dir) }
    }

    /// Says which device number our own mount got, and what its mountpoint is without it.
    pub(super) fn cover(&self, dev: u64, below: Arc<OwnedFd>) {
        // Once per mount; a second call would be a bug of the caller and changes nothing.
        let _ = self.covered.set(Covered { dev, below });
    }

    /// Opens `name` in `dir` as a mere location (`O_PATH`).
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block and the answer is not in memory; else open's own.
    pub(super) fn locate(&self, dir: impl AsFd, name: &OsStr, how: How) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match how {
            // Another mount may be our own or a dead network: not for the thread that must not block.
            How::InMemory => {
                let resolve = ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
                match rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve) {
                    // INVAL, NOSYS: a kernel before 5.12 cannot say what it has in memory.
                    Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS) => Err(Errno::AGAIN),
                    other => other,
                }
            }
            How::MayBlock => {
                let fd = rustix::fs::openat(dir, name, flags, Mode::empty())?;
                if self.is_own_mount(&fd)? {
                    let covered = self.covered.get().ok_or(Errno::IO)?;
                    return rustix::io::fcntl_dupfd_cloexec(&covered.below, 0);
                }
                Ok(fd)
            }
        }
    }

    /// Is `fd` inside our own mount? Asks the kernel's memory only, never the mount itself.
    fn is_own_mount(&self, fd: &OwnedFd) -> Result<bool> {
        let Some(covered) = self.covered.get() else { return Ok(false) };
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let stat = rustix::fs::statx(fd, c"", flags, StatxFlags::empty())?;
        Ok(device(stat.stx_dev_major, stat.stx_dev_minor) == covered.dev)
    }

    /// The lasting name of what `fd` refers to, where there is one.
    pub(super) fn handle_of(&self, fd: &OwnedFd, key: Key) -> Option<FileHandle> {
        if !self.handles || (key.dev != self.root_key.dev && !self.knows_device(fd, key.dev)) {
            return None;
        }
        FileHandle::of_fd(fd).ok().map(|(handle, _)| handle)
    }

    /// Is there a directory on this device to open handles by? Takes `fd` when it is one.
    pub(super) fn knows_device(&self, fd: &OwnedFd, dev: u64) -> bool {
        if let Some((_, used)) = self.devices.lock().get_mut(&dev) {
            *used = Instant::now();
            return true;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(fd, c".", flags, Mode::empty()) {
            Ok(dir) => {
                let _former = self.devices.lock().insert(dev, (Arc::new(dir), Instant::now()));
                true
            }
            Err(_) => false,
        }
    }

    /// Opens an inode by its lasting name.
    ///
    /// # Errors
    /// `ESTALE` when it has gone, or its device has; else open's own.
    pub(super) fn open_handle(&self, handle: &FileHandle, dev: u64, flags: OFlags) -> Result<OwnedFd> {
        let by = if dev == self.root_key.dev { self.root() } else { self.device(dev).ok_or(Errno::STALE)? };
        handle.open(by, flags).map_err(errno)
    }

    /// The directory held on a further device.
    fn device(&self, dev: u64) -> Option<Arc<OwnedFd>> {
        let mut devices = self.devices.lock();
        let (dir, used) = devices.get_mut(&dev)?;
        *used = Instant::now();
        Some(dir.clone())
    }

    /// Would opening by handle on this device fail for want of a directory there?
    pub(super) fn lacks_device(&self, dev: u64) -> bool {
        dev != self.root_key.dev && !self.devices.lock().contains_key(&dev)
    }

    /// Lets go of further devices that have not been used for `linger`. True when none is left.
    pub(super) fn sweep(&self, linger: Duration) -> bool {
        let mut devices = self.devices.lock();
        // Closed outside the lock.
        let _closed: Vec<_> = devices.extract_if(|_, (_, used)| used.elapsed() >= linger).collect();
        let none = devices.is_empty();
        drop(devices);
        none
    }
}

/// The kernel's own error number in a standard library error.
pub(super) fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// The number of the mount that a file was reached on. Asks the kernel's memory only.
fn mount_of(fd: &OwnedFd) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(fd, c"", flags, StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}

/// What stat tells of an open file.
///
/// # Errors
/// What statx gives.
pub(super) fn stat_fd(fd: impl AsFd) -> Result<Statx> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, WANTED)
}

/// A path that names what `fd` refers to, for calls that do not take an `O_PATH` descriptor.
pub(super) fn proc_path(fd: BorrowedFd<'_>) -> CString {
    use std::os::fd::AsRawFd;
    let text = format!("/proc/self/fd/{}", fd.as_raw_fd());
    CString::new(text).unwrap_or_default()
}

/// Opens anew, with other flags, what `fd` refers to.
///
/// # Errors
/// What open gives.
pub(super) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
    let flags = (flags | OFlags::CLOEXEC) - OFlags::NOFOLLOW;
    rustix::fs::open(proc_path(fd), flags, Mode::empty())
}

/// A name as the kernel sent it, for a system call.
///
/// # Errors
/// `EINVAL` for a name with a NUL in it.
pub(super) fn c_name(name: &OsStr) -> Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)
}
