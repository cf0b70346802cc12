//! Each request of the kernel, handed to the operation of the mirror that does it.
//!
//! What must stay true: nothing is decided here but which thread does the work and how the answer
//! is packed.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags,
    ReplyAttr, ReplyBmap, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry,
    ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow,
    WriteFlags,
};
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use super::convert::{bare_attr, errno, file_attr, requester, set_time, unpack_device};
use super::replies;
use super::serve::Desk;
use crate::config::DataPath;
use crate::mirror::{Change, Entry, How, Mirror, Opened, Requester, Result};
use crate::stats::Operation as Op;

/// A listing that also resolves names stops resolving after so long: the kernel asks again, and a
/// program that only wants names gets them without waiting for every inode.
const PATIENCE: Duration = Duration::from_millis(5);

/// The kernel's requests, answered from a mirror.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) desk: Desk,
}

impl Adapter {
    fn resident(&self) -> bool {
        self.desk.path == DataPath::Resident
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        super::capabilities::negotiate(config, self.desk.path);
        Ok(())
    }

    fn lookup(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (who, name) = (requester(req), name.to_owned());
        let negative = self.desk.mirror.negative_freshness(parent.0).entry;
        let work = move |m: &Mirror, how: How| m.lookup(who, parent.0, &name, how);
        self.desk.serve(Op::Lookup, reply, work, move |r, x| replies::looked_up(r, x, negative));
    }

    fn forget(&self, _: &Request, ino: INodeNo, nlookup: u64) {
        self.desk.at_once(Op::Forget, || self.desk.mirror.forget(ino.0, nlookup));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.desk.serve(Op::Getattr, reply, move |m, how| m.getattr(ino.0, how), replies::attr);
    }

    fn setattr(
        &self,
        req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let who = requester(req);
        let change = Change {
            mode,
            uid,
            gid,
            size,
            atime: atime.map(set_time),
            mtime: mtime.map(set_time),
            handle: fh.map_or(0, |f| f.0),
        };
        self.desk.defer(Op::Setattr, reply, move |m| m.setattr(who, ino.0, &change), replies::attr);
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let work = move |m: &Mirror, how: How| m.readlink(ino.0, how);
        self.desk.serve(Op::Readlink, reply, work, |r, x| {
            replies::data(r, x.map(std::os::unix::ffi::OsStringExt::into_vec));
        });
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let (who, name, rdev) = (requester(req), name.to_owned(), unpack_device(rdev));
        let work = move |m: &Mirror| m.mknod(who, parent.0, &name, mode, umask, rdev);
        self.desk.defer(Op::Mknod, reply, work, replies::entry);
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (who, name) = (requester(req), name.to_owned());
        let work = move |m: &Mirror| m.mkdir(who, parent.0, &name, mode, umask);
        self.desk.defer(Op::Mkdir, reply, work, replies::entry);
    }

    fn unlink(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (who, name) = (requester(req), name.to_owned());
        self.desk.defer(Op::Unlink, reply, move |m| m.unlink(who, parent.0, &name), replies::empty);
    }

    fn rmdir(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (who, name) = (requester(req), name.to_owned());
        self.desk.defer(Op::Rmdir, reply, move |m| m.rmdir(who, parent.0, &name), replies::empty);
    }

    fn symlink(&self, req: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (who, name, target) = (requester(req), name.to_owned(), target.to_owned());
        let work = move |m: &Mirror| m.symlink(who, parent.0, &name, target.as_os_str());
        self.desk.defer(Op::Symlink, reply, work, replies::entry);
    }

    fn rename(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (who, name, newname) = (requester(req), name.to_owned(), newname.to_owned());
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let work = move |m: &Mirror| m.rename(who, (parent.0, &name), (newparent.0, &newname), flags);
        self.desk.defer(Op::Rename, reply, work, replies::empty);
    }

    fn link(&self, _: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let name = newname.to_owned();
        self.desk.defer(Op::Link, reply, move |m| m.link(ino.0, newparent.0, &name), replies::entry);
    }

    fn open(&self, req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if self.resident() {
            return self.desk.at_once(Op::Open, || reply.error(fuser::Errno::ENOSYS));
        }
        let (who, oflags) = (requester(req), OFlags::from_bits_retain(flags.0 as u32));
        let backings = self.desk.backings.clone();
        let work = move |m: &Mirror, how: How| m.open(who, ino.0, oflags, how);
        self.desk.serve(Op::Open, reply, work, move |reply: ReplyOpen, result| match result {
            Err(e) => reply.error(errno(e)),
            Ok(opened) => {
                let backing = backings.open(ino.0, || reply.open_backing(&*opened.fd));
                let flags = open_flags(oflags, &opened, backing.is_some());
                let fh = FileHandle(opened.handle);
                match backing {
                    Some(id) => reply.opened_passthrough(fh, flags, &id),
                    None => reply.opened(fh, flags),
                }
            }
        });
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (who, name, flags) = (requester(req), name.to_owned(), OFlags::from_bits_retain(flags as u32));
        let backings = self.desk.backings.clone();
        // Once the kernel has been told that opens are no requests, it sends no releases either: a
        // handle would never be given back.
        let resident = self.resident();
        let work = move |m: &Mirror| {
            let (entry, mut opened) = m.create(who, parent.0, &name, mode, umask, flags)?;
            if resident {
                m.release(std::mem::take(&mut opened.handle));
            }
            Ok((entry, opened))
        };
        let send = move |reply: ReplyCreate, result: Result<(Entry, Opened)>| match result {
            Err(e) => reply.error(errno(e)),
            Ok((entry, opened)) => {
                let backing = match opened.handle {
                    0 => None,
                    _ => backings.open(entry.attr.ino, || reply.open_backing(&*opened.fd)),
                };
                let (attr, generation) = (file_attr(&entry.attr), Generation(entry.generation));
                let flags = open_flags(flags, &opened, backing.is_some());
                let (ttl, fh) = (&entry.fresh.entry, FileHandle(opened.handle));
                match backing {
                    Some(id) => reply.created_passthrough(ttl, &attr, generation, fh, flags, &id),
                    None => reply.created(ttl, &attr, generation, fh, flags),
                }
            }
        };
        self.desk.defer(Op::Create, reply, work, send);
    }

    fn read(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let who = requester(req);
        let work = move |m: &Mirror, how: How| m.read(who, ino.0, fh.0, offset, size as usize, how);
        self.desk.serve(Op::Read, reply, work, replies::data);
    }

    fn write(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (who, data) = (requester(req), data.to_vec());
        let append = OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::APPEND);
        let work = move |m: &Mirror| m.write(who, ino.0, fh.0, offset, &data, append);
        self.desk.defer(Op::Write, reply, work, replies::written);
    }

    fn flush(&self, _: &Request, _: INodeNo, fh: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        if self.resident() {
            return self.desk.at_once(Op::Flush, || reply.error(fuser::Errno::ENOSYS));
        }
        self.desk.defer(Op::Flush, reply, move |m| m.flush(fh.0), replies::empty);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.desk.at_once(Op::Release, || {
            self.desk.mirror.release(fh.0);
            self.desk.backings.release(ino.0);
            reply.ok();
        });
    }

    fn fsync(&self, _: &Request, ino: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.desk.defer(Op::Fsync, reply, move |m| m.fsync(ino.0, fh.0, datasync), replies::empty);
    }

    fn opendir(&self, req: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.desk.at_once(Op::Opendir, || {
            if self.resident() {
                return reply.error(fuser::Errno::ENOSYS);
            }
            match self.desk.mirror.opendir(requester(req), ino.0) {
                Ok(()) => {
                    reply.opened(FileHandle(0), FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE);
                }
                Err(e) => reply.error(errno(e)),
            }
        });
    }

    fn readdir(&self, req: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let who = requester(req);
        let work = move |m: &Mirror| {
            let listing = m.list(who, ino.0, offset)?;
            m.entries(&listing, |e| {
                reply.add(INodeNo(e.ino), e.next, super::convert::file_type(e.kind), &e.name)
            })
            .map(|()| reply)
        };
        self.desk.defer(Op::Readdir, (), work, |(), result| {
            if let Ok(reply) = result {
                reply.ok();
            }
        });
    }

    fn readdirplus(
        &self,
        req: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let who = requester(req);
        let work = move |m: &Mirror| {
            list_plus(m, who, ino.0, offset, reply);
            Ok(())
        };
        self.desk.defer(Op::Readdirplus, (), work, |(), _| ());
    }

    fn releasedir(&self, _: &Request, _: INodeNo, _: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.desk.at_once(Op::Releasedir, || reply.ok());
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.desk.defer(Op::Fsyncdir, reply, move |m| m.fsyncdir(ino.0, datasync), replies::empty);
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.desk.defer(Op::Statfs, reply, move |m| m.statfs(ino.0), replies::statfs);
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value) = (name.to_owned(), value.to_vec());
        let work = move |m: &Mirror| m.setxattr(ino.0, &name, &value, flags as u32);
        self.desk.defer(Op::Setxattr, reply, work, replies::empty);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.to_owned();
        let work = move |m: &Mirror, how: How| m.getxattr(ino.0, &name, size, how);
        self.desk.serve(Op::Getxattr, reply, work, replies::xattr);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.desk.defer(Op::Listxattr, reply, move |m| m.listxattr(ino.0, size), replies::xattr);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.desk.defer(Op::Removexattr, reply, move |m| m.removexattr(ino.0, &name), replies::empty);
    }

    /// Never asked while the kernel checks permissions itself; if it does not, everything goes.
    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        self.desk.at_once(Op::Access, || reply.error(fuser::Errno::ENOSYS));
    }

    fn fallocate(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let who = requester(req);
        let work = move |m: &Mirror| m.fallocate(who, ino.0, fh.0, mode as u32, offset, length);
        self.desk.defer(Op::Fallocate, reply, work, replies::empty);
    }

    fn lseek(&self, _: &Request, ino: INodeNo, fh: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let to = match (whence, u64::try_from(offset)) {
            (libc::SEEK_DATA, Ok(at)) => SeekFrom::Data(at),
            (libc::SEEK_HOLE, Ok(at)) => SeekFrom::Hole(at),
            (libc::SEEK_DATA | libc::SEEK_HOLE, Err(_)) => return reply.error(fuser::Errno::ENXIO),
            // The kernel answers the other kinds itself.
            _ => return reply.error(fuser::Errno::EINVAL),
        };
        self.desk.defer(Op::Lseek, reply, move |m| m.lseek(ino.0, fh.0, to), replies::offset);
    }

    fn copy_file_range(
        &self,
        req: &Request,
        ino_in: INodeNo,
        fh_in: FileHandle,
        offset_in: u64,
        ino_out: INodeNo,
        fh_out: FileHandle,
        offset_out: u64,
        len: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (who, from, to) =
            (requester(req), (ino_in.0, fh_in.0, offset_in), (ino_out.0, fh_out.0, offset_out));
        let work = move |m: &Mirror| m.copy_file_range(who, from, to, len);
        self.desk.defer(Op::CopyFileRange, reply, work, replies::written);
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        self.desk.at_once(Op::Ioctl, || reply.error(fuser::Errno::ENOTTY));
    }

    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: PollNotifier,
        _: PollEvents,
        _: PollFlags,
        reply: ReplyPoll,
    ) {
        self.desk.at_once(Op::Poll, || reply.error(fuser::Errno::ENOSYS));
    }

    fn bmap(&self, _: &Request, _: INodeNo, _: u32, _: u64, reply: ReplyBmap) {
        reply.error(fuser::Errno::ENOSYS);
    }
}

/// How the kernel shall treat an open file. Without a flush, closing a file costs no request; who
/// wrote may want to hear of an error.
fn open_flags(asked: OFlags, opened: &Opened, passthrough: bool) -> FopenFlags {
    let reads = asked & OFlags::RWMODE == OFlags::RDONLY;
    let mut flags = if reads { FopenFlags::FOPEN_NOFLUSH } else { FopenFlags::empty() };
    if opened.unchanged && !passthrough {
        flags |= FopenFlags::FOPEN_KEEP_CACHE;
    }
    flags
}

/// Entries with their inodes, as many as fit and as `PATIENCE` allows.
fn list_plus(m: &Mirror, who: Requester, nodeid: u64, offset: u64, mut reply: ReplyDirectoryPlus) {
    let start = Instant::now();
    let listing = match m.list(who, nodeid, offset) {
        Ok(listing) => listing,
        Err(e) => return reply.error(errno(e)),
    };
    let mut any = false;
    let listed = m.entries(&listing, |e| {
        if any && start.elapsed() > PATIENCE {
            return true;
        }
        let dots = matches!(e.name.as_encoded_bytes(), b"." | b"..");
        let full = if dots {
            let (attr, none) = (bare_attr(e.ino, e.kind), Duration::ZERO);
            reply.add(INodeNo(e.ino), e.next, &e.name, &none, &attr, Generation(0))
        } else {
            // An entry that has gone since is left out, as a later listing would.
            let Ok(entry) = m.enter_listed(&listing, &e.name) else { return false };
            let (attr, ino) = (file_attr(&entry.attr), entry.attr.ino);
            let (generation, fresh) = (Generation(entry.generation), entry.fresh.entry.min(entry.fresh.attr));
            let full = reply.add(INodeNo(ino), e.next, &e.name, &fresh, &attr, generation);
            if full {
                m.forget(ino, 1);
            }
            full
        };
        any = true;
        full
    });
    match listed {
        Err(e) if e != Errno::NOENT => reply.error(errno(e)),
        _ => reply.ok(),
    }
}
