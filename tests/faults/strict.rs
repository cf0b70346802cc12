//! A source whose offsets in a directory mean something only to the handle that gave them, as those of many file systems in
//! user space do: one directory of empty files, which can be listed, made and removed.
//!
//! What must stay true: a handle shows the directory as it was when it was opened; it refuses an offset it has not given, and
//! to be read from the start a second time; offsets are places in that list, so that another handle's lead elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    MountOption, OpenFlags, ReplyAttr, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyXattr,
    Request, Session, SessionACL,
};
use rustix::mount::UnmountFlags;

const NOTHING_CACHED: Duration = Duration::ZERO;
const ROOT: u64 = 1;

/// A directory that is open.
struct Open {
    list: Vec<(u64, String)>,
    /// As far as it has been read.
    given: u64,
    begun: bool,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, u64>,
    open: HashMap<u64, Open>,
    /// Grows with every change; the last number given.
    last: u64,
    refused: usize,
}

/// The mounted source.
pub(crate) struct Strict {
    point: PathBuf,
    shared: Shared,
    session: Option<BackgroundSession>,
}

impl Strict {
    /// Mounts one with these files.
    pub(crate) fn mount(point: &Path, names: impl IntoIterator<Item = String>) -> Self {
        let shared = Shared::default();
        names.into_iter().for_each(|name| shared.state().add(name));
        let mut config = fuser::Config::default();
        config.mount_options = vec![MountOption::FSName("strict".into())];
        config.acl = SessionACL::All;
        let session = Session::new(shared.clone(), point, &config).unwrap().spawn().unwrap();
        Strict { point: point.to_owned(), shared, session: Some(session) }
    }

    /// How often an offset was refused.
    pub(crate) fn refused(&self) -> usize {
        self.shared.state().refused
    }

    /// Directories that are open now.
    pub(crate) fn open(&self) -> usize {
        self.shared.state().open.len()
    }

    /// Makes a file behind everybody's back.
    pub(crate) fn put(&self, name: &str) {
        self.shared.state().add(name.into());
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        // Its thread ends with its last user. Dropping it would unmount by path once more.
        std::mem::forget(self.session.take());
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last + ROOT
    }

    fn add(&mut self, name: String) {
        let ino = self.number();
        self.files.insert(name, ino);
    }

    /// What follows after `offset` in an open directory.
    fn after(&mut self, handle: u64, offset: u64) -> Result<Vec<(u64, String)>, Errno> {
        let open = self.open.get_mut(&handle).ok_or(Errno::EBADF)?;
        let fresh = std::mem::replace(&mut open.begun, true);
        if (offset == 0 && fresh) || offset > open.given {
            self.refused += 1;
            return Err(Errno::EINVAL);
        }
        Ok(open.list[offset as usize..].to_vec())
    }
}

/// The file system as the kernel sees it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// Attributes; `changes` is how often the directory has changed, and its time.
fn attr(ino: u64, changes: u64) -> FileAttr {
    let changed = UNIX_EPOCH + Duration::from_secs(changes);
    let (kind, perm) =
        if ino == ROOT { (FileType::Directory, 0o777) } else { (FileType::RegularFile, 0o666) };
    FileAttr {
        ino: INodeNo(ino),
        size: 0,
        blocks: 0,
        atime: changed,
        mtime: changed,
        ctime: changed,
        crtime: changed,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Shared {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.state().files.get(name.to_str().unwrap()) {
            Some(&ino) => reply.entry(&NOTHING_CACHED, &attr(ino, 0), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&NOTHING_CACHED, &attr(ino.0, self.state().last));
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        state.last += 1;
        match state.files.remove(name.to_str().unwrap()) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        let handle = state.number();
        let list = state.files.iter().map(|(name, &ino)| (ino, name.clone())).collect();
        state.open.insert(handle, Open { list, given: 0, begun: false });
        reply.opened(FileHandle(handle), FopenFlags::empty());
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.state().open.remove(&handle.0);
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut state = self.state();
        let list = match state.after(handle.0, offset) {
            Ok(list) => list,
            Err(error) => return reply.error(error),
        };
        let mut next = offset;
        for (ino, name) in list {
            if reply.add(INodeNo(ino), next + 1, FileType::RegularFile, name) {
                break;
            }
            next += 1;
        }
        if let Some(open) = state.open.get_mut(&handle.0) {
            open.given = open.given.max(next);
        }
        reply.ok();
    }

    // The default answers are the same, but each logs a warning.
    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }
}
