//! The jobs: which wait, which are under way, and who waits for them.
//!
//! What must stay true: jobs begin in the order in which they were asked for, except one that a
//! request waits for; a job is begun once or withdrawn, never both; whoever waits here is released
//! when what the job is for has come, by a deadline, or when the board closes; no lock is held while anybody is woken.

pub(crate) mod state;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::engine::Job;
use crate::id::{FileId, JobId};
use state::{Stage, State};

/// A worker with nothing to do ends after this long.
const IDLE: Duration = Duration::from_secs(10);
/// Condition variables that waiting requests are spread over, so that each job's end wakes few.
const SHARDS: usize = 16;

/// What a request is about to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// The name and the attributes, of a directory its entries too.
    Attributes,
    /// The content.
    Data,
}

/// What came of waiting for a planned job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Nothing was planned: no time was lost.
    NotPlanned,
    /// What was wanted is in memory, if it could be read at all.
    Arrived,
    /// It had not ended by the deadline.
    TimedOut,
}

/// The board. All methods may be called from any thread.
#[derive(Debug)]
pub(crate) struct Board {
    state: Mutex<State>,
    work: Condvar,
    arrived: [Condvar; SHARDS],
    /// Planned files, to answer "nothing planned" without the lock.
    planned: AtomicUsize,
}

/// A job to be done now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) job: Job,
    /// Jobs under way, this one included.
    pub(crate) flying: usize,
}

impl Board {
    /// An empty board for at most `width` jobs at once.
    pub(crate) fn new(width: usize) -> Self {
        Board {
            state: Mutex::new(State::new(width)),
            work: Condvar::new(),
            arrived: std::array::from_fn(|_| Condvar::new()),
            planned: AtomicUsize::new(0),
        }
    }

    /// Puts jobs up. Returns how many more workers to start; they are counted as started.
    pub(crate) fn post(&self, jobs: &[Job]) -> usize {
        let mut state = self.state.lock();
        if state.closed {
            return 0;
        }
        for job in jobs {
            state.post(job);
        }
        self.publish(&state);
        let wake = state.idle.min(jobs.len());
        let missing = state.missing_workers();
        state.workers += missing;
        drop(state);
        for _ in 0..wake {
            self.work.notify_one();
        }
        missing
    }

    /// Takes a job down unless it has begun or a request waits for it. Says whether it did.
    pub(crate) fn withdraw(&self, id: JobId) -> bool {
        let mut state = self.state.lock();
        let withdrawn = state.withdraw(id);
        self.publish(&state);
        withdrawn
    }

    /// The next job for a worker; `None` tells it to end, and counts it as ended.
    pub(crate) fn take(&self) -> Option<Begun> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                state.workers -= 1;
                drop(state);
                self.work.notify_all();
                return None;
            }
            if let Some(job) = state.next() {
                return Some(Begun { job, flying: state.flying });
            }
            state.idle += 1;
            let late = self.work.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            if late && !state.may_begin() && !state.closed {
                state.workers -= 1;
                return None;
            }
        }
    }

    /// A worker could not be started after all, or ended without asking.
    pub(crate) fn lose_worker(&self) {
        self.state.lock().workers -= 1;
    }

    /// What a job under way is for is in memory below the mount: whoever wants no more goes on. The rest of the job is
    /// done through the mount, and may itself have to wait for a lock that the kernel holds for one of those.
    pub(crate) fn land(&self, job: &Job, want: Want) {
        let mut state = self.state.lock();
        state.land(job.id, want);
        let awaited = state.awaited.contains_key(&job.id);
        drop(state);
        if awaited {
            self.shard(job.file).notify_all();
        }
    }

    /// A job has ended. Returns how many were under way until now.
    pub(crate) fn finish(&self, job: &Job) -> usize {
        let mut state = self.state.lock();
        let flying = state.flying;
        state.finish(job);
        self.publish(&state);
        let awaited = state.awaited.contains_key(&job.id);
        drop(state);
        if awaited {
            self.shard(job.file).notify_all();
        }
        flying
    }

    /// Is something planned for the file that `want` would wait for?
    #[cfg(test)]
    pub(crate) fn is_planned(&self, file: FileId, want: Want) -> bool {
        self.planned.load(Ordering::Relaxed) > 0 && self.state.lock().planned(file, want).is_some()
    }

    /// Has a worker begun with the job that `want` would wait for?
    pub(crate) fn is_flying(&self, file: FileId, want: Want) -> bool {
        let begun = |state: &State| {
            let stage = state.planned(file, want).and_then(|id| state.stages.get(&id));
            stage.is_some_and(|stage| !matches!(stage, Stage::Waiting(_)))
        };
        self.planned.load(Ordering::Relaxed) > 0 && begun(&self.state.lock())
    }

    /// Waits until the planned job for `file` has ended, at most `patience`. With `hasten` a job that has
    /// not begun is the next to begin. Never to be called with a lock held.
    pub(crate) fn join(&self, file: FileId, want: Want, hasten: bool, patience: Duration) -> Joined {
        if self.planned.load(Ordering::Relaxed) == 0 {
            return Joined::NotPlanned;
        }
        let mut state = self.state.lock();
        let Some(id) = state.planned(file, want) else {
            return Joined::NotPlanned;
        };
        if hasten {
            state.hasten(id);
        }
        *state.awaited.entry(id).or_default() += 1;
        let joined = self.wait_for_end(&mut state, id, (file, want), Instant::now() + patience);
        state.leave(id);
        joined
    }

    fn wait_for_end(
        &self,
        state: &mut MutexGuard<'_, State>,
        id: JobId,
        (file, want): (FileId, Want),
        deadline: Instant,
    ) -> Joined {
        loop {
            if state.closed {
                return Joined::NotPlanned;
            }
            if state.is_over(id, want) {
                return Joined::Arrived;
            }
            if self.shard(file).wait_until(state, deadline).timed_out() {
                return if state.is_over(id, want) { Joined::Arrived } else { Joined::TimedOut };
            }
        }
    }

    /// At most so many jobs at once from now on. Returns how many more workers to start.
    pub(crate) fn set_width(&self, width: usize) -> usize {
        let mut state = self.state.lock();
        if state.width == width || state.closed {
            return 0;
        }
        state.width = width;
        let missing = state.missing_workers();
        state.workers += missing;
        drop(state);
        self.work.notify_all();
        missing
    }

    /// Jobs that wait and jobs under way.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.stages.len() - state.flying, state.flying)
    }

    /// Files that are under way, each once, in the order of their numbers.
    pub(crate) fn flights(&self) -> Vec<FileId> {
        let state = self.state.lock();
        let flying = state
            .planned
            .iter()
            .filter(|(_, id)| state.stages.get(id).is_some_and(|stage| !matches!(stage, Stage::Waiting(_))));
        let mut files: Vec<FileId> = flying.map(|(&(file, _), _)| file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.state.lock().workers
    }

    /// Drops what has not begun, releases everybody who waits, and lets the workers end.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.warm.clear();
        state.look.clear();
        state.planned.clear();
        state.stages.retain(|_, stage| !matches!(stage, Stage::Waiting(_)));
        self.publish(&state);
        drop(state);
        self.work.notify_all();
        for shard in &self.arrived {
            shard.notify_all();
        }
    }

    /// After [`Board::close`]: waits for the workers to end. Says whether all did before `deadline`.
    pub(crate) fn wait_for_workers(&self, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        while state.workers > 0 {
            if self.work.wait_until(&mut state, deadline).timed_out() {
                return state.workers == 0;
            }
        }
        true
    }

    fn publish(&self, state: &State) {
        self.planned.store(state.planned.len(), Ordering::Relaxed);
    }

    fn shard(&self, file: FileId) -> &Condvar {
        &self.arrived[file.index() % SHARDS]
    }
}

#[cfg(test)]
mod tests;
