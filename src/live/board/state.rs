//! What the board knows, under its lock: plain bookkeeping that never waits.

use std::collections::{HashMap, VecDeque};

use super::Want;
use crate::engine::{Job, Target};
use crate::id::{FileId, JobId};

/// Looking at used files only helps the next run: two workers at most, and after the files to be warmed.
pub(super) const LOOKERS: usize = 2;
/// But one job in so many is a look, so that a long run does not put them off for ever.
const LOOK_EVERY: u64 = 16;

/// The jobs and the workers.
#[derive(Debug)]
pub(super) struct State {
    /// Files to be warmed, in order. A job that is not waiting any more is passed over.
    pub(super) warm: VecDeque<Job>,
    /// Files to be looked at, likewise.
    pub(super) look: VecDeque<Job>,
    /// Every job there is.
    pub(super) stages: HashMap<JobId, Stage>,
    /// What a request can wait for.
    pub(super) planned: HashMap<(FileId, Want), JobId>,
    /// Requests that wait for a job.
    pub(super) awaited: HashMap<JobId, usize>,
    /// Jobs begun so far.
    pub(super) begun: u64,
    /// Jobs under way, and how many of them are looks.
    pub(super) flying: usize,
    pub(super) looking: usize,
    /// Workers there are, and how many of them wait.
    pub(super) workers: usize,
    pub(super) idle: usize,
    /// Jobs that may be under way at once.
    pub(super) width: usize,
    pub(super) closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting(Job),
    Flying,
}

impl State {
    /// Nothing to do, for at most `width` jobs at once.
    pub(super) fn new(width: usize) -> Self {
        State {
            warm: VecDeque::new(),
            look: VecDeque::new(),
            stages: HashMap::new(),
            planned: HashMap::new(),
            awaited: HashMap::new(),
            begun: 0,
            flying: 0,
            looking: 0,
            workers: 0,
            idle: 0,
            width,
            closed: false,
        }
    }

    pub(super) fn post(&mut self, job: &Job) {
        self.stages.insert(job.id, Stage::Waiting(*job));
        match want_of(job.target) {
            Some(want) => {
                self.planned.insert((job.file, want), job.id);
                self.warm.push_back(*job);
            }
            None => self.look.push_back(*job),
        }
    }

    /// Begins the next job, if the width allows one.
    pub(super) fn next(&mut self) -> Option<Job> {
        let look_first = self.begun.is_multiple_of(LOOK_EVERY);
        let job = if look_first {
            self.next_look().or_else(|| self.next_warm())
        } else {
            self.next_warm().or_else(|| self.next_look())
        }?;
        self.stages.insert(job.id, Stage::Flying);
        self.begun += 1;
        self.flying += 1;
        Some(job)
    }

    pub(super) fn next_warm(&mut self) -> Option<Job> {
        while self.flying < self.width {
            let job = self.warm.pop_front()?;
            if self.is_waiting(job.id) {
                return Some(job);
            }
        }
        None
    }

    pub(super) fn next_look(&mut self) -> Option<Job> {
        while self.looking < LOOKERS && self.flying < self.width {
            let job = self.look.pop_front()?;
            if self.is_waiting(job.id) {
                self.looking += 1;
                return Some(job);
            }
        }
        None
    }

    /// The job that brings what is wanted of a file: whoever brings its bytes brings its name too.
    pub(super) fn planned(&self, file: FileId, want: Want) -> Option<JobId> {
        let of = |want| self.planned.get(&(file, want)).copied();
        of(want).or_else(|| if want == Want::Attributes { of(Want::Data) } else { None })
    }

    pub(super) fn is_waiting(&self, id: JobId) -> bool {
        matches!(self.stages.get(&id), Some(Stage::Waiting(_)))
    }

    pub(super) fn may_begin(&self) -> bool {
        self.flying < self.width && !(self.warm.is_empty() && self.look.is_empty())
    }

    pub(super) fn missing_workers(&self) -> usize {
        let waiting = self.stages.len() - self.flying;
        let (looks, room) = (self.look.len().min(waiting), LOOKERS.saturating_sub(self.looking));
        let wanted = self.flying + waiting - looks + looks.min(room);
        wanted.min(self.width).saturating_sub(self.workers)
    }

    pub(super) fn finish(&mut self, job: &Job) {
        self.stages.remove(&job.id);
        self.flying -= 1;
        self.looking -= usize::from(job.target == Target::Facts);
        self.forget_plan(job);
    }

    pub(super) fn forget_plan(&mut self, job: &Job) {
        if let Some(want) = want_of(job.target)
            && self.planned.get(&(job.file, want)) == Some(&job.id)
        {
            self.planned.remove(&(job.file, want));
        }
    }

    pub(super) fn hasten(&mut self, id: JobId) {
        if let Some(&Stage::Waiting(job)) = self.stages.get(&id)
            && !self.awaited.contains_key(&id)
        {
            // Its old place in the line is passed over later: it will not be waiting any more.
            self.warm.push_front(job);
        }
    }

    pub(super) fn leave(&mut self, id: JobId) {
        if let Some(count) = self.awaited.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.awaited.remove(&id);
            }
        }
    }
}

/// What a request could wait for such a job for.
fn want_of(target: Target) -> Option<Want> {
    match target {
        Target::Attributes => Some(Want::Attributes),
        Target::Data => Some(Want::Data),
        Target::Facts => None,
    }
}
