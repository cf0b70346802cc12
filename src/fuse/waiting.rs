//! Requests for locks that somebody else holds: kept and tried again, by a thread of their own.
//!
//! Tried again and not waited for in the source, because such a wait could not be ended: the kernel's word that the caller
//! was interrupted does not reach us (the adapter library refuses it). So the caller is looked at as well.
//!
//! What must stay true: no thread that reads requests waits for a lock; each waiter is answered exactly once; whoever came
//! first is tried first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::mirror::Result;
use crate::sys::proc;

/// How often what was not to be had is tried again. What is given up inside the mount is tried at once; this is for
/// locks held below.
const PERIOD: Duration = Duration::from_millis(5);

/// With many waiters a round of trials takes longer: at most this part of the time is spent on them.
const SHARE: u32 = 10;

/// One who waits.
pub(crate) struct Waiter {
    /// The thread that asked; 0 when it cannot be seen.
    pub(crate) tid: u32,
    /// Then "held by another" is the answer. `None`: there is no such time.
    pub(crate) until: Option<Instant>,
    /// Tries, without waiting: `EAGAIN` while another holds it.
    pub(crate) attempt: Box<dyn FnMut() -> Result<()> + Send>,
    /// Answers.
    pub(crate) answer: Box<dyn FnOnce(Result<()>) + Send>,
}

impl Waiter {
    /// What to answer now, if anything.
    fn outcome(&mut self) -> Option<Result<()>> {
        match (self.attempt)() {
            Err(Errno::AGAIN) if proc::is_interrupted(self.tid) => Some(Err(Errno::INTR)),
            Err(Errno::AGAIN) if self.until.is_none_or(|until| Instant::now() < until) => None,
            result => Some(result),
        }
    }
}

/// The way to the thread, once there is one. `None` in the channel: something was given up.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    to: OnceLock<Option<Sender<Option<Waiter>>>>,
    queue: Arc<Queue>,
}

/// How the queue stands.
#[derive(Debug, Default)]
struct Queue {
    /// Is nobody to be tried?
    suspended: AtomicBool,
    /// Held while somebody is, which takes as long as the source takes to answer.
    trial: Mutex<()>,
    /// Those who wait.
    length: AtomicUsize,
}

impl Waiting {
    /// Keeps a request until it can be answered.
    pub(crate) fn enter(&self, waiter: Waiter) {
        if let Some(to) = self.to.get_or_init(|| start(self.queue.clone())) {
            self.queue.length.fetch_add(1, Ordering::SeqCst);
            // The thread ends only with us. A waiter that is dropped is answered with an error.
            let _ = to.send(Some(waiter));
        }
    }

    /// A lock was given up: who waits may have it now.
    pub(crate) fn wake(&self) {
        if let Some(Some(to)) = self.to.get() {
            let _ = to.send(None);
        }
    }

    /// From when this returns, nobody who waits is answered; how many that are. `None` when somebody is still being tried at
    /// `deadline`. Either way `resume` is due.
    pub(crate) fn suspend(&self, deadline: Instant) -> Option<usize> {
        self.queue.suspended.store(true, Ordering::SeqCst);
        let _over = self.queue.trial.try_lock_until(deadline)?;
        Some(self.queue.length.load(Ordering::SeqCst))
    }

    /// They are tried again.
    pub(crate) fn resume(&self) {
        self.queue.suspended.store(false, Ordering::SeqCst);
        self.wake();
    }
}

fn start(queue: Arc<Queue>) -> Option<Sender<Option<Waiter>>> {
    let (to, from) = unbounded();
    let thread = std::thread::Builder::new().name("locks".into());
    let started = thread.spawn(move || run(&from, &queue));
    started.inspect_err(|error| log::warn!("nobody can wait for a lock: {error}")).is_ok().then_some(to)
}

fn run(from: &Receiver<Option<Waiter>>, queue: &Queue) {
    let mut waiters = Vec::new();
    while let Ok(first) = from.recv() {
        waiters.extend(first);
        let mut pause = Duration::ZERO;
        while !waiters.is_empty() {
            waiters.extend(from.recv_timeout(pause).into_iter().chain(from.try_iter()).flatten());
            let start = Instant::now();
            {
                let _trial = queue.trial.lock();
                if !queue.suspended.load(Ordering::SeqCst) {
                    let before = waiters.len();
                    waiters = waiters.into_iter().filter_map(tried).collect();
                    queue.length.fetch_sub(before - waiters.len(), Ordering::SeqCst);
                }
            }
            pause = PERIOD.max(start.elapsed() * SHARE);
        }
    }
}

/// Answers a waiter, or gives it back.
fn tried(mut waiter: Waiter) -> Option<Waiter> {
    let Some(result) = waiter.outcome() else { return Some(waiter) };
    (waiter.answer)(result);
    None
}
