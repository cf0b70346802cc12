//! The kernel's switch of a FUSE connection: one file for each, in a file system of its own.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Where that file system is on most machines. Whoever mounted a FUSE file system may write to its switch there.
const USUAL_PLACE: &str = "/sys/fs/fuse/connections";

/// Cuts the connection of the FUSE file system with this device number: whoever waits for an answer gets an error, and so
/// does whoever asks later. To be called only while the file system is there: device numbers are used again.
///
/// # Errors
/// `EACCES` or `EPERM` where we may not, `ENOENT` where there is no such connection.
pub fn cut((major, minor): (u32, u32)) -> io::Result<()> {
    // As the kernel packs both numbers for the name.
    let name = format!("{}/abort", major << 20 | minor);
    if let Ok(mut switch) = OpenOptions::new().write(true).open(format!("{USUAL_PLACE}/{name}")) {
        return switch.write_all(b"1");
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let switch = rustix::fs::openat(switches()?, name, flags, Mode::empty())?;
    rustix::io::write(&switch, b"1")?;
    Ok(())
}

/// That file system, mounted for us alone and nowhere to be seen.
fn switches() -> io::Result<OwnedFd> {
    let new = fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&new)?;
    Ok(fsmount(&new, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_not_there_is_an_error() {
        assert_eq!(cut((0, 0xf_ffff)).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(switches().is_ok(), "this test needs root");
    }
}
