//! Descriptors somebody else opened for us, named by their numbers.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::io::FdFlags;

/// The number in a path of the form `/dev/fd/N`.
pub fn number(path: &Path) -> Option<RawFd> {
    path.to_str()?.strip_prefix("/dev/fd/")?.parse().ok().filter(|number| *number >= 0)
}

/// Takes over an open /dev/fuse that this process was started with. The number is free afterwards.
///
/// # Errors
/// `EBADF` when nothing is open under that number; `EINVAL` when it is something else.
pub fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    if served(number).is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: it is a mounted /dev/fuse, which nothing in this process opens before it adopts one: whoever started us
    // left it to us, and nobody here owns it.
    let given = unsafe { OwnedFd::from_raw_fd(number) };
    // Programs that we start must not keep it open.
    rustix::io::fcntl_setfd(&given, FdFlags::CLOEXEC)?;
    Ok(given)
}

/// Takes over the descriptor that this process was started with under that number, whatever it is of.
///
/// # Errors
/// `EBADF` when nothing is open under that number, or one of the three standard streams is meant.
pub fn inherit(number: RawFd) -> io::Result<OwnedFd> {
    if number <= 2 || fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_err() {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is open, and the caller says that whoever started this process left it to the caller.
    let given = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&given, FdFlags::CLOEXEC)?;
    Ok(given)
}

/// Puts what `with` refers to under `number`, which stays open and stays its owner's: every later use of the number
/// is a use of the new file. A call under way on the old one goes on with that.
///
/// # Errors
/// What dup3(2) gives.
pub fn replace(number: impl AsFd, with: impl AsFd) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: `number` is borrowed, hence open during the call, and is not closed here.
    let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number.as_fd().as_raw_fd()) });
    Ok(rustix::io::dup3(with, &mut place, rustix::io::DupFlags::CLOEXEC)?)
}

/// Device number of the file system that an open /dev/fuse serves, if it was mounted. The kernel says since 6.6.
pub fn served(number: RawFd) -> Option<(u32, u32)> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    connection(&info).map(|minor| (0, minor))
}

/// A connection has the number of the file system's anonymous device.
fn connection(info: &str) -> Option<u32> {
    info.lines().find_map(|line| line.strip_prefix("fuse_connection:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn numbers_are_read() {
        let read = |path: &str| number(Path::new(path));
        assert_eq!(
            (read("/dev/fd/7"), read("/dev/fd/x"), read("/dev/fd/-1"), read("/mnt")),
            (Some(7), None, None, None)
        );
    }

    #[test]
    fn only_a_mounted_device_is_adopted() {
        let (out, _into) = io::pipe().unwrap();
        assert!(adopt(out.as_raw_fd()).is_err() && adopt(RawFd::MAX).is_err());
    }

    #[test]
    fn a_number_gets_another_file_and_keeps_its_owner() {
        use std::io::{Read, Write};
        let ((mut first, _to_first), (second, mut to_second)) = (io::pipe().unwrap(), io::pipe().unwrap());
        replace(&first, &second).unwrap();
        drop(second);
        to_second.write_all(b"x").unwrap();
        drop(to_second);
        let mut said = String::new();
        first.read_to_string(&mut said).unwrap();
        assert_eq!(said, "x");
        assert!(inherit(0).is_err() && inherit(RawFd::MAX).is_err());
    }

    #[test]
    fn the_kernels_words_are_understood() {
        assert_eq!(connection("pos:\t0\nfuse_connection:\t39\n"), Some(39));
        assert_eq!(connection("pos:\t0\n"), None);
        assert_eq!(served(0), None, "standard input serves nothing");
    }
}
