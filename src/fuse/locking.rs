//! Requests for locks.
//!
//! What must stay true: a request that would have to wait leaves its thread.

use std::time::{Duration, Instant};

use fuser::{FileHandle, INodeNo, LockOwner, ReplyEmpty, ReplyLock};
use rustix::io::Errno;

use super::convert::errno;
use super::replies;
use super::serve::Desk;
use super::waiting::Waiter;
use crate::mirror::{Locking, Style};
use crate::stats::Operation;
use crate::sys::lock::{Mode, Range};
use crate::sys::proc;

/// The kernel does not wait until we have heard that a file was closed: a lock that ended before this one was asked for
/// may seem to be held for a moment.
const GRACE: Duration = Duration::from_millis(20);

/// A lock in the kernel's words.
pub(crate) fn locking(
    ino: INodeNo,
    fh: FileHandle,
    owner: LockOwner,
    (start, end): (u64, u64),
    kind: i32,
    pid: u32,
) -> Result<Locking, Errno> {
    let mode = match kind {
        libc::F_RDLCK => Mode::Shared,
        libc::F_WRLCK => Mode::Exclusive,
        libc::F_UNLCK => Mode::Unlock,
        _ => return Err(Errno::INVAL),
    };
    let range = Range { start, end };
    Ok(Locking { nodeid: ino.0, handle: fh.0, owner: owner.0, pid, mode, range })
}

/// Tells of a lock in the way.
pub(crate) fn test(desk: &Desk, wanted: Result<Locking, Errno>, reply: ReplyLock) {
    let work = move |m: &crate::mirror::Mirror| m.lock_in_the_way(&wanted?);
    desk.defer(Operation::Getlk, reply, work, |reply, held| match held {
        Ok(None) => reply.locked(0, 0, libc::F_UNLCK, 0),
        Ok(Some(held)) => {
            let kind = if held.mode == Mode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
            reply.locked(held.range.start, held.range.end, kind, held.pid.unwrap_or(0));
        }
        Err(error) => reply.error(errno(error)),
    });
}

/// Sets or ends a lock; with `waits`, when it can be had.
pub(crate) fn set(desk: &Desk, tid: u32, wanted: Result<Locking, Errno>, waits: bool, reply: ReplyEmpty) {
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(error) => return reply.error(errno(error)),
    };
    let (timing, mirror, waiting) =
        (desk.timing(Operation::Setlk), desk.mirror.clone(), desk.waiting.clone());
    desk.may_block(move || {
        let attempt = move || mirror.lock(&wanted, || style(tid));
        let result = attempt();
        if wanted.mode == Mode::Unlock {
            waiting.wake();
        }
        match result {
            Err(Errno::AGAIN) => {
                drop(timing);
                let until = (!waits).then(|| Instant::now() + GRACE);
                let answer = Box::new(move |result| replies::empty(reply, result));
                waiting.enter(Waiter { tid, until, attempt: Box::new(attempt), answer });
            }
            result => replies::empty(reply, result),
        }
    });
    desk.gate.pass();
}

/// Which kind of lock does the thread, which waits for the answer, ask for? The request does not say.
fn style(tid: u32) -> Style {
    if proc::is_in_flock(tid) { Style::Whole } else { Style::Record }
}
