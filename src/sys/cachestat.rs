//! How much of a file is in the page cache.
//!
//! What must stay true: asking never reads from the device. cachestat(2) is asked first (Linux
//! 6.5); where it is missing or refused, a mapping and mincore(2) answer the same question.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::mm::{MapFlags, ProtFlags};

/// The call's number, common to all architectures that number new calls alike (all but
/// alpha and mips); libc does not name it everywhere.
const SYS_CACHESTAT: libc::c_long = 451;

/// Pages of a range that are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Pages in the page cache, those still being read included.
    pub pages: u64,
    /// Pages the range covers.
    pub of: u64,
}

impl Cached {
    /// Is every page there? True of an empty range.
    pub fn all(&self) -> bool {
        self.pages >= self.of
    }

    /// Is no page there? True of an empty range.
    pub fn none(&self) -> bool {
        self.pages == 0
    }
}

/// Counts the cached pages of `len` bytes from `offset` (a multiple of the page size) of a regular
/// file opened for reading. `len` must not reach past the end of the file.
///
/// # Errors
/// `EBADF` for an `O_PATH` descriptor, `EOPNOTSUPP` for files without a page cache of their own.
pub fn cached(file: impl AsFd, offset: u64, len: u64) -> io::Result<Cached> {
    let of = len.div_ceil(page_size());
    if of == 0 {
        return Ok(Cached::default());
    }
    match by_cachestat(file.as_fd(), offset, len) {
        // Not built in, not allowed by a sandbox, or neither owner nor writer of the file.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            by_mincore(file.as_fd(), offset, len).map(|pages| Cached { pages, of })
        }
        answer => answer.map(|pages| Cached { pages: pages.min(of), of }),
    }
}

/// Bytes in a page.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// More is not looked at by mincore, which needs a byte for each page: 256 KiB for this much.
const MINCORE_MOST: u64 = 1 << 30;

/// The kernel's `struct cachestat`: five counts of pages.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

#[repr(C)]
struct Range {
    offset: u64,
    len: u64,
}

fn by_cachestat(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<u64> {
    let range = Range { offset, len };
    let mut counts = Counts::default();
    // SAFETY: both pointers are to live structures of the kernel's layout; the flags must be 0.
    let rc = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut counts, 0) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(counts.cache) }
}

/// The kernel answers "all there" to a caller who neither owns nor may write the file: such a
/// caller learns nothing, and asks for nothing.
fn by_mincore(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<u64> {
    if len > MINCORE_MOST {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let map = Map::of(file, offset, len)?;
    let mut pages = vec![0_u8; len.div_ceil(page_size()) as usize];
    // SAFETY: the mapping covers `len` bytes and lives to the end of this function; `pages` has a
    // byte for each of its pages.
    let rc = unsafe { libc::mincore(map.address, map.len, pages.as_mut_ptr()) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(pages.iter().filter(|&&page| page & 1 == 1).count() as u64)
}

/// A shared read-only mapping whose bytes are never touched.
pub(super) struct Map {
    pub(super) address: *mut libc::c_void,
    pub(super) len: usize,
}

impl Map {
    pub(super) fn of(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<Map> {
        let len = usize::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        // SAFETY: a new mapping at an address of the kernel's choice cannot overlap anything of
        // ours, and nothing ever reads through it (a file cut short would raise SIGBUS).
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, offset)?
        };
        Ok(Map { address, len })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `Map::of` mapped, to which no reference exists. The only
        // failure is a wrong range, which it is not.
        let _ = unsafe { rustix::mm::munmap(self.address, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Advice, fadvise};
    use std::fs::File;
    use std::io::{Seek, Write};

    /// A file on a real disk (a tmpfs never gives up its pages), written back so that it can be dropped.
    fn file_of(pages: usize) -> File {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; pages * page_size() as usize]).unwrap();
        file.sync_all().unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn both_ways_count_what_was_read() {
        let file = file_of(64);
        let len = 64 * page_size();
        assert!(cached(&file, 0, len).unwrap().all());
        assert_eq!(by_mincore(file.as_fd(), 0, len).unwrap(), 64);

        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        assert!(cached(&file, 0, len).unwrap().none());
        assert_eq!(by_mincore(file.as_fd(), 0, len).unwrap(), 0);
    }

    #[test]
    fn an_empty_range_is_all_and_none() {
        let nothing = cached(file_of(1), 0, 0).unwrap();
        assert!(nothing.all() && nothing.none());
    }
}
