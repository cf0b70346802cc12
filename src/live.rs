//! Threads and wall clock around the pure engine: who made an access, workers that do what the engine
//! asks for, requests that wait for them, and the watching of opens the kernel does not ask us about.
//!
//! ```text
//! request threads --note--> desk ==bounded channel==> driver (engine thread) --jobs--> board
//! opens (fanotify) -------^   ^                                                          |
//!                             '-------started, settled------- crew (workers) <-----take--'
//! request threads --join------------------------------------------------> board
//! ```
//!
//! What must stay true: `note` never waits; `join` waits only within its bound and never for one of our own
//! threads' requests; the engine thread waits for nobody; a panic in the engine or in a job stops
//! prefetching or that job, never the mount.

mod attachment;
mod backing;
mod behind;
pub(crate) mod board;
pub mod control;
pub(crate) mod crew;
mod desk;
mod driver;
mod errand;
mod explain;
mod figures;
mod follow;
mod keeper;
mod listings;
mod opens;
pub(crate) mod pace;
mod pressure;
mod processes;
mod rate;
mod respite;
mod settings;
mod tape;
mod tidy;
mod tuning;
mod users;
pub(crate) mod verdicts;
mod watch;
pub(crate) mod worth;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use parking_lot::Mutex;

use crate::config::InodeWindow;
use crate::engine::{Engine, Job, Outcome, Snapshot};
use crate::id::{FileId, ProgramId};
use crate::names::{Names, Programs};
use crate::stats::Counters;
use crate::sys::cgroup::Groups;
use crate::trace::Start;
use attachment::Berth;
use backing::{Backing, DirBacking, Scratch};
use crew::Crew;
use desk::{Desk, Input};
use driver::{Driver, Preparation};
use follow::Follower;
use keeper::Keeper;
use pressure::Pressure;
use processes::Processes;
use tape::{Synced, Tape};

pub use attachment::{Attachment, Tree};
pub use board::{Joined, Want};
pub use errand::{Brought, Errand, ErrandError};
pub use figures::Figures;
pub use keeper::SaveError;
pub use listings::Listed;
pub use pace::Ways;
pub use processes::{Caller, OUTSIDE};
pub use settings::{LiveConfig, Note};
pub use tape::{RecordError, Recording};
pub use watch::{ChangeWatch, News};

/// Whoever drops the driver without stopping it waits no longer than this for workers whose source hangs.
const LAST_ORDERS: Duration = Duration::from_secs(5);

/// The driver. Cheap to use from any thread.
pub struct Live {
    desk: Arc<Desk>,
    crew: Arc<Crew>,
    keeper: Arc<Keeper>,
    names: Arc<Mutex<Names>>,
    programs: Arc<Mutex<Programs>>,
    tape: Arc<Tape>,
    berth: Arc<Berth>,
    tree: Mutex<Option<Arc<dyn Tree>>>,
    opens: Mutex<Option<Follower>>,
    engine: Mutex<Option<JoinHandle<()>>>,
}

/// A foreground request at the source: counted until this is dropped.
pub struct Turn {
    crew: Arc<Crew>,
    beginning: bool,
    start: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.crew.foreground().fetch_sub(1, Ordering::Relaxed);
        self.crew.waited(self.beginning, self.start.elapsed());
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("figures", &self.figures()).finish_non_exhaustive()
    }
}

impl Default for Live {
    /// A driver without an engine: it plans nothing and takes no notes.
    fn default() -> Self {
        struct Nowhere;
        impl Backing for Nowhere {
            fn warm(&self, _: &Job, _: &mut Scratch, _: &dyn Fn(Want)) -> Outcome {
                Outcome::Failed
            }
        }
        let (names, counters) = (Arc::default(), Arc::default());
        let backing = |_: &Arc<Berth>| Box::new(Nowhere) as Box<dyn Backing>;
        let (live, _) = Live::assemble(names, counters, None, (Duration::ZERO, None), backing);
        live.desk.turn_off();
        live
    }
}

impl Live {
    /// Starts the engine thread, which loads a large model first; a small one is loaded when this returns. Workers start when there is work.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(config: LiveConfig) -> io::Result<Arc<Live>> {
        let (source, names) = (config.source.clone(), config.names.clone());
        let follows_walks = config.inode_window != InodeWindow::Off;
        let backing = |berth: &Arc<Berth>| {
            Box::new(DirBacking::new(source, names, berth.clone(), follows_walks)) as Box<dyn Backing>
        };
        Live::start_with(config, backing)
    }

    fn start_with(
        config: LiveConfig,
        backing: impl FnOnce(&Arc<Berth>) -> Box<dyn Backing>,
    ) -> io::Result<Arc<Live>> {
        let LiveConfig { names, counters, model, begin, unkept, join_wait, rate, memory, .. } = config;
        let (live, inputs) = Live::assemble(names, counters, model, (join_wait, rate), backing);
        if let Some(why) = unkept {
            live.keeper.cannot_keep(why);
        }
        if config.inode_window != InodeWindow::Off {
            live.desk.follow_walks();
        }
        let mut engine = Engine::new(config.settings);
        let keeper = live.keeper.clone();
        // A recording begins with what was learned before.
        let later = config.record.is_none() && begin.is_none() && keeper.is_for_later();
        let load = move |engine: &mut Engine| keeper.load(engine, memory, begin.as_deref());
        let mut preparation: Option<Preparation> = None;
        if later {
            preparation = Some(Box::new(load));
        } else {
            load(&mut engine);
        }
        let parents = live.tape.clone();
        engine.set_parents(Box::new(move |file| parents.parent(file)));
        if let Some(file) = config.record {
            let started = live.tape.start(Start::Birth, &engine, &[], None, Box::new(Synced(file)));
            started.map_err(io::Error::other)?;
        }
        let driver = Driver {
            engine,
            desk: live.desk.clone(),
            crew: live.crew.clone(),
            programs: live.programs.clone(),
            tape: live.tape.clone(),
            save: live.keeper.path().map(|_| (config.save_interval, live.saver())),
            inode_window: config.inode_window,
            pressure: Pressure::new(config.budget, config.settings.budget),
            groups: Groups::default(),
            behind: Default::default(),
            preparation,
            rounds: Default::default(),
        };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || driver.run(&inputs))?;
        *live.engine.lock() = Some(thread);
        Ok(Arc::new(live))
    }

    fn assemble(
        names: Arc<Mutex<Names>>,
        counters: Arc<Counters>,
        model: Option<PathBuf>,
        (join_wait, rate): (Duration, Option<u64>),
        backing: impl FnOnce(&Arc<Berth>) -> Box<dyn Backing>,
    ) -> (Live, crossbeam_channel::Receiver<Input>) {
        let programs = Arc::new(Mutex::new(Programs::new()));
        let tape = Arc::new(Tape::new(names.clone(), programs.clone()));
        let keeper = Arc::new(Keeper::new(model, names.clone(), programs.clone()));
        let interner = programs.clone();
        let intern = move |path: &[u8]| interner.lock().intern(&String::from_utf8_lossy(path));
        let (desk, inputs) = Desk::new(Processes::new(Box::new(intern)), counters);
        let (desk, berth) = (Arc::new(desk), Arc::new(Berth::default()));
        let crew = Arc::new(Crew::new(backing(&berth), desk.clone(), join_wait, rate));
        let (tree, opens, engine) = Default::default();
        (Live { desk, crew, keeper, names, programs, tape, berth, tree, opens, engine }, inputs)
    }

    /// What the engine thread calls to have the model saved, in a thread that may wait for the disk.
    fn saver(&self) -> Box<dyn FnMut() + Send> {
        let (keeper, desk) = (self.keeper.clone(), self.desk.clone());
        Box::new(move || {
            let (keeper, desk) = (keeper.clone(), desk.clone());
            let save = move || keeper.save(&desk).unwrap_or_else(|error| log::warn!("{error}"));
            if let Err(error) = std::thread::Builder::new().name("save".into()).spawn(save) {
                log::warn!("the model is not saved: {error}");
            }
        })
    }

    /// Takes note of an access. Never waits; what does not fit is counted as lost.
    pub fn note(&self, note: Note) {
        if self.desk.is_off() {
            return;
        }
        let caller = self.desk.processes.caller(note.tid);
        if !caller.own {
            self.desk.access(caller.stream, note.file, note.op, note.residency);
        }
    }

    /// Who thread `tid` is. Costs some tens of nanoseconds when it was asked about lately, some tens of
    /// microseconds in /proc else. To be asked while the thread waits for our answer.
    pub fn caller(&self, tid: u32) -> Caller {
        self.desk.processes.caller(tid)
    }

    /// The program that thread `tid` runs, under the same conditions as [`Live::caller`].
    pub fn program(&self, tid: u32) -> ProgramId {
        self.desk.processes.program_of(tid)
    }

    /// The last component of a program's path.
    pub fn program_name(&self, program: ProgramId) -> String {
        let programs = self.programs.lock();
        let path = programs.identity(program).filter(|path| !path.is_empty()).unwrap_or("(unknown)");
        path.rsplit('/').next().unwrap_or(path).to_owned()
    }

    /// Is `tid` one of our workers? Such requests are served, but neither noted nor made to wait.
    pub fn is_own(&self, tid: u32) -> bool {
        self.desk.processes.is_own(tid)
    }

    /// Waits for the job that brings what a request is about to ask the source for, if there is one, at
    /// most for the time configured. For pool threads only, holding no lock; never for own threads' requests.
    pub fn join(&self, file: FileId, want: Want) -> Joined {
        self.crew.join(file, want)
    }

    /// Counts and times a foreground request at the source for as long as the
    /// result lives; `beginning`: it asks for the first bytes of a file. For pool threads.
    pub fn foreground(&self, beginning: bool) -> Turn {
        self.crew.foreground().fetch_add(1, Ordering::Relaxed);
        Turn { crew: self.crew.clone(), beginning, start: Instant::now() }
    }

    /// From now on workers bring files into the mount's own cache too.
    pub fn attach(&self, attachment: Attachment) {
        *self.tree.lock() = Some(attachment.tree);
        self.berth.set(attachment.mount);
    }

    /// Starts seeing opens on the mount at `mountpoint`, which must have been attached and answer requests.
    /// Where that cannot be had, reads stand in for opens.
    ///
    /// # Errors
    /// `NotConnected` when nothing is attached, `EPERM` without `CAP_SYS_ADMIN`, and what fanotify gives.
    pub fn watch_opens(&self, mountpoint: &Path) -> io::Result<()> {
        self.follow_opens(mountpoint).inspect_err(|_| self.desk.blinded())
    }

    fn follow_opens(&self, mountpoint: &Path) -> io::Result<()> {
        let tree = self.tree.lock().clone().ok_or(io::ErrorKind::NotConnected)?;
        let follower = opens::watch(mountpoint, tree, self.names.clone(), self.desk.clone())?;
        *self.opens.lock() = Some(follower);
        Ok(())
    }

    /// Hears the last reports of opens and stops watching them.
    pub fn stop_watching(&self) {
        let follower = self.opens.lock().take();
        // Its thread ends here, outside the lock.
        drop(follower);
        *self.tree.lock() = None;
    }

    /// Stops watching opens and lets go of the mount: afterwards nothing of ours keeps it busy. False when
    /// a worker still uses it at `deadline`.
    pub fn detach(&self, deadline: Instant) -> bool {
        self.stop_watching();
        self.berth.clear(deadline)
    }

    /// Has the engine failed, or is there none? Then nothing is learned and nothing fetched ahead.
    pub fn is_off(&self) -> bool {
        self.desk.is_off()
    }

    /// How the driver stands.
    pub fn figures(&self) -> Figures {
        let (ways, width) = self.crew.standing();
        let (waiting, under_way) = self.crew.board().load();
        Figures {
            prefetching: !self.is_off(),
            watching: self.opens.lock().is_some(),
            attached: self.berth.is_set(),
            ways,
            width,
            workers: self.crew.board().workers(),
            waiting,
            under_way,
            panicked: self.crew.panicked.load(Ordering::Relaxed),
            streams: self.desk.processes.len(),
        }
    }

    /// The engine's figures, and with them the prefetch counters brought up to date; `None` when it is off.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let counters = self.desk.counters.clone();
        self.ask(move |engine| {
            figures::publish(engine, &counters);
            engine.snapshot()
        })
    }

    /// Has the engine thread do something with the engine, between two inputs, and waits for it. `None` when
    /// there is no engine.
    pub fn ask<R: Send + 'static>(&self, ask: impl FnOnce(&mut Engine) -> R + Send + 'static) -> Option<R> {
        keeper::visit(&self.desk, ask)
    }

    /// When the model was last saved, in seconds since 1970.
    pub fn saved_at(&self) -> Option<u64> {
        self.keeper.saved_at()
    }

    /// What is wrong with the model: a sentence each, without a full stop.
    pub fn model_faults(&self) -> Vec<String> {
        self.keeper.faults()
    }

    /// Saves the model now, if one is kept.
    ///
    /// # Errors
    /// When the engine is off, the file cannot be written, or the model cannot be kept though it was to be.
    pub fn save(&self) -> Result<(), SaveError> {
        self.keeper.save(&self.desk)
    }

    /// Saves the model and ends everything.
    ///
    /// # Errors
    /// As [`Live::save`]; everything has ended all the same.
    pub fn stop(&self) -> Result<(), SaveError> {
        self.stop_watching();
        let saved = if self.engine.lock().is_some() { self.save() } else { Ok(()) };
        self.end(Instant::now() + LAST_ORDERS);
        saved
    }

    /// Ends everything without saving: lets go of the mount, releases whoever waits, and waits for the threads,
    /// until `deadline` for workers, whose source may hang. Again is harmless.
    pub fn end(&self, deadline: Instant) {
        let Some(thread) = self.engine.lock().take() else { return };
        self.detach(deadline);
        self.desk.deliver(Input::Stop);
        if thread.join().is_err() {
            log::error!("the engine thread ended in a panic");
        }
        self.desk.turn_off();
        self.crew.close();
        let written = self.tape.end(None).map(|written| written.recv_deadline(deadline));
        if written == Some(Err(RecvTimeoutError::Timeout)) {
            log::warn!("the recording could not be written to its end");
        }
        if !self.crew.board().wait_for_workers(deadline) {
            log::warn!("a worker still waits for the source; it is left behind");
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            log::warn!("{error}");
        }
    }
}

#[cfg(test)]
mod tests;
