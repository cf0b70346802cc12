//! Content: open, read, write, and what else acts on bytes.
//!
//! What must stay true: a read is short only at the end of the file; an append goes to the true end,
//! though the kernel may not know that the file has grown below.

use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, OFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags};

use super::attr::{Attr, Version};
use super::descriptors::Purpose;
use super::entries::not_enosys;
use super::inodes::Inode;
use super::source::stat_fd;
use super::{How, Mirror, Requester, Result, privileges};
use crate::event::{Op, Residency, Span};
use crate::live::Want;
use crate::sys::cachestat;

/// Flags of open(2) that have had their effect in the kernel above us, or must not reach the source.
/// Direct reads and writes of the mount are served from the source's page cache, which is coherent.
const CONSUMED: OFlags =
    OFlags::CREATE.union(OFlags::EXCL).union(OFlags::TRUNC).union(OFlags::NOCTTY).union(OFlags::DIRECT);

/// An open file.
#[derive(Debug)]
pub struct Opened {
    /// What the kernel shall call it.
    pub handle: u64,
    /// The file itself.
    pub fd: Arc<OwnedFd>,
    /// Is its content what it was when the kernel last cached it?
    pub unchanged: bool,
    /// Is every read to be a request? So where our own cache holds the data, and where the content comes into being only
    /// when it is read: then size and times say nothing of it, and it must not be cached.
    pub direct: bool,
    /// Does nobody care when it is closed? Not so where it is locked: closing ends locks.
    pub quiet_close: bool,
}

/// What a read asks for.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The open file to read from, 0 for none.
    pub handle: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes at most.
    pub size: usize,
    /// Leave the access time alone.
    pub quiet: bool,
}

/// Where a write goes.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// The open file to write to, 0 for none.
    pub handle: u64,
    /// First byte.
    pub offset: u64,
    /// At the end, wherever that is, and not at `offset`.
    pub append: bool,
    /// Takes the set-ID bits away unless the writer may keep them.
    pub strips: bool,
}

impl Mirror {
    /// Opens a file under a handle of its own; `flags` are those of open(2).
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block, else the source's.
    pub fn open(&self, who: Requester, nodeid: u64, flags: OFlags, how: How) -> Result<Opened> {
        let inode = self.inode(nodeid)?;
        let quiet = if self.quiet { OFlags::NOATIME } else { OFlags::empty() };
        let flags = (flags - CONSUMED) | quiet;
        let joined = match how {
            How::MayBlock => self.join(who, &inode, Want::Data),
            How::InMemory => Residency::Miss,
        };
        let fd = self.descriptors.open(&self.source, &self.inodes, &inode, flags, how)?;
        let stat = stat_fd(&fd)?;
        let version = Version::from(&Attr::new(nodeid, &stat));
        let residency = match &self.own {
            // What the source has in memory says nothing; the reads that follow do.
            Some(_) => Residency::Unknown,
            None => residency_at_open(&fd, stat.stx_size, joined),
        };
        let direct = self.own.is_some() || self.source.is_made_up(&fd, inode.key.dev);
        let (fd, quiet_close) = (Arc::new(fd), !inode.is_locked());
        let handle = self.handles.enter(fd.clone());
        self.note(who, &inode, Op::Open, residency);
        Ok(Opened { handle, fd, unchanged: inode.caches(version), direct, quiet_close })
    }

    /// Notes that a directory was opened, where the kernel tells of it.
    ///
    /// # Errors
    /// `ESTALE` when it has gone.
    pub fn opendir(&self, who: Requester, nodeid: u64) -> Result<()> {
        let inode = self.inode(nodeid)?;
        self.note(who, &inode, Op::List, Residency::Unknown);
        Ok(())
    }

    /// Ends the use of a handle.
    pub fn release(&self, handle: u64) {
        self.handles.release(handle);
    }

    /// What closing a descriptor would report: errors of writes that a network source has put off.
    ///
    /// # Errors
    /// The source's own.
    pub fn flush(&self, handle: u64) -> Result<()> {
        let file = self.handles.get(handle)?;
        let copy = rustix::io::fcntl_dupfd_cloexec(&file, 0)?;
        crate::sys::close(copy)
    }

    /// The file to act on: the one behind `handle`, or when that is 0 one opened for `purpose`.
    fn file(&self, inode: &Arc<Inode>, handle: u64, purpose: Purpose, how: How) -> Result<Arc<OwnedFd>> {
        match handle {
            0 => self.descriptors.lend(&self.source, &self.inodes, inode, purpose, how),
            handle => self.handles.get(handle),
        }
    }

    /// Reads what is asked for; less only at the end of the file.
    ///
    /// # Errors
    /// `EAGAIN` when `how` forbids to block and not all of it is in memory, else the source's.
    pub fn read(&self, who: Requester, nodeid: u64, wanted: Reading, how: How) -> Result<Vec<u8>> {
        let Reading { handle, offset, size, quiet } = wanted;
        let inode = self.inode(nodeid)?;
        let span = Op::Read(Span { offset, len: size as u64 });
        let own = self.live.is_own(who.tid);
        // What workers read nobody has read yet; a trace is left when somebody does.
        let purpose = if own || quiet || self.quiet { Purpose::Peek } else { Purpose::Read };
        if let Some(cache) = &self.own {
            // Its version has to be asked for.
            if how == How::InMemory && !self.source.answers_from_memory(inode.key.dev) {
                return Err(Errno::AGAIN);
            }
            let file = self.file(&inode, handle, purpose, how)?;
            if self.source.is_made_up(&file, inode.key.dev) {
                return if how == How::InMemory { Err(Errno::AGAIN) } else { read_all(&file, offset, size) };
            }
            return self.read_own(cache, who, &inode, (&file, wanted), how);
        }
        match how {
            // Elsewhere even the size may have to be asked for, or say nothing.
            How::InMemory if !self.source.answers_from_memory(inode.key.dev) => Err(Errno::AGAIN),
            How::InMemory => {
                let file = self.file(&inode, handle, purpose, how)?;
                let data = read_cached(&file, offset, size)?;
                self.note(who, &inode, span, Residency::Hit);
                Ok(data)
            }
            How::MayBlock => {
                let found = self.join(who, &inode, Want::Data);
                let file = self.file(&inode, handle, purpose, how)?;
                self.note(who, &inode, span, found);
                let _turn = (found == Residency::Miss && !own).then(|| self.live.foreground(offset == 0));
                read_all(&file, offset, size)
            }
        }
    }

    /// Writes `data`; how much was written comes back.
    ///
    /// # Errors
    /// The source's own, when nothing was written.
    pub fn write(&self, who: Requester, nodeid: u64, to: Writing, data: &[u8]) -> Result<usize> {
        let Writing { handle, offset, append, strips } = to;
        let inode = self.inode(nodeid)?;
        let purpose = if append { Purpose::Append } else { Purpose::Write };
        let file = self.file(&inode, handle, purpose, How::MayBlock)?;
        // A handle may have been opened for appending, and the request not mean it any more.
        let place = if append { ReadWriteFlags::APPEND } else { ReadWriteFlags::empty() };
        let at = (!append).then_some(offset);
        let written = self.writing(&inode, &file, at, data, || write_all(&file, offset, data, place))?;
        if strips {
            privileges::strip(who, &file)?;
        }
        self.note(who, &inode, Op::Write, Residency::Unknown);
        let end = offset + written as u64;
        if append && !stat_fd(&file).is_ok_and(|stat| stat.stx_size == end) {
            // The file had grown below: the kernel has put these bytes in the wrong place.
            self.changes.content(nodeid);
        }
        Ok(written)
    }

    /// Writes a file's data (and unless `data_only` its attributes) out to the device.
    ///
    /// # Errors
    /// The source's own.
    pub fn fsync(&self, nodeid: u64, handle: u64, data_only: bool) -> Result<()> {
        let inode = self.inode(nodeid)?;
        let file = self.file(&inode, handle, Purpose::Read, How::MayBlock)?;
        if data_only { rustix::fs::fdatasync(&file) } else { rustix::fs::fsync(&file) }
    }

    /// Allocates, frees or rearranges space; `mode` as in fallocate(2).
    ///
    /// # Errors
    /// The source's own.
    pub fn fallocate(
        &self,
        who: Requester,
        nodeid: u64,
        handle: u64,
        mode: u32,
        offset: u64,
        len: u64,
    ) -> Result<()> {
        let inode = self.inode(nodeid)?;
        let file = self.file(&inode, handle, Purpose::Write, How::MayBlock)?;
        let mode = FallocateFlags::from_bits_retain(mode);
        self.changing(&inode, || rustix::fs::fallocate(&file, mode, offset, len).map_err(not_enosys))?;
        self.note(who, &inode, Op::Write, Residency::Unknown);
        Ok(())
    }

    /// Finds the next data or hole at or after the given offset.
    ///
    /// # Errors
    /// `ENXIO` past the end, else the source's.
    pub fn lseek(&self, nodeid: u64, handle: u64, to: SeekFrom) -> Result<u64> {
        let inode = self.inode(nodeid)?;
        let file = self.file(&inode, handle, Purpose::Read, How::MayBlock)?;
        rustix::fs::seek(&file, to)
    }

    /// Copies bytes between two files without their passing through us; how many comes back.
    ///
    /// # Errors
    /// The source's own.
    pub fn copy_file_range(
        &self,
        who: Requester,
        (from, from_handle, from_offset): (u64, u64, u64),
        (to, to_handle, to_offset): (u64, u64, u64),
        len: u64,
    ) -> Result<usize> {
        let (from, to) = (self.inode(from)?, self.inode(to)?);
        let source = self.file(&from, from_handle, Purpose::Read, How::MayBlock)?;
        let target = self.file(&to, to_handle, Purpose::Write, How::MayBlock)?;
        let (mut from_at, mut to_at) = (from_offset, to_offset);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let copied = self.changing(&to, || {
            rustix::fs::copy_file_range(&source, Some(&mut from_at), &target, Some(&mut to_at), len)
                .map_err(not_enosys)
        })?;
        self.note(who, &to, Op::Write, Residency::Unknown);
        Ok(copied)
    }
}

/// K01's read class of a whole file at its opening.
fn residency_at_open(file: &OwnedFd, size: u64, joined: Residency) -> Residency {
    if size == 0 {
        return Residency::Hit;
    }
    match cachestat::cached(file, 0, size) {
        Ok(_) if joined == Residency::Partial => Residency::Partial,
        Ok(cached) if cached.all() => Residency::Hit,
        Ok(cached) if cached.none() => Residency::Miss,
        Ok(_) => Residency::Partial,
        Err(_) => Residency::Unknown,
    }
}

/// What is in memory of a range: all of it, up to the end of the file, or `EAGAIN`.
///
/// Looked at first: a read that may not wait starts fetching what is missing all the same, and what
/// it would fetch, out of turn, may be on its way by a better one.
fn read_cached(file: &OwnedFd, offset: u64, size: usize) -> Result<Vec<u8>> {
    let end = stat_fd(file)?.stx_size.min(offset.saturating_add(size as u64));
    let size = end.saturating_sub(offset) as usize;
    if !cachestat::cached(file, offset, size as u64).is_ok_and(|cached| cached.all()) {
        return Err(Errno::AGAIN);
    }
    let mut data = vec![0; size];
    let mut have = 0;
    while have < size {
        let mut rest = [std::io::IoSliceMut::new(&mut data[have..])];
        match rustix::io::preadv2(file, &mut rest, offset + have as u64, ReadWriteFlags::NOWAIT) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(Errno::INTR) => {}
            // Also where the source cannot say: then the pool has to ask.
            Err(Errno::AGAIN | Errno::OPNOTSUPP) => return Err(Errno::AGAIN),
            Err(error) => return Err(error),
        }
    }
    data.truncate(have);
    Ok(data)
}

pub(super) fn read_all(file: &OwnedFd, offset: u64, size: usize) -> Result<Vec<u8>> {
    let mut data = vec![0; size];
    let mut have = 0;
    while have < size {
        match rustix::io::pread(file, &mut data[have..], offset + have as u64) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(Errno::INTR) => {}
            // What was read before a bad block is the caller's; the error comes with the next read.
            Err(_) if have > 0 => break,
            Err(error) => return Err(error),
        }
    }
    data.truncate(have);
    Ok(data)
}

fn write_all(file: &OwnedFd, offset: u64, data: &[u8], place: ReadWriteFlags) -> Result<usize> {
    let mut done = 0;
    while done < data.len() {
        let rest = [IoSlice::new(&data[done..])];
        match rustix::io::pwritev2(file, &rest, offset + done as u64, place) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
