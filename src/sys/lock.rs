//! Record locks of an open file description (fcntl(2), `F_OFD_SETLK`): they belong to a descriptor and not to the process,
//! so that one process can hold locks for many others. They exclude, and are excluded by, all other record locks.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// What a lock allows others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Others may hold shared locks.
    Shared,
    /// Others may hold none.
    Exclusive,
    /// Not a lock: an end to those in the range.
    Unlock,
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
}

impl Range {
    /// The whole of any file.
    pub const WHOLE: Range = Range { start: 0, end: i64::MAX as u64 };

    /// As fcntl(2) has it: a length, 0 for "to the end".
    fn len(self) -> i64 {
        if self.end >= Range::WHOLE.end { 0 } else { (self.end - self.start + 1) as i64 }
    }
}

/// A lock in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its kind; never `Unlock`.
    pub mode: Mode,
    /// Its range.
    pub range: Range,
    /// The process that holds it; `None` when it belongs to an open file description.
    pub pid: Option<u32>,
}

/// Sets or ends locks of `file` without waiting.
///
/// # Errors
/// `EAGAIN` when another lock is in the way; `EBADF` when the descriptor is not open for what the lock is for.
pub fn set(file: impl AsFd, mode: Mode, range: Range) -> io::Result<()> {
    let mut lock = flock(mode, range);
    call(file, libc::F_OFD_SETLK, &mut lock)
}

/// The first lock that would be in the way of such a lock of `file`.
///
/// # Errors
/// As fcntl(2).
pub fn in_the_way(file: impl AsFd, mode: Mode, range: Range) -> io::Result<Option<Held>> {
    let mut lock = flock(mode, range);
    call(file, libc::F_OFD_GETLK, &mut lock)?;
    let mode = match i32::from(lock.l_type) {
        libc::F_RDLCK => Mode::Shared,
        libc::F_WRLCK => Mode::Exclusive,
        _ => return Ok(None),
    };
    let start = lock.l_start as u64;
    let end = if lock.l_len == 0 { Range::WHOLE.end } else { start + lock.l_len as u64 - 1 };
    Ok(Some(Held { mode, range: Range { start, end }, pid: u32::try_from(lock.l_pid).ok() }))
}

fn flock(mode: Mode, range: Range) -> libc::flock {
    let kind = match mode {
        Mode::Shared => libc::F_RDLCK,
        Mode::Exclusive => libc::F_WRLCK,
        Mode::Unlock => libc::F_UNLCK,
    };
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: range.start as i64,
        l_len: range.len(),
        // Has to be 0 for locks of descriptions.
        l_pid: 0,
    }
}

fn call(file: impl AsFd, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: `lock` is what these commands read and write, and outlives the call.
    let rc = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), command, &raw mut *lock) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn descriptions_exclude_each_other_and_tell_where() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(file.path()).unwrap();
        let (a, b) = (open(), open());
        let range = |start, end| Range { start, end };
        set(&a, Mode::Exclusive, range(10, 19)).unwrap();
        assert_eq!(set(&b, Mode::Shared, range(19, 30)).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        set(&b, Mode::Exclusive, range(20, Range::WHOLE.end)).unwrap();
        let held = in_the_way(&b, Mode::Shared, Range::WHOLE).unwrap().unwrap();
        assert_eq!(held, Held { mode: Mode::Exclusive, range: range(10, 19), pid: None });
        let held = in_the_way(&a, Mode::Shared, range(25, 26)).unwrap().unwrap();
        assert_eq!(held.range, range(20, Range::WHOLE.end));
        set(&a, Mode::Unlock, Range::WHOLE).unwrap();
        assert_eq!(in_the_way(&b, Mode::Exclusive, Range::WHOLE).unwrap(), None);
    }
}
