//! The source's side: finding, listing and reading without side effects.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    Advice, AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, Statx, StatxFlags, fadvise,
    openat, openat2, seek, statx,
};
use rustix::io::{Errno, pread};

use crate::engine::Facts;
use crate::event::Span;
use crate::live::listings::Listed;
use crate::sys::cachestat;

/// Read in steps of this many bytes: large enough that a call costs nothing beside the copying, small enough
/// for 64 workers' buffers, and the grain in which we know what was in memory before.
pub(super) const STEP: u64 = 256 << 10;
/// Read-ahead is asked for in pieces of this many bytes: one request is cut to the device's read-ahead size,
/// which is 128 KiB on most machines.
const PIECE: u64 = 128 << 10;
/// So far ahead of the reading are requests on their way.
const AHEAD: u64 = 1 << 20;
/// Room for the entries of one getdents call.
const LISTING: usize = 32 << 10;

/// Something in the source, held without having been opened.
pub(super) struct Found {
    handle: OwnedFd,
    stat: Statx,
}

impl Found {
    /// Looks `path` up below `source`, strictly: no way out, no links. A link itself is found, not followed.
    pub(super) fn at(source: &OwnedFd, path: &[u8]) -> Result<Found, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat2(source, path, flags, Mode::empty(), within())?;
        let mask = StatxFlags::TYPE
            | StatxFlags::SIZE
            | StatxFlags::INO
            | StatxFlags::MODE
            | StatxFlags::UID
            | StatxFlags::GID;
        let stat = statx(&handle, c"", AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT, mask)?;
        Ok(Found { handle, stat })
    }

    /// For looking at what is in it.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.stx_mode.into())
    }

    /// Owner, group and mode.
    pub(super) fn permissions(&self) -> (u32, u32, u32) {
        (self.stat.stx_uid, self.stat.stx_gid, self.stat.stx_mode.into())
    }

    pub(super) fn size(&self) -> u64 {
        self.stat.stx_size
    }

    pub(super) fn facts(&self, extent: u64) -> Facts {
        let directory = self.kind() == FileType::Directory;
        Facts { inode: self.stat.stx_ino, size: self.stat.stx_size, extent, directory }
    }

    /// Opens it for reading if it is a regular file or a directory.
    pub(super) fn open(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOATIME | OFlags::CLOEXEC;
        match self.kind() {
            FileType::Directory => without_atime(flags | OFlags::DIRECTORY, |flags| {
                openat(&self.handle, c".", flags, Mode::empty())
            }),
            FileType::RegularFile => {
                // Through the link in /proc it is this very inode; by name it could be a fifo by now.
                let link = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
                let open = |flags| openat(rustix::fs::CWD, link.as_str(), flags, Mode::empty());
                without_atime(flags | OFlags::NONBLOCK, open)
            }
            _ => Err(Errno::INVAL),
        }
    }
}

/// Nothing outside, no symbolic links, no links of /proc.
pub(super) fn within() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

/// Only the owner of a file and root may read it without a trace. A plain user who mirrors somebody else's
/// files leaves the access time that reading them would leave anyway, moments later.
pub(super) fn without_atime(
    flags: OFlags,
    open: impl Fn(OFlags) -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    match open(flags) {
        Err(Errno::PERM) => open(flags - OFlags::NOATIME),
        answer => answer,
    }
}

/// A directory's entries, without `.` and `..`.
pub(super) fn entries(directory: impl AsFd) -> Result<Vec<Listed>, Errno> {
    let mut buffer = vec![MaybeUninit::uninit(); LISTING];
    let mut raw = RawDir::new(directory, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            let directory = entry.file_type() == FileType::Directory;
            entries.push(Listed { name: name.to_vec(), inode: entry.ino(), directory });
        }
    }
    Ok(entries)
}

/// Reads a directory's entries to the end.
pub(super) fn list(directory: impl AsFd) -> Result<(), Errno> {
    let mut buffer = vec![MaybeUninit::uninit(); LISTING];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        entry?;
    }
    Ok(())
}

/// Lets go of a file's pages, but for those somebody maps or has written; how many bytes went.
pub(super) fn drop_all(file: &OwnedFd, size: u64) -> u64 {
    let pages = || cachestat::cached(file, 0, size).map_or(0, |cached| cached.pages);
    let before = pages();
    if before > 0 {
        // Advice: what stays, stays.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
    }
    before.saturating_sub(pages()) * cachestat::page_size()
}

/// What bringing a file in did.
pub(super) struct Brought {
    /// Bytes that were not in memory before.
    pub(super) bytes: u64,
    /// The steps that were not in memory at all before.
    fresh: Vec<Span>,
}

/// So much is looked up, read and given back at a time: the largest job that nobody asked for by hand.
const PORTION: u64 = 32 << 20;

/// The spans, cut where there is more than one portion of them.
pub(super) fn portions(spans: &[Span]) -> Vec<Vec<Span>> {
    if spans.iter().map(|span| span.len).sum::<u64>() <= PORTION {
        return vec![spans.to_vec()];
    }
    let cut = |span: &Span| {
        let end = span.offset + span.len;
        let piece = move |offset| vec![Span { offset, len: PORTION.min(end - offset) }];
        (span.offset..end).step_by(PORTION as usize).map(piece)
    };
    spans.iter().flat_map(cut).collect()
}

/// Is there more in it than a hole? Where nobody can tell, there is.
pub(super) fn holds_data(file: &OwnedFd, spans: &[Span]) -> bool {
    let next = |span: &Span| seek(file, SeekFrom::Data(span.offset));
    spans.iter().any(|span| match next(span) {
        Ok(at) => at < span.offset + span.len,
        Err(error) => error != Errno::NXIO,
    })
}

/// A step that is not all in memory.
struct Gap {
    span: Span,
    missing: u64,
}

/// Reads the spans, in order, into the page cache, unless they are there, and waits until they are.
pub(super) fn bring(file: &OwnedFd, spans: &[Span], scratch: &mut Vec<u8>) -> Result<Brought, Errno> {
    let mut brought = Brought { bytes: 0, fresh: Vec::new() };
    // All looked up before anything is read: reading one step makes the kernel fetch the next ones too.
    let gaps: Vec<(Span, Vec<Gap>)> = spans.iter().map(|&span| (span, gaps(file, span))).collect();
    for (span, gaps) in gaps {
        let mut hinted = 0;
        for Gap { span: step, missing } in gaps {
            if span.len > PIECE {
                // One request at a time would fetch a long file at the pace of the source's latency.
                hinted =
                    hint(file, hinted.max(step.offset), (step.offset + AHEAD).min(span.offset + span.len));
            }
            read(file, step, scratch)?;
            brought.bytes += missing;
            if missing == step.len {
                brought.fresh.push(step);
            }
        }
    }
    Ok(brought)
}

/// Is all of the span in memory?
pub(super) fn is_cached(file: &OwnedFd, span: Span) -> bool {
    cachestat::cached(file, span.offset, span.len).is_ok_and(|cached| cached.all())
}

/// What is missing of a span.
fn gaps(file: &OwnedFd, span: Span) -> Vec<Gap> {
    if is_cached(file, span) {
        return Vec::new();
    }
    let end = span.offset + span.len;
    let gap = |offset| {
        let len = STEP.min(end - offset);
        // Where nobody can tell, all counts as missing, and the kernel knows better.
        let cached = cachestat::cached(file, offset, len).unwrap_or_default();
        let missing = len.saturating_sub(cached.pages * cachestat::page_size());
        Gap { span: Span { offset, len }, missing }
    };
    (span.offset..end).step_by(STEP as usize).map(gap).filter(|gap| gap.missing > 0).collect()
}

/// Asks for read-ahead from `from` up to `to`; a wish only, so failure costs nothing but time.
fn hint(file: &OwnedFd, from: u64, to: u64) -> u64 {
    for offset in (from..to).step_by(PIECE as usize) {
        let _ = fadvise(file, offset, std::num::NonZeroU64::new(PIECE.min(to - offset)), Advice::WillNeed);
    }
    to
}

/// Reads a span; less only at the end of the file. Returns how many bytes.
pub(super) fn read(file: &OwnedFd, span: Span, scratch: &mut Vec<u8>) -> Result<u64, Errno> {
    let Span { offset, len } = span;
    scratch.resize(STEP as usize, 0);
    let mut done = 0;
    while done < len {
        let room = (len - done).min(STEP) as usize;
        match pread(file, &mut scratch[..room], offset + done) {
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

impl Brought {
    /// Gives up the pages that this job brought in and that nobody had before.
    pub(super) fn drop_from(&self, file: &OwnedFd) {
        for &Span { offset, len } in &self.fresh {
            // Pages somebody maps or writes by now stay; that is as it should be.
            let _ = fadvise(file, offset, std::num::NonZeroU64::new(len), Advice::DontNeed);
        }
    }
}
