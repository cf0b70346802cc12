//! What a step gave, in a form that two worlds can be compared by.
//!
//! What must stay true: only what has to be the same is in it: no inode numbers, and no times that the clock set.

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// What a step gave: words that describe the result, or the error.
pub(crate) type Outcome = Result<String, Errno>;

/// Times set by a step are before this (2004); those set by the clock are after it.
const RECENT: i64 = 1 << 30;

/// A time, or that the clock set it.
pub(crate) fn time(secs: i64, nanos: i64) -> String {
    if secs >= RECENT { "recent".into() } else { format!("{secs}+{nanos}") }
}

/// Everything about a file that has to be the same. The size and number of names of a directory are the file system's business,
/// but the same file system has the same opinion of both.
pub(crate) fn attributes(stat: &Stat) -> String {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (mode, size) = (stat.st_mode & 0o7777, stat.st_size);
    let (uid, gid, nlink) = (stat.st_uid, stat.st_gid, stat.st_nlink);
    let device = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    let mtime = time(stat.st_mtime, stat.st_mtime_nsec as i64);
    format!("{kind:?} {mode:o} {uid}:{gid} size {size} names {nlink} device {device:?} changed {mtime}")
}

/// Bytes: short ones as they are, long ones by length and checksum.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    if bytes.len() <= 16 {
        format!("{:?}", bytes.escape_ascii().to_string())
    } else {
        format!("{} bytes, checksum {:08x}", bytes.len(), crc32c::crc32c(bytes))
    }
}
