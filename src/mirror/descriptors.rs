//! From an inode to a descriptor: by its pin, by what was opened lately, by handle, by path.
//!
//! What must stay true: the number of descriptors held is bounded whatever the size of the tree;
//! regular files are held for a moment only, so that leases, unmounts and text-busy checks on the
//! source are not in anybody's way; a descriptor found by path is checked to be the same inode.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::attr::Key;
use super::debris::close_elsewhere;
use super::inodes::{Inode, Inodes, ROOT};
use super::source::{Source, reopen, stat_fd};
use super::{How, Result};
use crate::sys::handle::FileHandle;

/// Directories held open (as `O_PATH`); an eighth of the descriptor limit at most.
const DIRECTORIES: usize = 1024;

/// Regular files held (as `O_PATH`) because they were met lately.
const RECENT: usize = 1024;

/// Regular files held open for requests that come without a handle.
const FILES: usize = 64;

/// How long such a file stays open after its last use: long enough to serve a sequential read or
/// write with one open, short enough that nobody on the source notices.
const LINGER: Duration = Duration::from_millis(500);

/// A descriptor that is held, and the inode it is of: another file may get the number meanwhile.
#[derive(Debug)]
struct Held {
    fd: Arc<OwnedFd>,
    of: Weak<Inode>,
    used: Instant,
}

impl Held {
    fn new(fd: &Arc<OwnedFd>, of: &Arc<Inode>) -> Self {
        Held { fd: fd.clone(), of: Arc::downgrade(of), used: Instant::now() }
    }

    /// The descriptor, if it is of that very inode.
    fn of(&mut self, inode: &Arc<Inode>) -> Option<Arc<OwnedFd>> {
        self.used = Instant::now();
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(inode)).then(|| self.fd.clone())
    }
}

/// What a file was opened for: descriptors for reading and for writing are held apart, because the
/// latter are closed as soon as the last writer closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Reading.
    Read,
    /// Reading without leaving a trace in the access time.
    Peek,
    /// Writing at given places.
    Write,
    /// Writing at the end, wherever that is.
    Append,
}

impl Purpose {
    fn flags(self) -> OFlags {
        match self {
            Purpose::Read => OFlags::RDONLY,
            Purpose::Peek => OFlags::RDONLY | OFlags::NOATIME,
            Purpose::Write => OFlags::WRONLY,
            Purpose::Append => OFlags::WRONLY | OFlags::APPEND,
        }
    }
}

/// The descriptors held for a while.
#[derive(Debug)]
pub(super) struct Descriptors {
    directories: Mutex<LruCache<u64, Held>>,
    /// Those of them that keep a mount inside the source busy: they are held for a moment only.
    foreign: Mutex<HashMap<u64, Instant>>,
    files: Mutex<LruCache<(u64, Purpose), Held>>,
    /// Files of a watched source. One of them may be open in the mount without our having been told, and removed below:
    /// then nothing else leads to it. What nobody has open is let go of as soon as the kernel has heard of the removal.
    recent: Mutex<LruCache<u64, Held>>,
}

impl Descriptors {
    /// None held yet; `limit` is the process's limit on descriptors.
    pub(super) fn new(limit: u64) -> Self {
        let room =
            |most: usize| NonZeroUsize::new(most.min((limit / 8) as usize)).unwrap_or(NonZeroUsize::MIN);
        Descriptors {
            directories: Mutex::new(LruCache::new(room(DIRECTORIES))),
            foreign: Mutex::default(),
            files: Mutex::new(LruCache::new(room(FILES))),
            recent: Mutex::new(LruCache::new(room(RECENT))),
        }
    }

    /// A location descriptor (`O_PATH`) of `inode`.
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block and it is not at hand; `ESTALE` when the inode has gone.
    pub(super) fn location(
        &self,
        source: &Source,
        inodes: &Inodes,
        inode: &Arc<Inode>,
        how: How,
    ) -> Result<Arc<OwnedFd>> {
        if how == How::InMemory && !source.answers_from_memory(inode.key.dev) {
            return Err(Errno::AGAIN);
        }
        if inode.nodeid == ROOT {
            return Ok(source.root());
        }
        if let Some(pin) = inode.pin() {
            return Ok(pin);
        }
        let directory = inode.kind.is_dir();
        if let Some(fd) = if directory { self.directory(inode) } else { self.recent(inode) } {
            return Ok(fd);
        }
        let fd = Arc::new(match how {
            How::InMemory => self.by_path(source, inodes, inode, how)?,
            How::MayBlock => self.find(source, inodes, inode)?,
        });
        if directory {
            // What has to make room is closed here, outside the lock.
            let _closed = self.directories.lock().push(inode.nodeid, Held::new(&fd, inode));
            if inode.key.dev != source.root_key().dev {
                self.foreign.lock().insert(inode.nodeid, Instant::now());
            }
        }
        Ok(fd)
    }

    /// A directory that is held.
    fn directory(&self, inode: &Arc<Inode>) -> Option<Arc<OwnedFd>> {
        self.directories.lock().get_mut(&inode.nodeid)?.of(inode)
    }

    fn recent(&self, inode: &Arc<Inode>) -> Option<Arc<OwnedFd>> {
        self.recent.lock().get_mut(&inode.nodeid)?.of(inode)
    }

    /// Holds `fd`, a location of the regular file `inode`, until others have been met, or it is let go of.
    pub(super) fn remember(&self, inode: &Arc<Inode>, fd: OwnedFd) {
        let held = Held::new(&Arc::new(fd), inode);
        let pushed_out = self.recent.lock().push(inode.nodeid, held);
        // The kernel knows it still, so somebody has it open.
        if let Some((_, Held { fd, of, .. })) = pushed_out
            && stat_fd(&fd).is_ok_and(|stat| stat.stx_nlink == 0)
            && let Some(inode) = of.upgrade()
        {
            let _former = inode.set_pin(Some(fd));
        }
    }

    /// Everything that is held that way, by node id, the latest last.
    pub(super) fn remembered(&self) -> Vec<(u64, Arc<OwnedFd>)> {
        let recent = self.recent.lock();
        recent.iter().rev().map(|(&nodeid, held)| (nodeid, held.fd.clone())).collect()
    }

    /// Holds what another process held that way.
    pub(super) fn resume(&self, inode: &Arc<Inode>, fd: &Arc<OwnedFd>) {
        let _pushed_out = self.recent.lock().push(inode.nodeid, Held::new(fd, inode));
    }

    /// Ends that. What comes back has to be dropped where that may block.
    pub(super) fn let_go(&self, nodeid: u64) -> Option<impl Send + use<>> {
        self.recent.lock().pop(&nodeid)
    }

    /// By handle; by path where there is none or the source has lost track of it.
    fn find(&self, source: &Source, inodes: &Inodes, inode: &Arc<Inode>) -> Result<OwnedFd> {
        if let Some(handle) = inode.handle() {
            self.revive(source, inodes, inode);
            match source.open_handle(&handle, inode.key.dev, OFlags::PATH) {
                Err(Errno::STALE | Errno::PERM | Errno::OPNOTSUPP) => {}
                other => return other,
            }
        }
        self.by_path(source, inodes, inode, How::MayBlock)
    }

    /// Gets hold again of the device `inode` is on, if it was let go of: through the top of what is
    /// mounted there, which has a path even when `inode` was moved below.
    fn revive(&self, source: &Source, inodes: &Inodes, inode: &Inode) {
        let dev = inode.key.dev;
        if !source.lacks_device(dev) {
            return;
        }
        let mut top = None;
        let mut next = inodes.get(inode.nodeid);
        while let Some(at) = next.filter(|at| at.key.dev == dev) {
            next = inodes.get(at.place().parent);
            top = Some(at);
        }
        if let Some(top) = top.filter(|top| top.kind.is_dir())
            && let Ok(fd) = self.by_path(source, inodes, &top, How::MayBlock)
        {
            source.knows_device(&fd, dev);
        }
    }

    /// Through the directory it was last seen in, if it is still there.
    fn by_path(&self, source: &Source, inodes: &Inodes, inode: &Inode, how: How) -> Result<OwnedFd> {
        let place = inode.place();
        let parent = inodes.get(place.parent).ok_or(Errno::STALE)?;
        let dir = match how {
            // One step only: the directory itself has to be at hand.
            How::InMemory if parent.nodeid != ROOT => self.directory(&parent).ok_or(Errno::AGAIN)?,
            _ => self.location(source, inodes, &parent, how)?,
        };
        let name = std::os::unix::ffi::OsStrExt::from_bytes(&place.name);
        let fd = match source.locate(&dir, name, how) {
            Err(Errno::NOENT | Errno::NOTDIR) if how == How::MayBlock => return Err(Errno::STALE),
            Err(Errno::NOENT) => return Err(Errno::AGAIN),
            other => other?,
        };
        if is_it(&fd, inode)? {
            Ok(fd)
        } else {
            Err(if how == How::InMemory { Errno::AGAIN } else { Errno::STALE })
        }
    }

    /// Opens `inode` anew with `flags`, for a handle of its own. Access times are left alone only as far
    /// as we may: the kernel lets none but the owner and root do so.
    ///
    /// # Errors
    /// As [`Descriptors::location`], and open's own.
    pub(super) fn open(
        &self,
        source: &Source,
        inodes: &Inodes,
        inode: &Arc<Inode>,
        flags: OFlags,
        how: How,
    ) -> Result<OwnedFd> {
        match self.open_strictly(source, inodes, inode, flags, how) {
            Err(Errno::PERM) if flags.contains(OFlags::NOATIME) => {
                self.open_strictly(source, inodes, inode, flags - OFlags::NOATIME, how)
            }
            other => other,
        }
    }

    fn open_strictly(
        &self,
        source: &Source,
        inodes: &Inodes,
        inode: &Arc<Inode>,
        flags: OFlags,
        how: How,
    ) -> Result<OwnedFd> {
        if how == How::MayBlock
            && inode.pin().is_none()
            && self.recent(inode).is_none()
            && let Some(handle) = inode.handle()
        {
            self.revive(source, inodes, inode);
            match source.open_handle(&handle, inode.key.dev, flags) {
                Err(Errno::STALE | Errno::PERM | Errno::OPNOTSUPP) => {}
                other => return other,
            }
        }
        let at = self.location(source, inodes, inode, how)?;
        // A lease on the file would make open wait for its holder: not in a thread that must not.
        let flags = if how == How::InMemory { flags | OFlags::NONBLOCK } else { flags };
        reopen(at.as_fd(), flags)
    }

    /// A descriptor of `inode` for one request that came without a handle.
    ///
    /// # Errors
    /// As [`Descriptors::open`].
    pub(super) fn lend(
        &self,
        source: &Source,
        inodes: &Inodes,
        inode: &Arc<Inode>,
        purpose: Purpose,
        how: How,
    ) -> Result<Arc<OwnedFd>> {
        if how == How::InMemory && !source.answers_from_memory(inode.key.dev) {
            return Err(Errno::AGAIN);
        }
        let slot = (inode.nodeid, purpose);
        if let Some(fd) = self.files.lock().get_mut(&slot).and_then(|held| held.of(inode)) {
            return Ok(fd);
        }
        let fd = Arc::new(self.open(source, inodes, inode, purpose.flags(), how)?);
        let _closed = self.files.lock().push(slot, Held::new(&fd, inode));
        Ok(fd)
    }

    /// Ends the holding of what is held for writing to `nodeid`: its last writer has closed it. What comes back has to be
    /// dropped where that may block.
    pub(super) fn closed_after_write(&self, nodeid: u64) -> Vec<impl Send + use<>> {
        let mut files = self.files.lock();
        [Purpose::Write, Purpose::Append]
            .iter()
            .filter_map(|&purpose| files.pop(&(nodeid, purpose)))
            .collect()
    }

    /// Closes everything held for `nodeid`: its last name has gone. May block.
    pub(super) fn drop_all(&self, nodeid: u64) {
        drop(self.closed_after_write(nodeid));
        let _file = self.files.lock().pop(&(nodeid, Purpose::Read));
        let _peeked = self.files.lock().pop(&(nodeid, Purpose::Peek));
        let _directory = self.directories.lock().pop(&nodeid);
        let _recent = self.let_go(nodeid);
    }

    /// True when none is left.
    fn sweep_foreign(&self) -> bool {
        let mut foreign = self.foreign.lock();
        let old: Vec<_> = foreign.extract_if(|_, since| since.elapsed() >= LINGER).collect();
        let none = foreign.is_empty();
        drop(foreign);
        let mut directories = self.directories.lock();
        // Closing what was only a location cannot block.
        old.iter().for_each(|(nodeid, _)| drop(directories.pop(nodeid)));
        none
    }

    /// Closes regular files that have not been used for a moment, and what holds mounts inside the
    /// source; unless the source is `watched`, also what was met lately. True when nothing is left that a later sweep
    /// would close. Does not block: a source that hangs must not keep whoever calls this.
    pub(super) fn sweep(&self, source: &Source, watched: bool) -> bool {
        if !watched {
            let recent: Vec<_> = {
                let mut recent = self.recent.lock();
                std::iter::from_fn(|| recent.pop_lru()).collect()
            };
            close_elsewhere(recent);
        }
        let devices = source.sweep(LINGER);
        let foreign = self.sweep_foreign();
        let mut closed = Vec::new();
        let mut files = self.files.lock();
        while let Some((_, held)) = files.peek_lru() {
            if held.used.elapsed() < LINGER {
                break;
            }
            closed.extend(files.pop_lru());
        }
        let none = files.is_empty();
        drop(files);
        close_elsewhere(closed);
        none && devices && foreign
    }
}

/// Is this the file, and not one that was given its inode number? A fifo in its place would be waited for, a device opened.
fn is_it(fd: &OwnedFd, inode: &Inode) -> Result<bool> {
    let stat = stat_fd(fd)?;
    let same = Key::of(&stat) == inode.key && FileType::from_raw_mode(stat.stx_mode.into()) == inode.kind;
    Ok(same
        && inode.handle().is_none_or(|known| FileHandle::of_fd(fd).is_ok_and(|(found, _)| found == known)))
}

#[cfg(test)]
mod tests {
    use super::super::inodes::{Found, Place};
    use super::*;
    use rustix::fs::{CWD, Mode};

    fn at(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    /// The inode of the file at `fd`, remembered as of this kind and under this lasting name.
    fn remembered(fd: &OwnedFd, kind: FileType, handle: Option<FileHandle>) -> Arc<Inode> {
        let place = Place { parent: ROOT, name: (*b"name").into() };
        Inodes::new(Key { dev: 0, ino: 0 }, None).enter(Found {
            key: Key::of(&stat_fd(fd).unwrap()),
            kind,
            handle,
            place,
        })
    }

    #[test]
    fn another_file_under_the_same_number_is_not_it() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (file, fifo) = (dir.path().join("file"), dir.path().join("fifo"));
        std::fs::write(&file, "").unwrap();
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let (file, fifo) = (at(&file), at(&fifo));
        // On a source without lasting names, number and kind have to do.
        assert!(is_it(&file, &remembered(&file, FileType::RegularFile, None)).unwrap());
        assert!(
            !is_it(&fifo, &remembered(&fifo, FileType::RegularFile, None)).unwrap(),
            "it would be waited for"
        );
        assert!(!is_it(&fifo, &remembered(&file, FileType::RegularFile, None)).unwrap());
        let (own, _) = FileHandle::of_fd(&file).unwrap();
        assert!(is_it(&file, &remembered(&file, FileType::RegularFile, Some(own))).unwrap());
        // The number was used again: what was known by it had another lasting name.
        let former = FileHandle::from_parts(1, b"former");
        assert!(!is_it(&file, &remembered(&file, FileType::RegularFile, Some(former))).unwrap());
    }
}
