//! What an engine is told, as data: a driver's calls can be written down and made again.

use super::{Effect, Engine, Outcome, Window};
use crate::clock::Micros;
use crate::config::InodeWindow;
use crate::event::{AccessEvent, Listing, Origin, Residency};
use crate::id::{FileId, JobId, ProgramId, StreamId};

/// One call of a driver. The same steps, taken by an engine made with the same settings that knows the same
/// names, have the same effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// [`Engine::begin`].
    Begin(StreamId, Origin),
    /// [`Engine::exec`].
    Exec(StreamId, ProgramId),
    /// [`Engine::end`].
    End(StreamId),
    /// [`Engine::observe`].
    Access(AccessEvent),
    /// [`Engine::judge`].
    Judge(Micros, StreamId, FileId, Residency),
    /// [`Engine::started`].
    Started(JobId),
    /// [`Engine::settle`].
    Settled(Micros, JobId, Outcome),
    /// [`Engine::tick`].
    Tick(Micros),
    /// [`Engine::set_window`].
    Window(Window),
    /// [`Engine::set_budget`].
    Budget(u64),
    /// [`Engine::forget`].
    Forget(FileId),
    /// [`Engine::listed`].
    Listed(Listing),
    /// [`Engine::set_inode_window`].
    InodeWindow(InodeWindow),
}

impl Engine {
    /// Takes one step.
    pub fn take(&mut self, step: &Step, effects: &mut Vec<Effect>) {
        match *step {
            Step::Begin(stream, origin) => self.begin(stream, origin),
            Step::Exec(stream, program) => self.exec(stream, program),
            Step::End(stream) => self.end(stream),
            Step::Access(event) => self.observe(&event, effects),
            Step::Judge(at, stream, file, residency) => self.judge(at, stream, file, residency, effects),
            Step::Started(job) => self.started(job),
            Step::Settled(at, job, outcome) => self.settle(at, job, outcome, effects),
            Step::Tick(at) => self.tick(at, effects),
            Step::Window(window) => self.set_window(window),
            Step::Budget(budget) => {
                self.set_budget(budget);
                self.planner.fit(effects);
            }
            Step::Forget(file) => self.forget(file, effects),
            Step::Listed(ref listing) => self.listed(listing, effects),
            Step::InodeWindow(window) => self.set_inode_window(window),
        }
    }
}
