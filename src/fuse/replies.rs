//! Results of the mirror as answers to the kernel.

use std::time::Duration;

use fuser::{
    Generation, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyStatfs, ReplyWrite, ReplyXattr,
};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::convert::{bare_attr, errno, file_attr};
use crate::mirror::attr::Attr;
use crate::mirror::{Entry, Freshness, Result, Volume, Xattr};

/// A name that leads nowhere is an answer too, which the kernel may keep for `negative`.
pub(crate) fn looked_up(reply: ReplyEntry, result: Result<Entry>, negative: Duration) {
    match result {
        Err(Errno::NOENT) => {
            reply.entry(&negative, &bare_attr(0, FileType::RegularFile), Generation(0));
        }
        other => entry(reply, other),
    }
}

pub(crate) fn entry(reply: ReplyEntry, result: Result<Entry>) {
    match result {
        Ok(e) => {
            reply.entry_with_ttls(
                &e.fresh.attr,
                &e.fresh.entry,
                &file_attr(&e.attr),
                Generation(e.generation),
            );
        }
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn attr(reply: ReplyAttr, result: Result<(Attr, Freshness)>) {
    match result {
        Ok((attr, fresh)) => reply.attr(&fresh.attr, &file_attr(&attr)),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn empty(reply: ReplyEmpty, result: Result<()>) {
    match result {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn data(reply: ReplyData, result: Result<impl AsRef<[u8]>>) {
    match result {
        Ok(bytes) => reply.data(bytes.as_ref()),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn written(reply: ReplyWrite, result: Result<usize>) {
    match result {
        // The kernel asks for less than 4 GiB at a time.
        Ok(n) => reply.written(n as u32),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn offset(reply: ReplyLseek, result: Result<u64>) {
    match result {
        Ok(n) => reply.offset(n as i64),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn xattr(reply: ReplyXattr, result: Result<Xattr>) {
    match result {
        Ok(Xattr::Length(n)) => reply.size(n),
        Ok(Xattr::Bytes(bytes)) => reply.data(&bytes),
        Err(e) => reply.error(errno(e)),
    }
}

pub(crate) fn statfs(reply: ReplyStatfs, result: Result<Volume>) {
    match result {
        Ok(v) => reply.statfs(
            v.f_blocks,
            v.f_bfree,
            v.f_bavail,
            v.f_files,
            v.f_ffree,
            v.f_bsize as u32,
            v.f_namemax as u32,
            v.f_frsize as u32,
        ),
        Err(e) => reply.error(errno(e)),
    }
}
