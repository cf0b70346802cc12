//! Our words in fuser's, and the other way round.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, Request, TimeOrNow};
use rustix::io::Errno;

use crate::mirror::attr::{Attr, Time};
use crate::mirror::{Requester, SetTime};

pub(crate) fn requester(request: &Request) -> Requester {
    Requester { tid: request.pid(), uid: request.uid(), gid: request.gid() }
}

pub(crate) fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

pub(crate) fn file_attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.blocks,
        atime: system_time(attr.atime),
        mtime: system_time(attr.mtime),
        ctime: system_time(attr.ctime),
        crtime: UNIX_EPOCH,
        kind: file_type(attr.kind()),
        perm: (attr.mode & 0o7777) as u16,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: pack_device(attr.rdev),
        blksize: attr.blksize,
        flags: 0,
    }
}

/// Attributes that say nothing but a type and a number: for an entry without its inode, and with
/// number 0 for a name that leads nowhere.
pub(crate) fn bare_attr(ino: u64, kind: rustix::fs::FileType) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: file_type(kind),
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

pub(crate) fn file_type(kind: rustix::fs::FileType) -> FileType {
    use rustix::fs::FileType as Kind;
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::RegularFile | Kind::Unknown => FileType::RegularFile,
    }
}

fn system_time(time: Time) -> SystemTime {
    let whole = if time.secs >= 0 {
        UNIX_EPOCH.checked_add(Duration::from_secs(time.secs.unsigned_abs()))
    } else {
        UNIX_EPOCH.checked_sub(Duration::from_secs(time.secs.unsigned_abs()))
    };
    whole.and_then(|t| t.checked_add(Duration::from_nanos(time.nanos.into()))).unwrap_or(UNIX_EPOCH)
}

pub(crate) fn set_time(time: TimeOrNow) -> SetTime {
    match time {
        TimeOrNow::Now => SetTime::Now,
        TimeOrNow::SpecificTime(time) => SetTime::At(mangled_time(time)),
    }
}

/// Undoes what fuser 0.18 does to a time before 1970: it takes the nanoseconds, which the kernel
/// counts forward from the second, as counted backward.
fn mangled_time(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Time { secs: after.as_secs() as i64, nanos: after.subsec_nanos() },
        Err(before) => {
            let before = before.duration();
            Time { secs: -(before.as_secs() as i64), nanos: before.subsec_nanos() }
        }
    }
}

/// The kernel's 32-bit form of a device number.
fn pack_device((major, minor): (u32, u32)) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Major and minor from the kernel's 32-bit form.
pub(crate) fn unpack_device(packed: u32) -> (u32, u32) {
    ((packed >> 8) & 0xfff, (packed & 0xff) | ((packed >> 12) & 0xf_ff00))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_survive_both_ways() {
        for (secs, nanos) in [(0, 0), (1, 5), (-1, 0), (-1, 250_000_000), (-86_400, 999_999_999)] {
            let time = Time { secs, nanos };
            let exact = system_time(time);
            // What the kernel would be told is what fuser computes from this, which is right.
            let floor = match exact.duration_since(UNIX_EPOCH) {
                Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
                Err(before) => {
                    let d = before.duration();
                    match d.subsec_nanos() {
                        0 => (-(d.as_secs() as i64), 0),
                        n => (-(d.as_secs() as i64) - 1, 1_000_000_000 - n),
                    }
                }
            };
            assert_eq!(floor, (secs, nanos));
            // fuser's own reading of (secs, nanos) from the kernel.
            let from_kernel = if secs >= 0 {
                UNIX_EPOCH + Duration::new(secs as u64, nanos)
            } else {
                UNIX_EPOCH - Duration::new(secs.unsigned_abs(), nanos)
            };
            assert_eq!(mangled_time(from_kernel), time);
        }
    }

    #[test]
    fn device_numbers_survive_packing() {
        for device in [(0, 0), (8, 1), (4095, 0xf_ffff), (259, 300)] {
            assert_eq!(unpack_device(pack_device(device)), device);
        }
    }
}
