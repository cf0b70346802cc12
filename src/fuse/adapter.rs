//! Each request of the kernel, handed to the operation of the mirror that does it.
//!
//! What must stay true: nothing is decided here but which thread does the work and how the answer
//! is packed.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileHandle, Filesystem, FopenFlags, INodeNo, IoctlFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLock, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{OFlags, SeekFrom};

use super::convert::{errno, requester, set_time, unpack_device};
use super::prologue::Agreement;
use super::serve::Desk;
use super::{listing, locking, opening, replies};
use crate::config::DataPath;
use crate::mirror::{Change, Creation, How, Mirror, Reading, Writing};
use crate::stats::Operation as Op;

/// The kernel's requests, answered from a mirror.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) desk: Arc<Desk>,
}

impl Adapter {
    fn resident(&self) -> bool {
        self.desk.path == DataPath::Resident
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let asked = super::capabilities::negotiate(config, self.desk.path, self.desk.mirror.has_own_cache());
        // The kernel asks once.
        let _ = self.desk.agreed.set(Agreement::of(config, asked));
        Ok(())
    }

    fn lookup(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (who, name) = (requester(req), name.to_owned());
        let negative = self.desk.mirror.negative_freshness(parent.0).entry;
        let work = move |m: &Mirror, how: How| m.lookup(who, parent.0, &name, how);
        self.desk.serve(Op::Lookup, reply, work, move |r, x| replies::looked_up(r, x, negative));
    }

    fn forget(&self, _: &Request, ino: INodeNo, nlookup: u64) {
        self.desk.at_once(Op::Forget, || {
            if let Some(debris) = self.desk.mirror.forget(ino.0, nlookup) {
                self.desk.pool.run(move || drop(debris));
            }
        });
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
        self.desk.defer(
            Op::Readlink,
            reply,
            move |m| m.readlink(ino.0),
            |r, x| {
                replies::data(r, x.map(std::os::unix::ffi::OsStringExt::into_vec));
            },
        );
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
        let (who, flags) = (requester(req), OFlags::from_bits_retain(flags.0 as u32));
        let backings = self.desk.backings.clone();
        let work = move |m: &Mirror, how: How| m.open(who, ino.0, flags, how);
        let send = move |reply, result| opening::opened(reply, result, ino.0, flags, &backings);
        self.desk.serve(Op::Open, reply, work, send);
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
        let new = Creation { mode, umask, flags, keep: !self.resident() };
        let work = move |m: &Mirror| m.create(who, parent.0, &name, new);
        let send = move |reply, result| opening::created(reply, result, flags, &backings);
        self.desk.defer(Op::Create, reply, work, send);
    }

    fn read(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let who = requester(req);
        let quiet = OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::NOATIME);
        let wanted = Reading { handle: fh.0, offset, size: size as usize, quiet };
        let work = move |m: &Mirror, how: How| m.read(who, ino.0, wanted, how);
        self.desk.serve(Op::Read, reply, work, replies::data);
    }

    fn write(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        told: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (who, data) = (requester(req), data.to_vec());
        let place = Writing {
            handle: fh.0,
            offset,
            append: OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::APPEND),
            strips: told.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID),
        };
        let work = move |m: &Mirror| m.write(who, ino.0, place, &data);
        self.desk.defer(Op::Write, reply, work, replies::written);
    }

    fn flush(&self, _: &Request, ino: INodeNo, fh: FileHandle, owner: LockOwner, reply: ReplyEmpty) {
        if self.resident() {
            return self.desk.at_once(Op::Flush, || reply.error(fuser::Errno::ENOSYS));
        }
        let waiting = self.desk.waiting.clone();
        let work = move |m: &Mirror| {
            if m.end_locks(ino.0, owner.0) {
                waiting.wake();
            }
            m.flush(fh.0)
        };
        self.desk.defer(Op::Flush, reply, work, replies::empty);
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
        let (backings, waiting) = (self.desk.backings.clone(), self.desk.waiting.clone());
        // Nobody waits for it, and the last close of a file may block.
        self.desk.defer(
            Op::Release,
            reply,
            move |m| {
                let locked = m.end_locks_of_handle(ino.0, fh.0);
                m.release(fh.0);
                if locked {
                    waiting.wake();
                }
                backings.release(ino.0);
                Ok(())
            },
            replies::empty,
        );
    }

    fn getlk(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        reply: ReplyLock,
    ) {
        locking::test(&self.desk, locking::locking(ino, fh, owner, (start, end), kind, pid), reply);
    }

    fn setlk(
        &self,
        req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        sleep: bool,
        reply: ReplyEmpty,
    ) {
        let wanted = locking::locking(ino, fh, owner, (start, end), kind, pid);
        locking::set(&self.desk, req.pid(), wanted, sleep, reply);
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

    fn readdir(&self, req: &Request, ino: INodeNo, _: FileHandle, offset: u64, reply: ReplyDirectory) {
        let who = requester(req);
        let work = move |m: &Mirror| {
            listing::list(m, who, ino.0, offset, reply);
            Ok(())
        };
        self.desk.defer(Op::Readdir, (), work, |(), _| ());
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
            listing::list_plus(m, who, ino.0, offset, reply);
            Ok(())
        };
        self.desk.defer(Op::Readdirplus, (), work, |(), _| ());
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.desk.defer(Op::Fsyncdir, reply, move |m| m.fsyncdir(ino.0, datasync), replies::empty);
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.desk.defer(Op::Statfs, reply, move |m| m.statfs(ino.0), replies::statfs);
    }

    fn setxattr(
        &self,
        req: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let (who, name, value) = (requester(req), name.to_owned(), value.to_vec());
        let work = move |m: &Mirror| m.setxattr(who, ino.0, &name, &value, flags as u32);
        self.desk.defer(Op::Setxattr, reply, work, replies::empty);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.to_owned();
        self.desk.defer(Op::Getxattr, reply, move |m| m.getxattr(ino.0, &name, size), replies::xattr);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.desk.defer(Op::Listxattr, reply, move |m| m.listxattr(ino.0, size), replies::xattr);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.desk.defer(Op::Removexattr, reply, move |m| m.removexattr(ino.0, &name), replies::empty);
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
}
