//! Numbers of files that a FUSE connection takes data from directly, when they come from another process.
//!
//! What must stay true: a number belongs to the connection, not to the process that asked for it; it is open until it
//! is closed, or until the connection ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `FUSE_DEV_IOC_BACKING_CLOSE` of the kernel's uapi: `_IOW(229, 2, uint32_t)`.
const CLOSE: libc::c_ulong = 1 << 30 | 4 << 16 | 229 << 8 | 2;

/// Closes the number `id` of the connection behind `device`, an open /dev/fuse.
///
/// # Errors
/// `ENOENT` when the connection has no such number, `ENOTTY` when `device` is something else.
pub fn close(device: impl AsFd, id: u32) -> io::Result<()> {
    // SAFETY: the request reads the four bytes it is pointed to, which outlive the call.
    match unsafe { libc::ioctl(device.as_fd().as_raw_fd(), CLOSE as _, &raw const id) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the FUSE library's own object of a number, by its constructor, which is not safe as such.
pub fn wrap<R, B>(reply: &R, id: u32, constructor: unsafe fn(&R, u32) -> B) -> B {
    // SAFETY: the library asks for a number that is open on this connection and not closed while the object lives. Nothing
    // but the kernel's table of numbers depends on it, which checks them: a wrong one is an error of the open it is used for.
    unsafe { constructor(reply, id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_has_numbers() {
        let (out, _into) = io::pipe().unwrap();
        assert_eq!(close(&out, 1).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
