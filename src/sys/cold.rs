//! Lets pages of a file look as if nobody had used them yet.
//!
//! What must stay true: no page is lost or read from the device by this; pages that somebody else maps are left as they are.

use std::io;
use std::os::fd::AsFd;

use rustix::mm::{Advice, madvise};

use super::cachestat::Map;

/// Of `len` bytes from `offset` (a multiple of the page size) of a regular file opened for reading, which are in memory: takes
/// back the mark that a read has left.
///
/// The kernel keeps pages that were used twice longer than those used once. Who reads a file ahead of its reader makes the
/// reader's first use look like the second, and one pass over many files drive out what is used all the time.
///
/// # Errors
/// Where the kernel cannot (before Linux 5.14), or the file cannot be mapped.
pub fn unmark(file: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    let map = Map::of(file.as_fd(), offset, len)?;
    // SAFETY: the mapping is ours alone and nothing is read or written through it; the first call makes its pages known to it
    // (an error where the file has become shorter, and no signal), the second only says that they are not needed.
    unsafe {
        madvise(map.address, map.len, Advice::LinuxPopulateRead)?;
        madvise(map.address, map.len, Advice::LinuxCold)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cachestat::{cached, page_size};
    use std::io::{Read, Seek, Write};

    #[test]
    fn pages_stay_in_memory_and_what_is_gone_is_an_error() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let len = 64 * page_size();
        file.write_all(&vec![7; len as usize]).unwrap();
        file.sync_all().unwrap();
        file.rewind().unwrap();
        file.read_to_end(&mut Vec::new()).unwrap();
        unmark(&file, 0, len).unwrap();
        unmark(&file, 0, 0).unwrap();
        assert!(cached(&file, 0, len).unwrap().all());
        file.set_len(page_size()).unwrap();
        assert!(unmark(&file, 0, len).is_err());
    }
}
