//! Answers that list a directory, with or without the inodes of its entries.

use std::time::{Duration, Instant};

use fuser::{Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use rustix::io::Errno;

use super::convert::{bare_attr, errno, file_attr, file_type};
use crate::mirror::{DirEntry, How, Listing, Mirror, Requester};

/// A listing that also resolves names stops resolving after so long: the kernel asks again, and a
/// program that only wants names gets them without waiting for every inode.
const PATIENCE: Duration = Duration::from_millis(5);

/// Entries from position `offset`, as many as fit.
pub(crate) fn list(m: &Mirror, who: Requester, nodeid: u64, offset: u64, mut reply: ReplyDirectory) {
    let listed = m.list(who, nodeid, offset).and_then(|listing| {
        m.entries(&listing, |e| reply.add(INodeNo(e.ino), e.next, file_type(e.kind), &e.name))
    });
    match listed {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

/// Entries with their inodes, as many as fit and as `PATIENCE` allows.
pub(crate) fn list_plus(m: &Mirror, who: Requester, nodeid: u64, offset: u64, mut reply: ReplyDirectoryPlus) {
    let start = Instant::now();
    let listing = match m.list(who, nodeid, offset) {
        Ok(listing) => listing,
        Err(error) => return reply.error(errno(error)),
    };
    let mut any = false;
    let listed = m.entries(&listing, |entry| {
        if any && start.elapsed() > PATIENCE {
            return true;
        }
        let full = add(m, &listing, &entry, &mut reply, any);
        any = true;
        full
    });
    match listed {
        // The directory itself has gone: it has no entries.
        Ok(()) | Err(Errno::NOENT) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

/// Adds one entry; says whether there was no room for it. Where inodes are brought by others, many at once, one that
/// is not in memory ends the answer, unless it is the first: who wants it asks for it, and is waited for.
fn add(
    m: &Mirror,
    listing: &Listing,
    entry: &DirEntry,
    reply: &mut ReplyDirectoryPlus,
    may_end: bool,
) -> bool {
    if matches!(entry.name.as_encoded_bytes(), b"." | b"..") {
        let (attr, none) = (bare_attr(entry.ino, entry.kind), Duration::ZERO);
        return reply.add(INodeNo(entry.ino), entry.next, &entry.name, &none, &attr, Generation(0));
    }
    // An entry that has gone since is left out, as a later listing would.
    let how = if may_end && m.follows_walks() { How::InMemory } else { How::MayBlock };
    let found = match m.enter_listed(listing, &entry.name, how) {
        Ok(found) => found,
        Err(Errno::AGAIN) => return true,
        Err(_) => return false,
    };
    let (attr, ino) = (file_attr(&found.attr), found.attr.ino);
    // One time for both: the shorter.
    let fresh = found.fresh.attr.min(found.fresh.entry);
    let full = reply.add(INodeNo(ino), entry.next, &entry.name, &fresh, &attr, Generation(found.generation));
    if full {
        drop(m.forget(ino, 1));
    }
    full
}
