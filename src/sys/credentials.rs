//! Whose rights a process acts with on files, and whether they reach a file.
//!
//! What must stay true: what cannot be found out is an error, never a yes.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// The call's number, common to all architectures that number new calls alike; libc does not name it everywhere.
const SYS_FACCESSAT2: libc::c_long = 439;

/// A file-system user with groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// File-system user id.
    pub uid: u32,
    /// File-system group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl Credentials {
    /// Somebody who has nothing but what everybody has: the kernel's overflow user.
    pub const NOBODY: Credentials = Credentials { uid: 65_534, gid: 65_534, groups: Vec::new() };

    /// Those that a process (or thread) has now.
    ///
    /// # Errors
    /// `ENOENT` or `ESRCH` when it has gone, `InvalidData` when the page is not understood.
    pub fn of(process: u32) -> io::Result<Credentials> {
        // All of it: there may be thousands of groups.
        let page = fs::read(format!("/proc/{process}/status"))?;
        parse(&String::from_utf8_lossy(&page)).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// May everything be read?
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Is reading allowed by an owner, a group and a mode alone? For who cannot act as somebody else; access lists are not
    /// looked at.
    pub fn may_read(&self, owner: u32, group: u32, mode: u32) -> bool {
        let bit = match () {
            () if self.is_root() => return true,
            () if self.uid == owner => 0o400,
            () if self.gid == group || self.groups.contains(&group) => 0o040,
            () => 0o004,
        };
        mode & bit != 0
    }
}

/// May the calling thread, as whoever it acts for at this moment, read what `file` (any descriptor) refers to?
///
/// # Errors
/// `EACCES` when it may not, `ENOSYS` before Linux 5.8.
pub fn may_read(file: impl AsFd) -> Result<(), Errno> {
    let (empty, flags) = (c"".as_ptr(), libc::AT_EACCESS | libc::AT_EMPTY_PATH);
    // SAFETY: the name is a string that lives as long as the program; nothing is written to memory.
    let rc = unsafe { libc::syscall(SYS_FACCESSAT2, file.as_fd().as_raw_fd(), empty, libc::R_OK, flags) };
    match rc {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::ACCESS)),
    }
}

fn parse(status: &str) -> Option<Credentials> {
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
    // Real, effective, saved, of the file system.
    let last = |line: &str| line.split_ascii_whitespace().nth(3)?.parse().ok();
    let groups = field("Groups:")?.split_ascii_whitespace();
    Some(Credentials {
        uid: last(field("Uid:")?)?,
        gid: last(field("Gid:")?)?,
        groups: groups.map(|group| group.parse().ok()).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::thread::Impersonation;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_last_ids_are_those_of_the_file_system() {
        let page = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nNgid:\t0\n";
        assert_eq!(parse(page), Some(Credentials { uid: 4, gid: 8, groups: vec![9, 10] }));
        for damaged in
            ["", "Uid:\t1\t2\t3\nGid:\t5\t6\t7\t8\nGroups:\t\n", "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n"]
        {
            assert_eq!(parse(damaged), None);
        }
        assert_eq!(Credentials::of(std::process::id()).unwrap().uid, rustix::process::geteuid().as_raw());
    }

    #[test]
    fn the_first_class_that_fits_decides() {
        let user = Credentials { uid: 5, gid: 6, groups: vec![7] };
        for (owner, group, mode, may) in [
            (5, 6, 0o400, true),
            (5, 6, 0o044, false),
            (1, 6, 0o040, true),
            (1, 7, 0o404, false),
            (1, 1, 0o004, true),
            (1, 1, 0o660, false),
        ] {
            assert_eq!(user.may_read(owner, group, mode), may, "{owner} {group} {mode:o}");
        }
        assert!(Credentials { uid: 0, ..user }.may_read(1, 1, 0));
    }

    #[test]
    fn the_kernel_says_no_to_who_is_acted_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        let handle =
            rustix::fs::open(file.path(), rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        assert_eq!(may_read(&handle), Ok(()));
        std::thread::spawn(move || {
            let _acting = Impersonation::begin(60_001, 60_001, &[]).unwrap();
            assert_eq!(may_read(&handle), Err(Errno::ACCESS));
        })
        .join()
        .unwrap();
    }
}
