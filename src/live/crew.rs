//! The workers: threads that take jobs from the board and have the backing do them.
//!
//! What must stay true: workers are started when there is work and end when there is none; their
//! requests to our own mount are known as ours before the first one; a job that panics is a failed job
//! and nothing more; every job taken is settled.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::backing::{Backing, Scratch};
use super::board::{Begun, Board, Joined, Want};
use super::desk::{Desk, Input};
use super::pace::{Pace, Ways};
use super::rate::Rate;
use super::respite::Respite;
use super::worth::Worth;
use crate::engine::{Job, Outcome, Window};
use crate::id::{FileId, JobId};
use crate::stats::Dropped;
use crate::sys::credentials::Credentials;

/// A worker's stack: its deepest call formats a path and makes a system call.
const STACK: usize = 256 << 10;

/// One head: everything that fits the budget, in the order of the device.
const ONE_HEAD_WINDOW: Window = Window { files: 16_384, bytes: u64::MAX, names_first: true };
/// Many ways: in order of need, twice as many files as are under way at once.
const MANY_WAYS_WINDOW: Window =
    Window { files: 2 * super::pace::MANY_WAYS, bytes: 32 << 20, names_first: false };
/// Jobs at once where the source is fast: each needs a processor more than it needs the source.
const FAST_WIDTH: usize = 3;
/// In order of need, some milliseconds ahead.
const FAST_WINDOW: Window = Window { files: 64, bytes: 8 << 20, names_first: false };

/// The crew.
pub(crate) struct Crew {
    board: Board,
    backing: Box<dyn Backing>,
    desk: Arc<Desk>,
    pace: Mutex<Pace>,
    worth: Mutex<Worth>,
    /// Is the source so fast that only a few workers pay?
    cheap: AtomicBool,
    /// On one head a job out of turn costs everybody more than it saves.
    hasten: AtomicBool,
    /// Requests that are at the source for somebody else than us.
    foreground: Arc<AtomicUsize>,
    /// Whom jobs that have not begun are for.
    users: Mutex<HashMap<JobId, Arc<Credentials>>>,
    rate: Rate,
    /// From waiting for jobs that do not come to an end.
    respite: Respite,
    pub(crate) panicked: AtomicU64,
}

impl Crew {
    pub(crate) fn new(
        backing: Box<dyn Backing>,
        desk: Arc<Desk>,
        join_wait: Duration,
        rate: Option<u64>,
    ) -> Self {
        let pace = Pace::new();
        desk.tuning.set_join_wait(join_wait);
        Crew {
            board: Board::new(pace.width()),
            backing,
            desk,
            pace: Mutex::new(pace),
            worth: Mutex::default(),
            cheap: AtomicBool::new(false),
            hasten: AtomicBool::new(true),
            foreground: Arc::default(),
            users: Mutex::default(),
            rate: Rate::new(rate),
            respite: Respite::default(),
            panicked: AtomicU64::new(0),
        }
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    pub(crate) fn foreground(&self) -> &Arc<AtomicUsize> {
        &self.foreground
    }

    pub(crate) fn standing(&self) -> (Ways, usize) {
        if self.is_cheap() {
            return (Ways::Fast, FAST_WIDTH);
        }
        let pace = self.pace.lock();
        (pace.ways(), pace.width())
    }

    fn is_cheap(&self) -> bool {
        self.cheap.load(Ordering::Relaxed)
    }

    /// Jobs about to be put up are for these users: no more is brought for them than they might read themselves. A job that
    /// was not spoken of is for somebody with our own rights.
    pub(crate) fn are_for(&self, jobs: impl Iterator<Item = (JobId, Arc<Credentials>)>) {
        self.users.lock().extend(jobs.filter(|(_, user)| !user.is_root()));
    }

    /// Puts jobs up, with workers for them.
    pub(crate) fn post(self: &Arc<Self>, jobs: &[Job]) {
        let missing = self.board.post(jobs);
        self.hire(missing);
    }

    pub(crate) fn withdraw(&self, job: JobId) -> bool {
        let withdrawn = self.board.withdraw(job);
        if withdrawn {
            self.users.lock().remove(&job);
        }
        withdrawn
    }

    /// A request waits for what is planned for its file.
    pub(crate) fn join(&self, file: FileId, want: Want) -> Joined {
        // Either the source is in trouble, or it is read sooner than its turn comes.
        let soon = (self.is_cheap() || self.rate.is_limited()) && !self.board.is_flying(file, want);
        if soon || self.respite.rests(Instant::now()) {
            return Joined::NotPlanned;
        }
        let joined =
            self.board.join(file, want, self.hasten.load(Ordering::Relaxed), self.desk.tuning.join_wait());
        if joined != Joined::NotPlanned {
            self.respite.note(joined == Joined::TimedOut, Instant::now());
        }
        match joined {
            Joined::Arrived => self.desk.counters.prefetch.joined.one(),
            Joined::TimedOut => self.desk.counters.prefetch.join_timeouts.one(),
            Joined::NotPlanned => {}
        }
        joined
    }

    /// No more jobs; whoever waits is released.
    pub(crate) fn close(&self) {
        self.board.close();
        self.rate.close();
        self.users.lock().clear();
    }

    fn hire(self: &Arc<Self>, count: usize) {
        for _ in 0..count {
            let crew = self.clone();
            let worker = std::thread::Builder::new().name("warm".into()).stack_size(STACK);
            if let Err(error) = worker.spawn(move || crew.work()) {
                log::warn!("a worker could not be started: {error}");
                self.board.lose_worker();
            }
        }
    }

    fn work(self: Arc<Self>) {
        let id = self.desk.processes.enlist();
        let mut scratch = Scratch::default();
        while let Some(begun) = self.board.take() {
            let bytes = self.perform(begun, &mut scratch);
            self.pay(bytes);
        }
        self.desk.processes.dismiss(id);
    }

    /// Does a job; bytes that came from the source.
    fn perform(self: &Arc<Self>, begun: Begun, scratch: &mut Scratch) -> u64 {
        let job = begun.job;
        // When the engine thread is gone nobody is left to tell.
        self.desk.deliver(Input::Started(job.id));
        scratch.user = self.users.lock().remove(&job.id);
        let outcome = self.attempt(&job, scratch);
        let took = std::mem::take(&mut scratch.fetching);
        let flying = self.board.finish(&job).max(begun.flying);
        if outcome == Outcome::Failed || scratch.failure.is_some() {
            self.desk.counters.dropped(Dropped::because(scratch.failure.take()));
        }
        // Before the job's end, which may ask for what comes next.
        let listed = std::mem::take(&mut scratch.listed);
        if !listed.is_empty() {
            self.desk.deliver(Input::Listed(listed));
        }
        self.desk.deliver(Input::Settled(job.id, outcome));
        if let Outcome::Warmed { bytes, .. } = outcome {
            let at_once = flying + self.foreground.load(Ordering::Relaxed);
            self.measure(bytes, took, at_once);
            return bytes;
        }
        0
    }

    /// Lets go of a file's pages; how many bytes that were.
    pub(super) fn release(&self, file: FileId) -> u64 {
        catch_unwind(AssertUnwindSafe(|| self.backing.release(file))).unwrap_or(0)
    }

    /// A request of somebody else had to wait for the source.
    pub(super) fn waited(self: &Arc<Self>, beginning: bool, took: Duration) {
        self.desk.counters.restraint.waited(beginning, took);
        self.weigh(beginning, took);
    }

    /// So many bytes were brought: waits until the rate allows more.
    pub(super) fn pay(&self, bytes: u64) {
        self.rate.pay(bytes);
    }

    /// Does a job; one that panics has failed.
    pub(super) fn attempt(&self, job: &Job, scratch: &mut Scratch) -> Outcome {
        // The backing keeps nothing between jobs that a panic could leave half done.
        catch_unwind(AssertUnwindSafe(|| self.backing.warm(job, scratch, &|want| self.board.land(job, want))))
            .unwrap_or_else(|_| {
                if self.panicked.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::error!("a prefetching job failed; the others go on");
                }
                Outcome::Failed
            })
    }

    /// Finds out whether what somebody waited for was worth a crowd.
    fn weigh(self: &Arc<Self>, beginning: bool, took: Duration) {
        let cheap = {
            let mut worth = self.worth.lock();
            worth.waited(beginning, took);
            worth.is_cheap()
        };
        if self.cheap.swap(cheap, Ordering::Relaxed) != cheap {
            let (_, width) = self.standing();
            let missing = self.board.set_width(width);
            self.hire(missing);
        }
    }

    fn measure(self: &Arc<Self>, bytes: u64, took: Duration, at_once: usize) {
        if !self.pace.lock().record(bytes, took, at_once) {
            return;
        }
        let (ways, width) = self.standing();
        self.hasten.store(ways != Ways::One, Ordering::Relaxed);
        let missing = self.board.set_width(width);
        self.hire(missing);
    }
}

/// How much the engine should ask for at once on such a source.
pub(crate) fn window(ways: Ways) -> Window {
    match ways {
        Ways::Unknown => Window::default(),
        Ways::One => ONE_HEAD_WINDOW,
        Ways::Many => MANY_WAYS_WINDOW,
        Ways::Fast => FAST_WINDOW,
    }
}
