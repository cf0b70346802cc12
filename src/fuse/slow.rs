//! A small read-only file system in memory that is slow on purpose: the demonstration's stand-in for
//! a far-away disk, and a source for tests.
//!
//! What must stay true: a request that reaches it takes one latency, however many are under way up
//! to `WIDTH`; nothing else costs time. What the kernel keeps in its caches never reaches it, so
//! whoever wants it cold mounts it afresh.

mod delay;
mod tree;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyXattr, Request, Session, SessionACL,
};
use rustix::io::Errno as SysErrno;
use rustix::mount::UnmountFlags;

use self::delay::DelayLine;
use self::tree::{Kind, Tree};

/// Requests served at the same time; more have to wait for one of these to end.
const WIDTH: u16 = 64;

/// How long the kernel may keep names and attributes: longer than any demonstration, since nothing
/// here ever changes.
const TTL: Duration = Duration::from_secs(24 * 3600);

/// A tree of text files in memory: the same seed and sizes give the same tree, byte for byte.
#[derive(Clone, Debug)]
pub struct SlowTree {
    tree: Arc<Tree>,
}

impl SlowTree {
    /// A tree of `files` text files, `bytes` bytes in all (never less than one short line a file),
    /// in directories of two dozen.
    pub fn generate(seed: u64, files: usize, bytes: usize) -> SlowTree {
        SlowTree { tree: Arc::new(Tree::generate(seed, files, bytes)) }
    }

    /// How many regular files there are.
    pub fn files(&self) -> usize {
        self.tree.files().count()
    }

    /// The size of all regular files together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.tree.files().map(|content| content.len() as u64).sum()
    }

    /// Serves the tree, read-only, at `mountpoint`: every lookup, directory read and read that
    /// reaches it takes `latency`.
    ///
    /// Works as root, and as a user where `fusermount3` is installed.
    ///
    /// # Errors
    /// Whatever mounting says: no /dev/fuse, no permission, no such directory.
    pub fn mount(&self, mountpoint: &Path, latency: Duration) -> io::Result<SlowMount> {
        let requests = Arc::new(AtomicU64::new(0));
        let served = Served {
            tree: Arc::clone(&self.tree),
            delay: DelayLine::start(latency, usize::from(WIDTH))?,
            requests: Arc::clone(&requests),
        };
        let session = Session::new(served, mountpoint, &mount_config())?.spawn()?;
        Ok(SlowMount { mountpoint: mountpoint.to_owned(), requests, session: Some(session) })
    }
}

fn mount_config() -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("augurfs-slow".into()),
        MountOption::Subtype("augurfs-slow".into()),
        MountOption::RO,
        MountOption::DefaultPermissions,
    ];
    // Only root may let others in without /etc/fuse.conf agreeing.
    config.acl = if rustix::process::geteuid().is_root() { SessionACL::All } else { SessionACL::Owner };
    config
}

/// A mounted slow tree; dropping it unmounts, lazily where a process still uses it.
#[derive(Debug)]
pub struct SlowMount {
    mountpoint: PathBuf,
    requests: Arc<AtomicU64>,
    session: Option<BackgroundSession>,
}

impl SlowMount {
    /// Requests that took a latency so far: lookups, directory reads and reads.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Where it is mounted.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }
}

impl Drop for SlowMount {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        match unmount(&self.mountpoint) {
            Ok(Unmounted::Gone) => {
                if let Err(error) = session.join() {
                    log::debug!("slow source at {}: {error}", self.mountpoint.display());
                }
            }
            // Its last user ends it. Dropping the session would unmount by path once more, and by
            // then something else may be mounted there.
            Ok(Unmounted::Detached) => std::mem::forget(session),
            Err(error) => log::warn!("cannot unmount {}: {error}", self.mountpoint.display()),
        }
    }
}

enum Unmounted {
    Gone,
    Detached,
}

fn unmount(mountpoint: &Path) -> io::Result<Unmounted> {
    match rustix::mount::unmount(mountpoint, UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(Unmounted::Gone),
        Err(SysErrno::BUSY) => {
            rustix::mount::unmount(mountpoint, UnmountFlags::DETACH)?;
            Ok(Unmounted::Detached)
        }
        Err(SysErrno::PERM) => unmount_as_user(mountpoint),
        // Somebody else has unmounted it: the session has ended or will.
        Err(SysErrno::INVAL) => Ok(Unmounted::Detached),
        Err(error) => Err(error.into()),
    }
}

/// Only the set-user-ID program may unmount for a user; it is always asked to detach, because it
/// does not say why it refused.
fn unmount_as_user(mountpoint: &Path) -> io::Result<Unmounted> {
    let status = Command::new("fusermount3").args(["-u", "-q", "-z", "--"]).arg(mountpoint).status()?;
    if status.success() {
        Ok(Unmounted::Detached)
    } else {
        Err(io::Error::other(format!("fusermount3 -u: {status}")))
    }
}

/// The file system as the kernel sees it. Inode numbers are node indices plus one.
struct Served {
    tree: Arc<Tree>,
    delay: DelayLine,
    requests: Arc<AtomicU64>,
}

impl Served {
    fn after_latency(&self, answer: impl FnOnce(&Tree) + Send + 'static) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let tree = Arc::clone(&self.tree);
        self.delay.run_later(Box::new(move || answer(&tree)));
    }
}

fn index(ino: INodeNo) -> usize {
    // The kernel only hands back numbers that `attributes` gave it, and those are small.
    (ino.0 as usize).wrapping_sub(1)
}

fn attributes(tree: &Tree, index: usize) -> Option<FileAttr> {
    let node = tree.node(index)?;
    let (kind, perm, size, nlink) = match &node.kind {
        Kind::Directory(entries) => (FileType::Directory, 0o555, entries.len() as u64, 2),
        Kind::File(content) => (FileType::RegularFile, 0o444, content.len() as u64, 1),
    };
    Some(FileAttr {
        ino: INodeNo(index as u64 + 1),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    })
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel sends look-ups in one directory one after the other.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        // The kernel's own limit on read-ahead in flight, 12, would hide the width.
        let refused = config.set_max_background(2 * WIDTH).is_err();
        if refused { Err(io::Error::other("the kernel refuses the queue length")) } else { Ok(()) }
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        self.after_latency(move |tree| {
            match tree.child(index(parent), &name).and_then(|found| attributes(tree, found)) {
                Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
                None => reply.error(Errno::ENOENT),
            }
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match attributes(&self.tree, index(ino)) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    // A device knows nothing of opens: they cost what their look-up and their reads cost. The kernel takes the
    // answer for all that follow, and keeps data and listings from one open to the next.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.after_latency(move |tree| match tree.content(index(ino)) {
            Some(content) => {
                let start = content.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
                let end = content.len().min(start + size as usize);
                reply.data(&content[start..end]);
            }
            None => reply.error(Errno::EISDIR),
        });
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.after_latency(move |tree| {
            for (position, (node, name)) in
                tree.listing(index(ino)).into_iter().enumerate().skip(offset as usize)
            {
                let Some(attr) = attributes(tree, node) else { continue };
                if reply.add(attr.ino, position as u64 + 1, attr.kind, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    // Answered here only because the default answer, the same, logs a warning each time.
    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
