//! A thread that follows a queue of fanotify reports.
//!
//! What must stay true: after a quiet time the first report is handled at once, because its process
//! may be gone soon; in a storm of reports the thread wakes once a millisecond and not once a report;
//! it ends when its `Follower` is dropped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::sys::fanotify::Reports;

/// So many reports in one batch mean that more are coming faster than waking for each is worth.
const STORM: usize = 32;
/// Pause between batches in a storm: at the 200,000 opens a second of a hot search, some 200 reports, of
/// the 16,384 the kernel's queue has room for.
const PAUSE: Duration = Duration::from_millis(1);

/// Keeps the thread going.
#[derive(Debug)]
pub(crate) struct Follower {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Calls `drain` in a thread called `name` whenever there are reports to read; it reads one batch and
    /// says how many reports that was. An error ends the thread, with one warning.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(
        name: &str,
        mut reports: Reports,
        mut drain: impl FnMut(&mut Reports) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Follower> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (ears, what) = (stop.clone(), name.to_owned());
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Err(error) = follow(&ears, &mut reports, &mut drain) {
                log::warn!("{what}: reports cannot be read any more: {error}");
            }
        })?;
        Ok(Follower { stop, thread: Some(thread) })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The counter cannot overflow by one.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            log::error!("a thread that follows reports panicked");
        }
    }
}

fn follow(
    stop: &OwnedFd,
    reports: &mut Reports,
    drain: &mut impl FnMut(&mut Reports) -> io::Result<usize>,
) -> io::Result<()> {
    loop {
        if wait(stop, reports)? {
            return Ok(());
        }
        let mut last = drain(reports)?;
        let storm = last >= STORM;
        // First everything that is there: what waits in the queue keeps the mount busy.
        while last > 0 {
            last = drain(reports)?;
        }
        if storm {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Waits for reports; true says to stop instead.
fn wait(stop: &OwnedFd, reports: &Reports) -> io::Result<bool> {
    let (stop, reports) = (stop.as_fd(), reports.as_fd());
    let mut fds =
        [PollFd::from_borrowed_fd(stop, PollFlags::IN), PollFd::from_borrowed_fd(reports, PollFlags::IN)];
    match poll(&mut fds, None) {
        Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}
