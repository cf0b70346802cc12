//! How a request is worked off: at once when the answer is in memory, else where it may block: on the
//! thread that read it while others read on, or on the pool.
//!
//! What must stay true: there is always a thread that reads requests and runs only what cannot block; each request is
//! answered exactly once (fuser answers EIO when a reply is dropped) and timed from arrival to
//! answer; a panic costs its request only; a reader that comes to a closed gate has nothing left to do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;

use super::backing::Backings;
use super::gate::Gate;
use super::pool::Pool;
use super::prologue::Agreed;
use super::readers::Readers;
use super::waiting::Waiting;
use crate::config::DataPath;
use crate::mirror::{How, Mirror, Result};
use crate::stats::{Counters, Operation};

/// What every request needs.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) mirror: Arc<Mirror>,
    pub(crate) pool: Pool,
    pub(crate) readers: Readers,
    pub(crate) gate: Gate,
    pub(crate) agreed: Agreed,
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) path: DataPath,
    pub(crate) backings: Arc<Backings>,
    pub(crate) counters: Arc<Counters>,
}

/// Times a request until it has been answered.
pub(crate) struct Timing {
    counters: Arc<Counters>,
    operation: Operation,
    start: Instant,
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.counters.latencies.record(self.operation, self.start.elapsed());
        self.counters.stir.tell();
    }
}

impl Desk {
    pub(crate) fn timing(&self, operation: Operation) -> Timing {
        Timing { counters: self.counters.clone(), operation, start: Instant::now() }
    }

    /// Answers from memory when `work` can, else where it may block.
    pub(crate) fn serve<T, R: Send + 'static>(
        &self,
        operation: Operation,
        reply: R,
        work: impl Fn(&Mirror, How) -> Result<T> + Send + 'static,
        send: impl FnOnce(R, Result<T>) + Send + 'static,
    ) {
        let timing = self.timing(operation);
        let answer = self.mirror.answer();
        let tried = catch_unwind(AssertUnwindSafe(|| work(&self.mirror, How::InMemory)));
        match tried {
            Ok(Err(Errno::AGAIN)) => {
                let mirror = self.mirror.clone();
                self.may_block(move || {
                    let _until_answered = (timing, answer);
                    send(reply, work(&mirror, How::MayBlock));
                });
            }
            Ok(result) => send(reply, result),
            Err(_) => {
                log::error!("{} failed by a panic", operation.as_str());
                send(reply, Err(Errno::IO));
            }
        }
        self.gate.pass();
    }

    /// Has `work` done where it may block.
    pub(crate) fn defer<T, R: Send + 'static>(
        &self,
        operation: Operation,
        reply: R,
        work: impl FnOnce(&Mirror) -> Result<T> + Send + 'static,
        send: impl FnOnce(R, Result<T>) + Send + 'static,
    ) {
        let until_answered = (self.timing(operation), self.mirror.answer());
        let mirror = self.mirror.clone();
        self.may_block(move || {
            let _until_answered = until_answered;
            send(reply, work(&mirror));
        });
        self.gate.pass();
    }

    /// Runs `task` here and now if others read on meanwhile, else on the pool.
    pub(crate) fn may_block(&self, task: impl FnOnce() + Send + 'static) {
        let Some(_leave) = self.readers.leave() else { return self.pool.run(task) };
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            log::error!("a request failed by a panic");
        }
    }

    /// Does something that cannot block, here and now.
    pub(crate) fn at_once(&self, operation: Operation, work: impl FnOnce()) {
        let _timing = self.timing(operation);
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            log::error!("{} failed by a panic", operation.as_str());
        }
    }
}
