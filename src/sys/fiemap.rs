//! Where a file begins on its device.
//!
//! What must stay true: the answer only ever orders work, so not knowing (0) is always a good answer,
//! and asking must not force anything to be written or read.

use std::os::fd::{AsFd, AsRawFd};

/// `FS_IOC_FIEMAP` = `_IOWR('f', 11, struct fiemap)`, whose fixed part is 32 bytes.
const FS_IOC_FIEMAP: u64 = 0xC020_660B;
/// The extent's place is not known to the file system, or not settled yet.
const UNKNOWN: u32 = 0x0000_0002;
/// Data lies inside the inode or beside other files' tails.
const NOT_ALIGNED: u32 = 0x0000_0100;

/// The kernel's `struct fiemap` with room for one extent.
#[repr(C)]
#[derive(Default)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extent: Extent,
}

#[repr(C)]
#[derive(Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// The byte address on the device of the first extent of a regular file opened for reading; 0 when
/// it has none, or the file system does not say.
pub fn first_extent(file: impl AsFd) -> u64 {
    let mut request = Request { length: u64::MAX, extent_count: 1, ..Request::default() };
    // SAFETY: `request` has the kernel's layout, with room for as many extents as `extent_count`
    // says, and outlives the call.
    let rc = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut request) };
    let known = rc == 0 && request.mapped_extents == 1;
    if known && request.extent.flags & (UNKNOWN | NOT_ALIGNED) == 0 { request.extent.physical } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn two_files_lie_in_two_places_and_an_empty_one_nowhere() {
        let write = |bytes: &[u8]| {
            let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            file.write_all(bytes).unwrap();
            file.sync_all().unwrap();
            first_extent(&file)
        };
        assert_eq!(write(b""), 0);
        let (a, b) = (write(&[1; 65536]), write(&[2; 65536]));
        // Both 0 where the file system below does not tell.
        assert!(a == 0 && b == 0 || a != 0 && b != 0, "{a} {b}");
    }

    #[test]
    fn what_has_no_extents_is_at_zero() {
        assert_eq!(first_extent(std::fs::File::open("/dev/null").unwrap()), 0);
    }
}
