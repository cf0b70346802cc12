//! A source that fails on demand: a small file system in memory, one directory of files, in which each operation on each file
//! can give an error or wait until it is told to go on.
//!
//! What must stay true: what hangs holds up nothing else here; when this goes, everything that waits is answered, so that no
//! test leaves a process behind that cannot end; nothing is cached by the kernel, so that each request arrives.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::mount::UnmountFlags;

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Lookup,
    Getattr,
    Truncate,
    Open,
    Read,
    Write,
    Flush,
    Fsync,
    Create,
    Unlink,
    Rename,
    List,
    Statfs,
}

/// What is done instead of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This error is the answer.
    Error(i32),
    /// No answer until the fault is taken away.
    Hang,
}

/// The whole directory, as far as faults go: for `List` and `Statfs`.
pub(crate) const DIRECTORY: &str = "";

const NOTHING_CACHED: Duration = Duration::ZERO;
const ROOT: u64 = 1;

#[derive(Debug)]
struct File {
    name: Option<String>,
    content: Vec<u8>,
    changed: SystemTime,
}

type Answer = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// By inode number.
    files: BTreeMap<u64, File>,
    faults: HashMap<(String, Op), Fault>,
    waiting: Vec<((String, Op), Answer)>,
    asked: HashMap<(String, Op), usize>,
}

impl State {
    fn find(&self, name: &str) -> Option<u64> {
        self.files.iter().find(|(_, file)| file.name.as_deref() == Some(name)).map(|(&ino, _)| ino)
    }

    fn add(&mut self, name: &str, content: &[u8]) -> u64 {
        let ino = self.files.keys().last().map_or(ROOT, |&last| last) + 1;
        let file = File { name: Some(name.into()), content: content.into(), changed: SystemTime::now() };
        self.files.insert(ino, file);
        ino
    }

    fn name(&self, ino: u64) -> String {
        self.files.get(&ino).and_then(|file| file.name.clone()).unwrap_or_default()
    }

    fn attr(&self, ino: u64) -> Result<FileAttr, Errno> {
        let (kind, perm, size, changed, nlink) = match self.files.get(&ino) {
            _ if ino == ROOT => (FileType::Directory, 0o777, 4096, UNIX_EPOCH, 2),
            Some(file) => {
                let nlink = u32::from(file.name.is_some());
                (FileType::RegularFile, 0o666, file.content.len() as u64, file.changed, nlink)
            }
            None => return Err(Errno::ENOENT),
        };
        Ok(FileAttr {
            ino: INodeNo(ino),
            size,
            blocks: size.div_ceil(512),
            atime: changed,
            mtime: changed,
            ctime: changed,
            crtime: changed,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn resize(&mut self, ino: u64, size: u64) {
        if let Some(file) = self.files.get_mut(&ino) {
            file.content.resize(size as usize, 0);
            file.changed = SystemTime::now();
        }
    }
}

/// The mounted source.
pub(crate) struct Brittle {
    point: PathBuf,
    shared: Shared,
    session: Option<BackgroundSession>,
}

impl Brittle {
    /// Mounts one with these files, each with its name as content.
    pub(crate) fn mount(point: &Path, names: &[&str]) -> Self {
        let shared = Shared::default();
        for name in names {
            shared.state().add(name, name.as_bytes());
        }
        let mut config = fuser::Config::default();
        config.mount_options = vec![MountOption::FSName("brittle".into())];
        config.acl = SessionACL::All;
        let session = Session::new(shared.clone(), point, &config).unwrap().spawn().unwrap();
        Brittle { point: point.to_owned(), shared, session: Some(session) }
    }

    /// From now on `op` on the file `name` does that.
    pub(crate) fn break_down(&self, name: &str, op: Op, fault: Fault) {
        self.shared.state().faults.insert((name.into(), op), fault);
    }

    /// All is well again; what waited is answered.
    pub(crate) fn mend(&self) {
        let waiting = {
            let mut state = self.shared.state();
            state.faults.clear();
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(|(_, answer)| answer());
    }

    /// How often `op` was asked for on the file `name`.
    pub(crate) fn asked(&self, name: &str, op: Op) -> usize {
        self.shared.state().asked.get(&(name.into(), op)).copied().unwrap_or(0)
    }

    /// How many wait for an answer.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.state().waiting.len()
    }

    /// Writes a file behind everybody's back.
    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        let mut state = self.shared.state();
        match state.find(name) {
            Some(ino) => {
                state.resize(ino, 0);
                state.files.get_mut(&ino).unwrap().content = content.into();
            }
            None => drop(state.add(name, content)),
        }
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        self.mend();
        let _ = rustix::mount::unmount(&self.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        // Its thread ends with its last user. Dropping it would unmount by path once more.
        std::mem::forget(self.session.take());
    }
}

/// The file system as the kernel sees it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Has `answer` called with what became of the request: now, or when it may go on.
    fn answer(&self, name: &str, op: Op, answer: impl FnOnce(Result<(), Errno>, &Shared) + Send + 'static) {
        let key = (name.to_owned(), op);
        let mut state = self.state();
        *state.asked.entry(key.clone()).or_default() += 1;
        match state.faults.get(&key) {
            Some(Fault::Hang) => {
                let shared = self.clone();
                state.waiting.push((key, Box::new(move || answer(Ok(()), &shared))));
            }
            Some(&Fault::Error(number)) => {
                drop(state);
                answer(Err(Errno::from_i32(number)), self);
            }
            None => {
                drop(state);
                answer(Ok(()), self);
            }
        }
    }

    fn answer_for(
        &self,
        ino: INodeNo,
        op: Op,
        answer: impl FnOnce(Result<(), Errno>, &Shared) + Send + 'static,
    ) {
        let name = self.state().name(ino.0);
        self.answer(&name, op, answer);
    }

    fn done(result: Result<(), Errno>, reply: ReplyEmpty) {
        match result {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }
}

fn text(name: &OsStr) -> String {
    name.to_str().unwrap().to_owned()
}

impl Filesystem for Shared {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it the kernel sends look-ups in one directory one after the other: one that hangs would stop the others.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = text(name);
        let wanted = name.clone();
        self.answer(&name, Op::Lookup, move |result, shared| {
            let state = shared.state();
            let found = result.and_then(|()| state.find(&wanted).ok_or(Errno::ENOENT));
            match found.and_then(|ino| state.attr(ino)) {
                Ok(attr) => reply.entry(&NOTHING_CACHED, &attr, Generation(0)),
                Err(error) => reply.error(error),
            }
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.answer_for(ino, Op::Getattr, move |result, shared| {
            match result.and_then(|()| shared.state().attr(ino.0)) {
                Ok(attr) => reply.attr(&NOTHING_CACHED, &attr),
                Err(error) => reply.error(error),
            }
        });
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.answer_for(ino, Op::Truncate, move |result, shared| {
            let mut state = shared.state();
            if let (Ok(()), Some(size)) = (result, size) {
                state.resize(ino.0, size);
            }
            match result.and_then(|()| state.attr(ino.0)) {
                Ok(attr) => reply.attr(&NOTHING_CACHED, &attr),
                Err(error) => reply.error(error),
            }
        });
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.answer_for(ino, Op::Open, move |result, _| match result {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        });
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let name = text(name);
        let new = name.clone();
        self.answer(&name, Op::Create, move |result, shared| match result {
            Ok(()) => {
                let mut state = shared.state();
                let ino = state.add(&new, b"");
                let attr = state.attr(ino).unwrap();
                let flags = FopenFlags::FOPEN_DIRECT_IO;
                reply.created(&NOTHING_CACHED, &attr, Generation(0), FileHandle(0), flags);
            }
            Err(error) => reply.error(error),
        });
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
        self.answer_for(ino, Op::Read, move |result, shared| match result {
            Ok(()) => {
                let state = shared.state();
                let content = state.files.get(&ino.0).map_or(&[][..], |file| &file.content);
                let start = content.len().min(offset as usize);
                reply.data(&content[start..content.len().min(start + size as usize)]);
            }
            Err(error) => reply.error(error),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        self.answer_for(ino, Op::Write, move |result, shared| match result {
            Ok(()) => {
                let mut state = shared.state();
                let end = offset + data.len() as u64;
                let size = state.files.get(&ino.0).map_or(0, |file| file.content.len() as u64);
                state.resize(ino.0, size.max(end));
                if let Some(file) = state.files.get_mut(&ino.0) {
                    file.content[offset as usize..end as usize].copy_from_slice(&data);
                }
                reply.written(data.len() as u32);
            }
            Err(error) => reply.error(error),
        });
    }

    fn flush(&self, _: &Request, ino: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.answer_for(ino, Op::Flush, move |result, _| Shared::done(result, reply));
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.answer_for(ino, Op::Fsync, move |result, _| Shared::done(result, reply));
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = text(name);
        let gone = name.clone();
        self.answer(&name, Op::Unlink, move |result, shared| {
            let mut state = shared.state();
            if let (Ok(()), Some(ino)) = (result, state.find(&gone)) {
                state.files.get_mut(&ino).unwrap().name = None;
            }
            Shared::done(result, reply);
        });
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        newname: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (name, to) = (text(name), text(newname));
        let from = name.clone();
        self.answer(&name, Op::Rename, move |result, shared| {
            let mut state = shared.state();
            if let (Ok(()), Some(ino)) = (result, state.find(&from)) {
                if let Some(replaced) = state.find(&to) {
                    state.files.get_mut(&replaced).unwrap().name = None;
                }
                state.files.get_mut(&ino).unwrap().name = Some(to);
            }
            Shared::done(result, reply);
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.answer(DIRECTORY, Op::Statfs, move |result, _| match result {
            Ok(()) => reply.statfs(1000, 500, 500, 1000, 500, 4096, 255, 4096),
            Err(error) => reply.error(error),
        });
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.answer(DIRECTORY, Op::List, move |result, shared| {
            if let Err(error) = result {
                return reply.error(error);
            }
            let state = shared.state();
            let named = state.files.iter().filter_map(|(&ino, file)| Some((ino, file.name.as_ref()?)));
            for (place, (ino, name)) in named.enumerate().skip(offset as usize) {
                if reply.add(INodeNo(ino), place as u64 + 1, FileType::RegularFile, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    // The default answers are the same, but each logs a warning.
    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }
}
