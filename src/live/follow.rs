//! A thread that follows a queue of fanotify reports.
//!
//! What must stay true: after a quiet time the first report is handled at once, because its process
//! may be gone soon; in a storm or a rush of reports that may wait the thread wakes once a nap and not once a report;
//! it ends when its `Follower` is dropped; when it ends earlier, its reader is told.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::sys::fanotify::Reports;

/// So many reports in one batch mean that more are coming faster than waking for each is worth.
const STORM: usize = 32;
/// Pause between batches in a storm: at the 200,000 opens a second of a hot search, some 200 reports, of
/// the 16,384 the kernel's queue has room for.
const PAUSE: Duration = Duration::from_millis(1);
/// Reports closer to each other than this come from something that goes on: a build, with an open every
/// half millisecond. Waking for each would cost it a tenth of its time.
const RUSH: Duration = Duration::from_millis(5);

/// More batches than the kernel's queue has room for: what comes after these came after the end was asked for.
const LAST_BATCHES: usize = 128;

/// What is done with the reports.
pub(crate) trait Reader: Send + 'static {
    /// Reads one batch and says how many reports that was. An error ends the thread.
    fn drain(&mut self, reports: &mut Reports) -> io::Result<usize>;

    /// When `drain` is to be called at the latest, though there may be nothing to read.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// How long reports in a rush may wait, so that several are read at one waking. Asked after each batch.
    fn nap(&self) -> Duration;

    /// No report will be read any more, by an error or a panic. Not told when the `Follower` is dropped.
    fn ended(&mut self, why: &str);
}

/// Keeps the thread going.
#[derive(Debug)]
pub(crate) struct Follower {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Has `reader` read whenever there are reports, in a thread called `name`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(name: &str, reports: Reports, reader: impl Reader) -> io::Result<Follower> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (ears, what) = (stop.clone(), name.to_owned());
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&what, &ears, reports, reader))?;
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

fn run(name: &str, stop: &OwnedFd, mut reports: Reports, mut reader: impl Reader) {
    let why = match catch_unwind(AssertUnwindSafe(|| follow(stop, &mut reports, &mut reader))) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the reader panicked".to_owned(),
    };
    log::warn!("{name}: reports cannot be read any more: {why}");
    // Nobody reads: the kernel need not collect.
    drop(reports);
    reader.ended(&why);
}

fn follow(stop: &OwnedFd, reports: &mut Reports, reader: &mut impl Reader) -> io::Result<()> {
    let mut before: Option<Instant> = None;
    loop {
        if wait(stop, reports, reader.due())? {
            return last_words(reports, reader);
        }
        let rush = before.replace(Instant::now()).is_some_and(|before| before.elapsed() < RUSH);
        let mut last = reader.drain(reports)?;
        let storm = last >= STORM;
        // First everything that is there: what waits in the queue keeps the mount busy.
        while last > 0 {
            last = reader.drain(reports)?;
        }
        let nap = if storm { reader.nap().min(PAUSE) } else { reader.nap() };
        if (storm || rush) && !nap.is_zero() {
            std::thread::sleep(nap);
        }
    }
}

/// What happened before the end was asked for is read still; what goes on happening must not hold it up.
fn last_words(reports: &mut Reports, reader: &mut impl Reader) -> io::Result<()> {
    for _ in 0..LAST_BATCHES {
        if reader.drain(reports)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Waits for reports, at most until `due`; true says to stop instead.
fn wait(stop: &OwnedFd, reports: &Reports, due: Option<Instant>) -> io::Result<bool> {
    let (stop, reports) = (stop.as_fd(), reports.as_fd());
    let mut fds =
        [PollFd::from_borrowed_fd(stop, PollFlags::IN), PollFd::from_borrowed_fd(reports, PollFlags::IN)];
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    // More than fits is as good as for ever.
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::{Receiver, Sender, unbounded};

    const LONG: Duration = Duration::from_secs(30);

    /// Ends as it is told, when it is due; nothing is ever reported to it.
    struct Doomed {
        end: fn() -> io::Result<usize>,
        told: Sender<String>,
    }

    impl Reader for Doomed {
        fn drain(&mut self, _: &mut Reports) -> io::Result<usize> {
            (self.end)()
        }

        fn nap(&self) -> Duration {
            Duration::ZERO
        }

        fn due(&self) -> Option<Instant> {
            Some(Instant::now() + Duration::from_millis(1))
        }

        fn ended(&mut self, why: &str) {
            self.told.send(why.to_owned()).unwrap();
        }
    }

    fn doomed(end: fn() -> io::Result<usize>) -> (Follower, Receiver<String>) {
        let dir = tempfile::tempdir().unwrap();
        let reports = Reports::of_opens(dir.path()).unwrap();
        let (told, hears) = unbounded();
        (Follower::start("doomed", reports, Doomed { end, told }).unwrap(), hears)
    }

    #[test]
    fn a_reader_is_told_of_its_end() {
        let (_follower, told) = doomed(|| Err(io::Error::from_raw_os_error(libc::EBADF)));
        assert!(told.recv_timeout(LONG).unwrap().contains("Bad file descriptor"));
        let (_follower, told) = doomed(|| panic!("as told"));
        assert!(told.recv_timeout(LONG).unwrap().contains("panicked"));
    }

    #[test]
    fn an_end_that_was_asked_for_is_not_told() {
        let (follower, told) = doomed(|| Ok(0));
        drop(follower);
        assert!(told.recv().is_err());
    }
}
