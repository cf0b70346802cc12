//! The mount's side: what a request of an application would have made the kernel know, done beforehand.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, openat2, statx};
use rustix::io::Errno;

use super::lower::{list, within, without_atime};

/// Makes the kernel know the name and its inode in the mount; of a directory, its entries too.
pub(super) fn know(mount: impl AsFd, path: &[u8], directory: bool) -> Result<(), Errno> {
    if directory {
        let flags = OFlags::RDONLY | OFlags::NOATIME | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let open = |flags| openat2(&mount, path, flags, Mode::empty(), within());
        return list(without_atime(flags, open)?);
    }
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(&mount, path, flags, StatxFlags::BASIC_STATS).map(drop)
}

/// Opens what is known to be a regular file in the source for reading.
pub(super) fn open(mount: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOATIME | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    without_atime(flags, |flags| openat2(&mount, path, flags, Mode::empty(), within()))
}

/// Makes the kernel know the attributes anew: reading has made it doubt the access time, and the next
/// stat of an application would have to ask.
pub(super) fn refresh(file: impl AsFd) -> Result<(), Errno> {
    statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map(drop)
}
