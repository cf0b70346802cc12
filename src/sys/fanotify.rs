//! fanotify: the kernel's reports of opens on a mount, and of changes on a file system.
//!
//! What must stay true: every descriptor the kernel hands over is owned at once, so that none can
//! leak and keep a mount busy; a record that is cut short or unknown is skipped, never guessed at.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use super::handle::FileHandle;

/// Length of `struct fanotify_event_metadata`, the fixed head of every event.
const HEAD: usize = 24;
/// Length of an information record's own head (type, padding, length) and the file system's id.
const INFO_HEAD: usize = 4 + 8;
/// Length of the head (length, type) of the `struct file_handle` that follows it.
const HANDLE_HEAD: usize = 8;
/// Room for 256 opens without information records, or some tens of changes with names.
const BUFFER: usize = 256 * HEAD;

/// A queue of reports. Reading never blocks: poll the descriptor first.
#[derive(Debug)]
pub struct Reports {
    queue: OwnedFd,
    buffer: Box<[u8; BUFFER]>,
}

impl AsFd for Reports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// Something was opened, or closed after writing.
#[derive(Debug)]
pub struct Opened {
    /// The file itself; `None` says that reports were lost: the queue overflowed, or this could not be opened.
    pub file: Option<OwnedFd>,
    /// The process (not the thread) that did it; 0 when it is outside our view.
    pub process: u32,
    /// It was opened.
    pub open: bool,
    /// It was opened to be executed.
    pub exec: bool,
    /// The last descriptor of an open for writing was closed.
    pub close_write: bool,
}

/// What happened to the object of a [`Change`]; several things at once when reports were merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct What {
    /// The name in the directory appeared, went, or means another file now.
    pub name: bool,
    /// The content of the file changed.
    pub data: bool,
    /// Its mode, owner, times, link count or extended attributes changed.
    pub attributes: bool,
    /// The inode itself is gone.
    pub gone: bool,
    /// The object is a directory.
    pub directory: bool,
}

/// A change on a watched file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Reports were lost: anything may have changed.
    Everything,
    /// One object changed.
    One {
        /// The directory concerned, where the kernel tells.
        dir: Option<FileHandle>,
        /// The name in it; `.` for the directory itself, empty when the kernel does not tell.
        name: Vec<u8>,
        /// The object itself, where the kernel tells (Linux 5.17).
        child: Option<FileHandle>,
        /// What happened.
        what: What,
    },
}

impl Reports {
    /// Opens, executions and closes after writing on the mount at `mountpoint`, directories included.
    /// Other mounts of the same file system, clones too, are not reported.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSYS` or `EINVAL` where the kernel cannot.
    pub fn of_opens(mountpoint: &Path) -> io::Result<Reports> {
        // The kernel opens each file for us with these flags: without blocking, for older kernels may report
        // a fifo (6.18 does not).
        let flags = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC | libc::O_NOATIME | libc::O_NONBLOCK;
        let reports = Reports::new(libc::FAN_CLASS_NOTIF, flags as u32)?;
        let mask = libc::FAN_OPEN | libc::FAN_OPEN_EXEC | libc::FAN_CLOSE_WRITE | libc::FAN_ONDIR;
        let path = CString::new(mountpoint.as_os_str().as_bytes())?;
        reports.mark(libc::FAN_MARK_ADD | libc::FAN_MARK_MOUNT, mask, libc::AT_FDCWD, Some(&path))?;
        Ok(reports)
    }

    /// Changes of names, contents and attributes on the whole file system that `file` (opened for
    /// reading, not `O_PATH`) lies on. Stores through a shared mapping are reported as one change of the
    /// content, when mapping and descriptor have gone.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `EOPNOTSUPP` or `EXDEV` where the file system has no handles or
    /// no single identity, `EINVAL` before Linux 5.9.
    pub fn of_changes(file: impl AsFd) -> io::Result<Reports> {
        let class = libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_DFID_NAME | libc::FAN_REPORT_FID;
        let reports = match Reports::new(class | libc::FAN_REPORT_TARGET_FID, 0) {
            // Before 5.17 the name has to do.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Reports::new(class, 0)?,
            answer => answer?,
        };
        reports.resume_changes(file)?;
        Ok(reports)
    }

    /// Collects changes again, on the file system of `file`.
    ///
    /// # Errors
    /// As [`Reports::of_changes`].
    pub fn resume_changes(&self, file: impl AsFd) -> io::Result<()> {
        let names = libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;
        let inodes = libc::FAN_MODIFY | libc::FAN_CLOSE_WRITE | libc::FAN_ATTRIB | libc::FAN_DELETE_SELF;
        let (scope, mask) = (libc::FAN_MARK_FILESYSTEM, names | inodes | libc::FAN_ONDIR);
        self.mark(libc::FAN_MARK_ADD | scope, mask, file.as_fd().as_raw_fd(), None)
    }

    /// Collects no further changes; those that wait can still be read.
    ///
    /// # Errors
    /// None that is known.
    pub fn pause_changes(&self) -> io::Result<()> {
        // Takes away whatever file system is marked: the kernel asks for no place.
        self.mark(libc::FAN_MARK_FLUSH | libc::FAN_MARK_FILESYSTEM, 0, libc::AT_FDCWD, None)
    }

    fn new(class: u32, event_flags: u32) -> io::Result<Reports> {
        let flags = class | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        // SAFETY: the call takes two numbers and returns a descriptor.
        let fd = unsafe { libc::fanotify_init(flags, event_flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a fresh descriptor that nobody else owns.
        let queue = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Reports { queue, buffer: Box::new([0; BUFFER]) })
    }

    fn mark(&self, flags: u32, mask: u64, at: i32, path: Option<&CString>) -> io::Result<()> {
        let path = path.map_or(std::ptr::null(), |path| path.as_ptr());
        // SAFETY: `path` is null or a string that ends with a NUL and outlives the call.
        let rc = unsafe { libc::fanotify_mark(self.queue.as_raw_fd(), flags, mask, at, path) };
        if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Appends the next batch of opens (up to 256) to `out`; nothing when the queue is empty.
    ///
    /// # Errors
    /// `EBADF`, `EFAULT`, `EINVAL`: the queue is of no use any more. Other errors of read(2) are those of
    /// one report, which is lost.
    pub fn read_opens(&mut self, out: &mut Vec<Opened>) -> io::Result<()> {
        let Some(len) = self.fill()? else {
            out.push(Opened { file: None, process: 0, open: false, exec: false, close_write: false });
            return Ok(());
        };
        for (head, _) in Events(&self.buffer[..len]) {
            let file = (head.fd >= 0).then(|| {
                // SAFETY: the kernel made this descriptor for this one report, and each report is
                // parsed once.
                unsafe { OwnedFd::from_raw_fd(head.fd) }
            });
            out.push(Opened {
                file,
                process: head.process,
                open: head.mask & libc::FAN_OPEN != 0,
                exec: head.mask & libc::FAN_OPEN_EXEC != 0,
                close_write: head.mask & libc::FAN_CLOSE_WRITE != 0,
            });
        }
        Ok(())
    }

    /// Appends the next batch of changes to `out`, those made by process `own` left out. Returns how many
    /// these were.
    ///
    /// # Errors
    /// As [`Reports::read_opens`].
    pub fn read_changes(&mut self, own: u32, out: &mut Vec<Change>) -> io::Result<usize> {
        let Some(len) = self.fill()? else {
            out.push(Change::Everything);
            return Ok(0);
        };
        let mut left_out = 0;
        for (head, records) in Events(&self.buffer[..len]) {
            if head.mask & libc::FAN_Q_OVERFLOW != 0 {
                out.push(Change::Everything);
            } else if head.process != own {
                out.push(change(head.mask, records));
            } else {
                left_out += 1;
            }
        }
        Ok(left_out)
    }

    /// How many bytes of reports came; `None` when one was lost on its way.
    fn fill(&mut self) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.queue, &mut self.buffer[..]) {
            Ok(len) => Ok(Some(len)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Some(0)),
            Err(error @ (Errno::BADF | Errno::FAULT | Errno::INVAL)) => Err(error.into()),
            // The kernel could not open the file of the first report (no descriptors, no memory, or the file
            // itself), has thrown it away, and goes on with the next.
            Err(error) => {
                log::debug!("a report was lost: {error}");
                Ok(None)
            }
        }
    }
}

struct Head {
    mask: u64,
    fd: i32,
    process: u32,
}

/// The events in a buffer, each with the bytes of its information records.
struct Events<'a>(&'a [u8]);

impl<'a> Iterator for Events<'a> {
    type Item = (Head, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let head = self.0.get(..HEAD)?;
        let len = u32_at(head, 0)? as usize;
        let fixed = u16::from_ne_bytes(head[6..8].try_into().ok()?) as usize;
        // Another layout than the one known (version 3): nothing behind it can be trusted.
        if head[4] != libc::FANOTIFY_METADATA_VERSION || fixed < HEAD || len < fixed {
            return None;
        }
        let records = self.0.get(fixed..len)?;
        self.0 = &self.0[len..];
        let mask = u64::from_ne_bytes(head[8..16].try_into().ok()?);
        Some((Head { mask, fd: u32_at(head, 16)? as i32, process: u32_at(head, 20)? }, records))
    }
}

fn change(mask: u64, mut records: &[u8]) -> Change {
    let (mut dir, mut name, mut child) = (None, Vec::new(), None);
    while let Some((kind, record)) = next_record(&mut records) {
        match kind {
            libc::FAN_EVENT_INFO_TYPE_DFID_NAME | libc::FAN_EVENT_INFO_TYPE_DFID => {
                if let Some((handle, rest)) = handle(record) {
                    dir = Some(handle);
                    name = rest.split(|&b| b == 0).next().unwrap_or_default().to_vec();
                }
            }
            libc::FAN_EVENT_INFO_TYPE_FID => child = handle(record).map(|(handle, _)| handle),
            _ => {}
        }
    }
    Change::One { dir, name, child, what: what(mask) }
}

fn what(mask: u64) -> What {
    let any = |bits| mask & bits != 0;
    What {
        name: any(libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO),
        // A close is all that is told of stores through a mapping.
        data: any(libc::FAN_MODIFY | libc::FAN_CLOSE_WRITE),
        attributes: any(libc::FAN_ATTRIB),
        gone: any(libc::FAN_DELETE_SELF),
        directory: any(libc::FAN_ONDIR),
    }
}

/// Takes the first record off: its type, and what follows its head and the file system's id.
fn next_record<'a>(records: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let kind = *records.first()?;
    let len = u16::from_ne_bytes(records.get(2..4)?.try_into().ok()?) as usize;
    let body = records.get(INFO_HEAD..len)?;
    *records = &records[len..];
    Some((kind, body))
}

/// The handle at the start of `bytes`, and what follows it.
fn handle(bytes: &[u8]) -> Option<(FileHandle, &[u8])> {
    let len = u32_at(bytes, 0)? as usize;
    let kind = u32_at(bytes, 4)? as i32;
    let body = bytes.get(HANDLE_HEAD..HANDLE_HEAD.checked_add(len)?)?;
    Some((FileHandle::from_parts(kind, body), &bytes[HANDLE_HEAD + len..]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(mask: u64, process: u32, records: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEAD + records.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend([libc::FANOTIFY_METADATA_VERSION, 0]);
        bytes.extend((HEAD as u16).to_ne_bytes());
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend(process.to_ne_bytes());
        bytes.extend(records);
        bytes
    }

    fn record(kind: u8, handle: &[u8], name: &[u8]) -> Vec<u8> {
        let len = (INFO_HEAD + HANDLE_HEAD + handle.len() + name.len()) as u16;
        let mut bytes = vec![kind, 0];
        bytes.extend(len.to_ne_bytes());
        bytes.extend([9; 8]);
        bytes.extend((handle.len() as u32).to_ne_bytes());
        bytes.extend(1_i32.to_ne_bytes());
        bytes.extend(handle);
        bytes.extend(name);
        bytes
    }

    #[test]
    fn records_name_the_directory_and_the_child() {
        let mut records = record(libc::FAN_EVENT_INFO_TYPE_DFID_NAME, b"dirdir", b"new\0\0");
        records.extend(record(libc::FAN_EVENT_INFO_TYPE_FID, b"child", b""));
        let bytes = event(libc::FAN_CREATE | libc::FAN_ONDIR, 5, &records);
        let (head, records) = Events(&bytes).next().unwrap();
        assert_eq!(head.process, 5);
        let expected = Change::One {
            dir: Some(FileHandle::from_parts(1, b"dirdir")),
            name: b"new".to_vec(),
            child: Some(FileHandle::from_parts(1, b"child")),
            what: What { name: true, directory: true, ..What::default() },
        };
        assert_eq!(change(head.mask, records), expected);
    }

    #[test]
    fn what_is_cut_short_ends_the_batch_quietly() {
        let records = record(libc::FAN_EVENT_INFO_TYPE_FID, b"child", b"");
        let whole = event(libc::FAN_MODIFY, 5, &records);
        for len in 0..whole.len() {
            assert!(Events(&whole[..len]).next().is_none(), "{len}");
        }
        let mut cut = &records[..records.len() - 1];
        assert_eq!(next_record(&mut cut), None);
        assert_eq!(handle(&[0xff; 12]), None);
    }
}
