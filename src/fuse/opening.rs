//! Answers that open a file: under which flags, and with which backing.

use std::io;

use fuser::{BackingId, FileHandle, FopenFlags, Generation, ReplyCreate, ReplyOpen};
use rustix::fs::OFlags;

use super::backing::Backings;
use super::convert::{errno, file_attr};
use crate::mirror::{Entry, Opened, Result};
use crate::sys::backing;

/// Answers an open of `nodeid` that asked for `flags`.
pub(crate) fn opened(
    reply: ReplyOpen,
    result: Result<Opened>,
    nodeid: u64,
    flags: OFlags,
    backings: &Backings,
) {
    let opened = match result {
        Ok(opened) => opened,
        Err(error) => return reply.error(errno(error)),
    };
    let backing = backings.open(nodeid, || match opened.direct {
        true => Err(io::ErrorKind::Unsupported.into()),
        false => reply.open_backing(&*opened.fd).map(BackingId::into_raw),
    });
    let flags = open_flags(flags, &opened, backing.is_some());
    let handle = FileHandle(opened.handle);
    match backing {
        Some(id) => {
            let id = Lent::of(backing::wrap(&reply, id, ReplyOpen::wrap_backing));
            reply.opened_passthrough(handle, flags, id.get());
        }
        None => reply.opened(handle, flags),
    }
}

/// Answers the making of a file that was opened with `flags`. Without a handle nothing is counted as
/// open, for nothing will be released.
pub(crate) fn created(
    reply: ReplyCreate,
    result: Result<(Entry, Opened)>,
    flags: OFlags,
    backings: &Backings,
) {
    let (entry, opened) = match result {
        Ok(made) => made,
        Err(error) => return reply.error(errno(error)),
    };
    let backing = match opened.handle {
        0 => None,
        _ => backings.open(entry.attr.ino, || reply.open_backing(&*opened.fd).map(BackingId::into_raw)),
    };
    let (attr, generation) = (file_attr(&entry.attr), Generation(entry.generation));
    let flags = open_flags(flags, &opened, backing.is_some());
    let (ttl, handle) = (&entry.fresh.entry, FileHandle(opened.handle));
    match backing {
        Some(id) => {
            let id = Lent::of(backing::wrap(&reply, id, ReplyCreate::wrap_backing));
            reply.created_passthrough(ttl, &attr, generation, handle, flags, id.get());
        }
        None => reply.created(ttl, &attr, generation, handle, flags),
    }
}

/// A number in the library's clothes, for one answer: it is closed by `Backings`, not with this.
struct Lent(Option<BackingId>);

impl Lent {
    fn of(id: BackingId) -> Self {
        Lent(Some(id))
    }

    fn get(&self) -> &BackingId {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.take().map(BackingId::into_raw);
    }
}

/// How the kernel shall treat an open file. Without a flush, closing a file costs no request; who
/// wrote may want to hear of an error.
fn open_flags(asked: OFlags, opened: &Opened, passthrough: bool) -> FopenFlags {
    let reads = asked & OFlags::RWMODE == OFlags::RDONLY;
    let mut flags = if reads && opened.quiet_close { FopenFlags::FOPEN_NOFLUSH } else { FopenFlags::empty() };
    if opened.direct {
        flags |= FopenFlags::FOPEN_DIRECT_IO;
    } else if opened.unchanged && !passthrough {
        flags |= FopenFlags::FOPEN_KEEP_CACHE;
    }
    flags
}
