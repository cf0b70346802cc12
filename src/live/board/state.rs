//! What the board knows, under its lock: plain bookkeeping that never waits.

use std::collections::{HashMap, VecDeque};

use super::Want;
use crate::engine::{Job, Target};
use crate::id::{FileId, JobId};

/// Looking at used files only helps the next run: two workers at most, and after the files to be warmed.
pub(crate) const LOOKERS: usize = 2;
/// But one job in so many is a look, so that a long run does not put them off for ever.
const LOOK_EVERY: u64 = 16;

/// The jobs and the workers.
#[derive(Debug)]
pub(crate) struct State {
    /// Files to be warmed, in order. A job that is not waiting any more is passed over.
    pub(crate) warm: VecDeque<Job>,
    /// Files to be looked at, likewise.
    pub(crate) look: VecDeque<Job>,
    /// Every job there is.
    pub(crate) stages: HashMap<JobId, Stage>,
    /// What a request can wait for.
    pub(crate) planned: HashMap<(FileId, Want), JobId>,
    /// What jobs under way have brought so far.
    pub(crate) landed: HashMap<JobId, Want>,
    /// Requests that wait for a job.
    pub(crate) awaited: HashMap<JobId, usize>,
    /// Jobs begun so far.
    pub(crate) begun: u64,
    /// Jobs under way, and how many of them are looks.
    pub(crate) flying: usize,
    pub(crate) looking: usize,
    /// Workers there are, and how many of them wait.
    pub(crate) workers: usize,
    pub(crate) idle: usize,
    /// Jobs that may be under way at once.
    pub(crate) width: usize,
    pub(crate) closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting(Job),
    Flying,
}

impl State {
    /// Nothing to do, for at most `width` jobs at once.
    pub(crate) fn new(width: usize) -> Self {
        State {
            warm: VecDeque::new(),
            look: VecDeque::new(),
            stages: HashMap::new(),
            planned: HashMap::new(),
            landed: HashMap::new(),
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

    pub(crate) fn post(&mut self, job: &Job) {
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
    pub(crate) fn next(&mut self) -> Option<Job> {
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

    /// Takes a job down unless it has begun or a request waits for it. Says whether it did.
    pub(crate) fn withdraw(&mut self, id: JobId) -> bool {
        let Some(&Stage::Waiting(job)) = self.stages.get(&id) else { return false };
        if self.awaited.contains_key(&id) {
            return false;
        }
        self.stages.remove(&id);
        // Its place in the line is passed over when its turn comes.
        self.forget_plan(&job);
        true
    }

    fn next_warm(&mut self) -> Option<Job> {
        while self.flying < self.width {
            let job = self.warm.pop_front()?;
            if self.is_waiting(job.id) {
                return Some(job);
            }
        }
        None
    }

    fn next_look(&mut self) -> Option<Job> {
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
    pub(crate) fn planned(&self, file: FileId, want: Want) -> Option<JobId> {
        let of = |want| self.planned.get(&(file, want)).copied();
        of(want).or_else(|| if want == Want::Attributes { of(Want::Data) } else { None })
    }

    /// Is there nothing to wait for any more? Bytes come after the name.
    pub(crate) fn has_brought(&self, id: JobId, want: Want) -> bool {
        let landed = self.landed.get(&id);
        !self.stages.contains_key(&id) || landed == Some(&want) || landed == Some(&Want::Data)
    }

    fn is_waiting(&self, id: JobId) -> bool {
        matches!(self.stages.get(&id), Some(Stage::Waiting(_)))
    }

    pub(crate) fn may_begin(&self) -> bool {
        self.flying < self.width && !(self.warm.is_empty() && self.look.is_empty())
    }

    pub(crate) fn missing_workers(&self) -> usize {
        let waiting = self.stages.len() - self.flying;
        let (looks, room) = (self.look.len().min(waiting), LOOKERS.saturating_sub(self.looking));
        let wanted = self.flying + waiting - looks + looks.min(room);
        wanted.min(self.width).saturating_sub(self.workers)
    }

    pub(crate) fn finish(&mut self, job: &Job) {
        self.stages.remove(&job.id);
        self.landed.remove(&job.id);
        self.flying -= 1;
        self.looking -= usize::from(job.target == Target::Facts);
        self.forget_plan(job);
    }

    pub(crate) fn forget_plan(&mut self, job: &Job) {
        if let Some(want) = want_of(job.target)
            && self.planned.get(&(job.file, want)) == Some(&job.id)
        {
            self.planned.remove(&(job.file, want));
        }
    }

    pub(crate) fn hasten(&mut self, id: JobId) {
        if let Some(&Stage::Waiting(job)) = self.stages.get(&id)
            && !self.awaited.contains_key(&id)
        {
            // Its old place in the line is passed over later: it will not be waiting any more.
            self.warm.push_front(job);
        }
    }

    pub(crate) fn leave(&mut self, id: JobId) {
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
        Target::Attributes | Target::Siblings => Some(Want::Attributes),
        Target::Data => Some(Want::Data),
        Target::Facts => None,
    }
}
