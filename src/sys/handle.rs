//! File handles: the kernel's lasting names for inodes, which cost no descriptor.
//!
//! What must stay true: a handle is opaque. Its bytes are only ever compared, hashed, and handed
//! back to the kernel that made them, for the file system they came from.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{AtFlags, OFlags};

/// Longest handle the kernel makes, in bytes (`MAX_HANDLE_SZ` of the kernel's uapi).
const LONGEST: usize = 128;

/// Length and type, which stand before the bytes in the kernel's `struct file_handle`.
const HEADER: usize = 2 * size_of::<u32>();

/// The lasting name of an inode within its file system.
///
/// It survives renames and our own restart, and goes stale when the inode is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileHandle {
    kind: i32,
    bytes: Box<[u8]>,
}

impl FileHandle {
    /// A handle put together from the kernel's own type and bytes, as a fanotify record has them.
    pub fn from_parts(kind: i32, bytes: &[u8]) -> Self {
        FileHandle { kind, bytes: bytes.into() }
    }

    /// The kernel's own type and bytes.
    pub fn parts(&self) -> (i32, &[u8]) {
        (self.kind, &self.bytes)
    }

    /// The handle of `name` below `dir`, and the number of the mount it is on.
    ///
    /// `flags` may hold `AtFlags::EMPTY_PATH` (then an empty `name` means `dir` itself) and
    /// `AtFlags::SYMLINK_FOLLOW`; symbolic links are not followed otherwise.
    ///
    /// # Errors
    /// `EOPNOTSUPP` when the file system has no handles; else what the look-up itself gave.
    pub fn of(dir: impl AsFd, name: &CStr, flags: AtFlags) -> io::Result<(FileHandle, i32)> {
        let mut raw = Raw::empty();
        let mut mount = 0;
        // SAFETY: `name` ends with a NUL; `raw` has room for `LONGEST` bytes behind its header and
        // says so in `len`; both out-parameters outlive the call.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_name_to_handle_at,
                dir.as_fd().as_raw_fd(),
                name.as_ptr(),
                &raw mut raw,
                &raw mut mount,
                flags.bits(),
            )
        };
        if rc < 0 {
            return Err(io::Error::last_os_error());
        }
        let len = (raw.len as usize).min(LONGEST);
        Ok((FileHandle::from_parts(raw.kind, &raw.bytes[..len]), mount))
    }

    /// The handle of what `file` refers to (an `O_PATH` descriptor will do), and its mount number.
    ///
    /// # Errors
    /// As [`FileHandle::of`].
    pub fn of_fd(file: impl AsFd) -> io::Result<(FileHandle, i32)> {
        FileHandle::of(file, c"", AtFlags::EMPTY_PATH)
    }

    /// Opens the inode with `flags`, as part of the mount that `mount` (any descriptor on it, not
    /// `O_PATH` on kernels before 6.13) belongs to. The descriptor is closed on exec.
    ///
    /// # Errors
    /// `ESTALE` when the inode is gone, `EPERM` without `CAP_DAC_READ_SEARCH`, else what open gives.
    pub fn open(&self, mount: impl AsFd, flags: OFlags) -> io::Result<OwnedFd> {
        let mut raw = Raw::from(self)?;
        // SAFETY: `raw` is a complete handle whose `len` counts initialised bytes within the array.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_open_by_handle_at,
                mount.as_fd().as_raw_fd(),
                &raw mut raw,
                (flags | OFlags::CLOEXEC).bits(),
            )
        };
        if rc < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a fresh descriptor that nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(rc as i32) })
    }
}

/// The kernel's `struct file_handle` with room for the longest handle.
#[repr(C)]
struct Raw {
    len: u32,
    kind: i32,
    bytes: [u8; LONGEST],
}

const _: () = assert!(size_of::<Raw>() == HEADER + LONGEST);

impl Raw {
    fn empty() -> Self {
        Raw { len: LONGEST as u32, kind: 0, bytes: [0; LONGEST] }
    }

    fn from(handle: &FileHandle) -> io::Result<Self> {
        let mut raw = Raw::empty();
        let room = raw
            .bytes
            .get_mut(..handle.bytes.len())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        room.copy_from_slice(&handle.bytes);
        raw.len = handle.bytes.len() as u32;
        raw.kind = handle.kind;
        Ok(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Read;

    #[test]
    fn a_handle_finds_its_file_after_a_rename() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), b"content").unwrap();
        let at = File::open(dir.path()).unwrap();
        let (handle, mount) = FileHandle::of(&at, c"a", AtFlags::empty()).unwrap();
        fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();

        let opened = handle.open(&at, OFlags::RDONLY).unwrap();
        let mut text = String::new();
        File::from(opened).read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");

        let b = File::open(dir.path().join("b")).unwrap();
        assert_eq!(FileHandle::of_fd(&b).unwrap(), (handle, mount));
    }

    #[test]
    fn a_deleted_file_is_stale_and_a_long_handle_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), b"x").unwrap();
        let at = File::open(dir.path()).unwrap();
        let (handle, _) = FileHandle::of(&at, c"a", AtFlags::empty()).unwrap();
        fs::remove_file(dir.path().join("a")).unwrap();
        let error = handle.open(&at, OFlags::RDONLY).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESTALE));

        let long = FileHandle::from_parts(1, &[0; LONGEST + 1]);
        let error = long.open(&at, OFlags::RDONLY).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
