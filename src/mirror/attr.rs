//! Attributes of a file of the source, as users of the mount see them.

use rustix::fs::{FileType, Statx, StatxTimestamp};

/// A point in time: seconds since 1970 (negative before) and nanoseconds from there forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds, rounded down.
    pub secs: i64,
    /// Nanoseconds, 0..1_000_000_000.
    pub nanos: u32,
}

impl From<StatxTimestamp> for Time {
    fn from(t: StatxTimestamp) -> Self {
        Time { secs: t.tv_sec, nanos: t.tv_nsec }
    }
}

/// The identity of an inode of the source: device number and inode number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Device, as the kernel packs major and minor.
    pub dev: u64,
    /// Inode number on that device.
    pub ino: u64,
}

impl Key {
    /// The key in a statx answer.
    pub fn of(s: &Statx) -> Key {
        Key { dev: device(s.stx_dev_major, s.stx_dev_minor), ino: s.stx_ino }
    }
}

/// A device number in one integer.
pub fn device(major: u32, minor: u32) -> u64 {
    u64::from(major) << 32 | u64::from(minor)
}

/// What stat tells of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// The inode number in the mount; the node id as well.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Allocated size in 512-byte units.
    pub blocks: u64,
    /// Last access.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of content or attributes.
    pub ctime: Time,
    /// Type and permission bits.
    pub mode: u32,
    /// Number of names.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node: major, minor.
    pub rdev: (u32, u32),
    /// Preferred size of an access, in bytes.
    pub blksize: u32,
}

impl Attr {
    /// The attributes in a statx answer, under the inode number `ino` of the mount.
    pub fn new(ino: u64, s: &Statx) -> Attr {
        Attr {
            ino,
            size: s.stx_size,
            blocks: s.stx_blocks,
            atime: s.stx_atime.into(),
            mtime: s.stx_mtime.into(),
            ctime: s.stx_ctime.into(),
            mode: u32::from(s.stx_mode),
            nlink: s.stx_nlink,
            uid: s.stx_uid,
            gid: s.stx_gid,
            rdev: (s.stx_rdev_major, s.stx_rdev_minor),
            blksize: s.stx_blksize,
        }
    }

    /// The type of the file.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

/// What changes when content or attributes do: if two versions are equal, so is the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub(super) size: u64,
    pub(super) mtime: Time,
    pub(super) ctime: Time,
}

impl Version {
    /// May content have changed between this version and `other` though nobody would think so who goes by size and
    /// modification time, as the kernel does? So when the latter was set back.
    pub fn hides(&self, other: &Version) -> bool {
        (self.size, self.mtime) == (other.size, other.mtime) && self.ctime != other.ctime
    }

    /// As numbers, for another process.
    pub(super) fn parts(&self) -> [i64; 5] {
        let Version { size, mtime, ctime } = *self;
        [size as i64, mtime.secs, mtime.nanos.into(), ctime.secs, ctime.nanos.into()]
    }

    /// The inverse of `parts`.
    pub(super) fn of_parts([size, mtime, mtime_nanos, ctime, ctime_nanos]: [i64; 5]) -> Self {
        let time = |secs, nanos| Time { secs, nanos: nanos as u32 };
        Version { size: size as u64, mtime: time(mtime, mtime_nanos), ctime: time(ctime, ctime_nanos) }
    }
}

impl From<&Attr> for Version {
    fn from(a: &Attr) -> Self {
        Version { size: a.size, mtime: a.mtime, ctime: a.ctime }
    }
}
