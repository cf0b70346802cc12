//! Threads for what may block, so that the thread that reads requests never does.
//!
//! What must stay true: a task waits for a thread only when `MOST` are busy; a panic in a task costs
//! its request (which is answered with an error as its reply is dropped), not the thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use rustix::process::{Resource, getrlimit};

use crate::sys::thread::own_umask;

/// Threads at most. Each waits for the source most of the time: this is how many requests a slow
/// source can have in flight for us. Each may hold a few descriptors meanwhile: a quarter of the limit
/// on these is the most as well.
const MOST: usize = 256;

/// A thread that has had nothing to do for so long ends.
const IDLE: Duration = Duration::from_secs(5);

type Task = Box<dyn FnOnce() + Send>;

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    to: Sender<Task>,
    from: Receiver<Task>,
    census: Arc<Census>,
    most: usize,
}

/// How many threads there are, and how many tasks they have or will get.
#[derive(Debug, Default)]
struct Census {
    threads: AtomicUsize,
    tasks: AtomicUsize,
}

impl Pool {
    /// A pool without threads yet.
    ///
    /// # Errors
    /// When threads cannot be had, or cannot have a umask of their own (a sandbox may forbid it).
    pub(crate) fn new() -> io::Result<Self> {
        let probe = std::thread::Builder::new().name("io".into()).spawn(own_umask)?;
        probe.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        let (to, from) = unbounded();
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = MOST.min((limit / 4) as usize).max(1);
        Ok(Pool { to, from, census: Arc::default(), most })
    }

    /// Runs `task` on a thread of the pool.
    pub(crate) fn run(&self, task: impl FnOnce() + Send + 'static) {
        let tasks = 1 + self.census.tasks.fetch_add(1, Ordering::SeqCst);
        // Never fails: we hold a receiver ourselves.
        let _ = self.to.send(Box::new(task));
        if tasks > self.census.threads.load(Ordering::SeqCst) {
            self.grow();
        }
    }

    /// Is nothing under way and nothing waiting?
    pub(crate) fn is_idle(&self) -> bool {
        self.census.tasks.load(Ordering::SeqCst) == 0
    }

    fn grow(&self) {
        if self.census.threads.fetch_add(1, Ordering::SeqCst) >= self.most {
            self.census.threads.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let (from, census) = (self.from.clone(), self.census.clone());
        let started = std::thread::Builder::new().name("io".into()).spawn(move || work(&from, &census));
        if let Err(error) = started {
            self.census.threads.fetch_sub(1, Ordering::SeqCst);
            log::warn!("no further thread for requests: {error}");
            if self.census.threads.load(Ordering::SeqCst) == 0 {
                // Nobody would ever take it. Its reply is an error as it is dropped.
                let _task = self.from.try_recv().inspect(|_| {
                    self.census.tasks.fetch_sub(1, Ordering::SeqCst);
                });
            }
        }
    }
}

fn work(from: &Receiver<Task>, census: &Census) {
    if let Err(error) = own_umask() {
        log::error!("a thread cannot have a umask of its own: {error}");
        census.threads.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    loop {
        while let Ok(task) = from.recv_timeout(IDLE) {
            if catch_unwind(AssertUnwindSafe(task)).is_err() {
                log::error!("a request failed by a panic");
            }
            census.tasks.fetch_sub(1, Ordering::SeqCst);
        }
        census.threads.fetch_sub(1, Ordering::SeqCst);
        // A task may have been counted on this thread just before it left.
        if from.is_empty() {
            return;
        }
        census.threads.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn as_many_tasks_block_at_once_as_there_are() {
        let pool = Pool::new().unwrap();
        let barrier = Arc::new(Barrier::new(65));
        for _ in 0..64 {
            let barrier = barrier.clone();
            pool.run(move || {
                barrier.wait();
            });
        }
        // Passes only when all 64 wait at the same time.
        barrier.wait();
    }

    #[test]
    fn a_panic_costs_one_task() {
        let pool = Pool::new().unwrap();
        let (to, from) = unbounded();
        pool.run(|| panic!("on purpose"));
        pool.run(move || to.send(7).unwrap());
        assert_eq!(from.recv_timeout(Duration::from_secs(10)), Ok(7));
    }
}
