//! Warming because somebody asked for it: everything known below a directory, or everything a program uses.
//!
//! What must stay true: the engine is asked, never told: its plans, and a recording, are as if this had not been. A file is taken
//! up only while the one who asked still listens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::Live;
use super::backing::Scratch;
use crate::engine::{Job, Outcome, Parts, Target};
use crate::id::{FileId, JobId, ProgramId};

/// How often is looked after whether somebody still listens.
const BEAT: Duration = Duration::from_millis(100);
/// No job of the engine's has this number.
const NO_JOB: JobId = JobId(u64::MAX);

/// What is to be warmed, in the order in which it is best read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errand {
    files: Vec<FileId>,
    /// Bytes of all of them when they were last looked at.
    pub bytes: u64,
}

impl Errand {
    /// How many files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// How one file went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// So many bytes came from the source.
    Bytes(u64),
    /// It was in memory.
    Resident,
    /// It has gone or may not be read.
    Failed,
}

/// Why nothing is warmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrandError {
    /// Nothing is known: there is nobody to ask.
    #[error("prefetching has failed: nothing is known")]
    Off,
    /// Nobody has seen that program.
    #[error("no program called {0} has used files here")]
    Program(String),
    /// The history does not say who did what.
    #[error("this predictor does not remember which program used what")]
    Opaque,
}

impl Live {
    /// Regular files that were used at or below `below` (a path below the source; empty is all of it), by `program` (a name, or a path) if
    /// one is given; in the order they lie on the device. Takes time in proportion to what is known.
    ///
    /// # Errors
    /// Nothing is known of that program, or of anything.
    pub fn errand(&self, below: &[u8], program: Option<&str>) -> Result<Errand, ErrandError> {
        // A model that is still being loaded is waited for.
        self.ask(|_| ()).ok_or(ErrandError::Off)?;
        let programs = program.map(|name| self.programs_called(name)).transpose()?;
        let names = self.names.lock().clone();
        let top = match below {
            b"" => Some(FileId::ROOT),
            path => names.find_path(path),
        };
        let Some(top) = top else { return Ok(Errand::default()) };
        let inside = names.inside(top);
        let known: Vec<FileId> =
            names.listing().filter(|it| !it.gone && inside[it.file.index()]).map(|it| it.file).collect();
        let sized = self.ask(move |engine| {
            let mut used = vec![programs.is_none(); known.last().map_or(0, |file| file.index() + 1)];
            for program in programs.into_iter().flatten() {
                if !engine.mark_used(program, &mut used) {
                    return None;
                }
            }
            let facts = known.iter().filter(|file| used[file.index()]).filter_map(|&file| {
                let facts = engine.facts(file).filter(|facts| !facts.directory)?;
                Some((facts.extent, file, facts.size))
            });
            Some(facts.collect::<Vec<_>>())
        });
        let mut sized = sized.ok_or(ErrandError::Off)?.ok_or(ErrandError::Opaque)?;
        sized.sort_unstable();
        let bytes = sized.iter().map(|&(_, _, size)| size).sum();
        Ok(Errand { files: sized.into_iter().map(|(_, file, _)| file).collect(), bytes })
    }

    fn programs_called(&self, name: &str) -> Result<Vec<ProgramId>, ErrandError> {
        let programs = self.programs.lock();
        let all = (0..programs.len() as u32).map(ProgramId);
        let called: Vec<ProgramId> = all
            .filter(|&id| {
                let identity = programs.identity(id).unwrap_or_default();
                identity == name || identity.rsplit('/').next() == Some(name)
            })
            .collect();
        if called.is_empty() { Err(ErrandError::Program(name.to_owned())) } else { Ok(called) }
    }

    /// Warms the files, as many at once as the source is found to serve, and waits for the end. `tell` hears of each;
    /// `is_wanted` is asked several times a second, and when it says no, nothing more is brought.
    pub fn run_errand(
        self: &Arc<Self>,
        errand: &Errand,
        tell: impl Fn(Brought) + Sync,
        is_wanted: impl Fn() -> bool,
    ) {
        let (next, stopped) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
        let mounted = self.berth.is_set();
        let (_, width) = self.crew.standing();
        let work = |_at_work: Sender<()>| {
            let own = self.desk.processes.enlist();
            let mut scratch = Scratch::default();
            scratch.called_off = stopped.clone();
            while !stopped.load(Ordering::Relaxed) && !self.is_off() {
                let Some(&file) = errand.files.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let job = Job { id: NO_JOB, file, target: Target::Data, bytes: u64::MAX, parts: Parts::NONE };
                let brought = match self.crew.attempt(&job, &mut scratch) {
                    Outcome::Warmed { bytes, .. } => {
                        self.crew.pay(bytes);
                        Brought::Bytes(bytes)
                    }
                    Outcome::Resident { .. } => Brought::Resident,
                    Outcome::Withdrawn | Outcome::Failed => Brought::Failed,
                };
                tell(brought);
            }
            self.desk.processes.dismiss(own);
        };
        std::thread::scope(|scope| {
            let (at_work, ended) = bounded(0);
            for _ in 0..width.min(errand.files.len()) {
                let at_work = at_work.clone();
                scope.spawn(|| work(at_work));
            }
            drop(at_work);
            // Until the last of them has ended.
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                if !is_wanted() || self.is_off() || mounted && !self.berth.is_set() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        });
    }
}
