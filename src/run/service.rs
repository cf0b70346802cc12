//! A mount that is up: its threads, what it listens to, and how it comes down.
//!
//! What must stay true: the source is opened before anything is mounted; only our own mount is ever
//! unmounted; teardown is in this order: save the model, no more prefetching through the mount, unmount,
//! wait for the kernel to let go; whatever hangs, all of it takes about as long as `TEARDOWN`.

mod made;
mod tending;
mod upgrade;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvError, RecvTimeoutError, bounded, never, select, tick};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use made::{Made, is_read_only, make, open_mountpoint, open_source};

use super::answers;
use super::farewell::Farewell;
use super::guardian::Guardian;
use super::keeping::Keeping;
use super::mounted::Mounted;
use super::path::{Allowance, ChosenPath, choose};
use super::report::Reporter;
use super::signals::{self, SignalWatch, Wish};
use super::takeover::{Inheritance, Order, Orders};
use super::tuning::Tuning;
use super::watching::watch_changes;
use super::{MountError, notice, own_cache, presence, seed};
use crate::config::{Config, DataPath};
use crate::fuse::{Handover, Session};
use crate::live::control::{ControlGuard, Last};
use crate::live::{Attachment, ChangeWatch, Live};
use crate::mirror::Mirror;
use crate::model::ModelLock;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::stats::Counters;
use crate::sys::connection;
use tending::SWEEP;

/// Everything that waits for others at the end has this long together. Service managers kill after ten seconds and more.
const TEARDOWN: Duration = Duration::from_secs(8);

/// A model of the largest size is saved within this time, unless the disk hangs.
const SAVING: Duration = Duration::from_secs(4);

/// A worker that is still in the mount after this time waits for a source that hangs.
const HOLD: Duration = Duration::from_secs(2);

/// After a busy mount was detached, its users may go on for so long; then the daemon ends.
const GRACE: Duration = Duration::from_secs(5);

/// A mount that is being unmounted by force has gone within this time after its session ended.
const MOMENT: Duration = Duration::from_millis(500);

/// The statistics a signal asks for are logged whatever else is.
const STATISTICS: &str = "augurfs::statistics";

/// A mount that is up.
pub(super) struct Service {
    config: Config,
    mounted: Mounted,
    /// Its device number.
    device: (u32, u32),
    mirror: Arc<Mirror>,
    live: Arc<Live>,
    source: Arc<OwnedFd>,
    below: Arc<OwnedFd>,
    chosen: ChosenPath,
    handover: Handover,
    orders: Receiver<Order>,
    ended: Receiver<io::Result<()>>,
    gone: Receiver<()>,
    wishes: Receiver<Wish>,
    _signals: SignalWatch,
    _session: JoinHandle<()>,
    control: Option<ControlGuard>,
    reporter: Arc<Reporter>,
    counters: Arc<Counters>,
    tuning: Arc<Tuning>,
    farewell: Arc<Farewell>,
    changes: Option<ChangeWatch>,
    guardian: Option<Guardian>,
    model: Option<PathBuf>,
    lock: Option<ModelLock>,
}

impl Service {
    /// Mounts and starts everything.
    ///
    /// # Errors
    /// What made a mount impossible; nothing is left of it.
    pub(super) fn start(
        config: Config,
        predictor: PredictorChoice,
        policy: Policy,
    ) -> Result<Self, MountError> {
        let (to_wishes, wishes) = bounded(8);
        let signals = signals::watch(to_wishes).map_err(MountError::Session)?;
        let Keeping { model, unkept, lock } = Keeping::of(config.model.as_deref());
        let begin = seed::sow(&config.seeds, model.as_deref());
        let source = Arc::new(open_source(&config)?);
        let mut config = Config { model: model.clone(), ..config };
        // What the source refuses at an open, the mount has to refuse there too.
        config.read_only |= is_read_only(&source);
        let below = Arc::new(open_mountpoint(&config)?);
        let chosen = choose(config.path, &Allowance::of(&config, &source));
        if config.path != DataPath::Auto && config.path != chosen.path {
            log::warn!(
                "path={} cannot be had, {} is taken: {}",
                config.path.as_str(),
                chosen.path.as_str(),
                chosen.reason
            );
        }
        let made = make(&config, predictor, policy, &source, (begin, unkept))?;
        let session = Session::mount(made.mirror.clone(), &config, chosen.path, made.counters.clone())
            .map_err(MountError::Session)?;
        // From here on an error takes the mount away again.
        let mounted = Mounted::at(config.mountpoint.clone());
        let started = Started { config, chosen, made, model, signals, wishes, lock, source, below };
        started.finish(session, mounted, None)
    }

    /// Serves until the mount has gone.
    ///
    /// # Errors
    /// The session with the kernel ended although nobody unmounted.
    pub(super) fn serve(mut self) -> io::Result<()> {
        let mut sweep = tick(SWEEP);
        let stirred = self.counters.stir.bell().clone();
        let verdict = loop {
            select! {
                recv(self.ended) -> ended => break self.judge(ended),
                recv(self.gone) -> _ => self.seen_to_go(),
                recv(self.wishes) -> wish => match wish {
                    Ok(Wish::Save) => self.save_and_tell(),
                    Ok(Wish::Reload) => self.reload(),
                    Ok(Wish::Stop) | Err(_) => break Ok(()),
                },
                recv(self.orders) -> order => if let Ok(order) = order
                    && let Some(end) = self.upgrade(order) { break end },
                recv(sweep) -> _ => if self.tend() {
                    sweep = never();
                },
                recv(stirred) -> _ => {
                    self.reporter.note_stillness();
                    sweep = tick(SWEEP);
                }
            }
        };
        self.finish();
        verdict
    }

    /// Where it is.
    pub(super) fn mountpoint(&self) -> &Path {
        &self.config.mountpoint
    }

    /// Unmounts and ends at once: nobody wants the mount.
    pub(super) fn stop(self) {
        self.finish();
    }

    fn save_and_tell(&self) {
        save(&self.live);
        log::info!(target: STATISTICS, "{}", self.reporter.glance().line());
    }

    fn reload(&self) {
        match self.tuning.reload() {
            Ok(told) => log::info!("the files of defaults were read again: {told}"),
            Err(error) => log::warn!("the files of defaults are not used: {error}"),
        }
    }

    /// Somebody has unmounted. Our own hold on the file system goes too, so that the session ends.
    fn seen_to_go(&mut self) {
        self.gone = never();
        self.mounted.left();
        self.let_go(Instant::now() + HOLD);
    }

    /// The session has ended: because the mount has gone, or in an error, which must not leave a dead mount behind.
    fn judge(&mut self, ended: Result<io::Result<()>, RecvError>) -> io::Result<()> {
        match ended.unwrap_or_else(|_| Err(io::Error::other("the session with the kernel panicked"))) {
            // A forced unmount ends the session a moment before the mount goes.
            Ok(()) if !self.mounted.is_there() || self.gone.recv_timeout(MOMENT).is_ok() => {
                self.mounted.left();
                Ok(())
            }
            Ok(()) => {
                self.mounted.detach();
                Err(io::Error::other("the connection to the kernel was cut"))
            }
            Err(error) => {
                self.mounted.detach();
                Err(error)
            }
        }
    }

    /// Nothing of ours is on the mount from here on.
    fn let_go(&self, deadline: Instant) {
        if !self.live.detach(deadline) {
            log::warn!("a worker still waits for the source");
        }
    }

    /// Saves what was learned and takes everything down; then whoever waits for us may go on.
    fn finish(mut self) {
        notice::tell(notice::STOPPING);
        let deadline = Instant::now() + TEARDOWN;
        // What was opened last is learned too.
        self.live.stop_watching();
        self.farewell.tell(&Last { unsaved: save_by(&self.live, deadline.min(Instant::now() + SAVING)) });
        self.let_go(deadline.min(Instant::now() + HOLD));
        // Only what is ours: somebody may have unmounted it and mounted something else there.
        if self.mounted.is_there() {
            self.unmount(deadline);
        }
        if matches!(
            self.ended.recv_deadline(deadline.min(Instant::now() + GRACE)),
            Err(RecvTimeoutError::Timeout)
        ) {
            log::warn!("{} is still in use: its users lose it now", self.config.mountpoint.display());
            self.cut();
        }
        self.changes = None;
        self.live.end(deadline);
        self.control = None;
    }

    /// Ends the connection with the kernel, which has not ended by itself. Our own end would end it too; but if a thread
    /// waits for a source that hangs, that does not come about, and who waits for us must not wait for the source.
    fn cut(&self) {
        if let Err(error) = connection::cut(self.device) {
            log::debug!("the connection could not be cut: {error}");
        }
    }

    /// Unmounts, also when something still uses the mount.
    fn unmount(&mut self, deadline: Instant) {
        if rustix::process::geteuid().is_root() {
            match attempt(self.config.mountpoint.clone(), deadline) {
                Err(Errno::BUSY) => log::warn!("{} is busy: detached", self.config.mountpoint.display()),
                Err(error) => {
                    log::warn!("{} could not be unmounted: {error}", self.config.mountpoint.display())
                }
                Ok(()) => return self.mounted.left(),
            }
        }
        self.mounted.detach();
    }
}

/// Unmounts in a thread of its own: the kernel writes back first what is not written yet, for which the source must answer.
fn attempt(mountpoint: PathBuf, deadline: Instant) -> Result<(), Errno> {
    let (tell, told) = bounded(1);
    let unmount = move || {
        // Nobody waits any more if it took too long.
        let _ = tell.send(rustix::mount::unmount(&mountpoint, UnmountFlags::NOFOLLOW));
    };
    std::thread::Builder::new().name("unmount".into()).spawn(unmount).map_err(|_| Errno::AGAIN)?;
    told.recv_deadline(deadline).unwrap_or(Err(Errno::TIMEDOUT))
}

/// Everything that exists before the session answers its first request.
struct Started {
    config: Config,
    chosen: ChosenPath,
    made: Made,
    model: Option<PathBuf>,
    signals: SignalWatch,
    wishes: Receiver<Wish>,
    lock: Option<ModelLock>,
    source: Arc<OwnedFd>,
    below: Arc<OwnedFd>,
}

impl Started {
    fn finish(
        self,
        session: Session,
        mut mounted: Mounted,
        inheritance: Option<Inheritance>,
    ) -> Result<Service, MountError> {
        let Started { config, chosen, made, model, signals, wishes, lock, source, below } = self;
        let Made { mirror, live, counters } = made;
        let device = mounted.device().map_err(MountError::Session)?;
        mirror.cover(device, below.clone());
        // What another process has is guarded by that.
        let mut guardian = if inheritance.is_none() { guard(&config, device) } else { None };
        mirror.connect(session.kernel()).map_err(MountError::Session)?;
        let passthrough = session.passthrough();
        // Before the first answer: what is told from now on is watched.
        let (changes, watch) = watch_changes(&config, &mirror, &source);
        let (to_gone, gone) = bounded(1);
        presence::watch(device, to_gone).map_err(MountError::Session)?;
        if let Some(inheritance) = &inheritance {
            inheritance.take().map_err(MountError::Session)?;
            mounted.ours();
            guardian = guard(&config, device);
        }
        let handover = session.handover();
        if inheritance.is_some() {
            // Before anything is read here: what is under way must not be sent twice.
            handover.ask_again();
        }
        let (session, ended) = answer(session).map_err(MountError::Session)?;
        if chosen.path == DataPath::Resident {
            attach(&config, &mirror, &live);
        } else if config.own_cache {
            own_cache::attach(&config, &mirror, &live);
        }
        let place = config.mountpoint.display();
        log::info!("{place} is mounted, path {}: {}", chosen.path.as_str(), chosen.reason);
        let reporter = Arc::new(Reporter::new(
            &config,
            chosen.clone(),
            passthrough,
            watch,
            live.clone(),
            counters.clone(),
            mirror.clone(),
        ));
        let tuning = Arc::new(Tuning::new(&config, live.clone()));
        let (to_orders, orders) = Orders::new();
        let farewell = Arc::new(Farewell::default());
        let control = answers::listen(
            device,
            reporter.clone(),
            tuning.clone(),
            live.clone(),
            to_orders,
            farewell.clone(),
        );
        if let Some(inheritance) = &inheritance {
            inheritance.serves();
        }
        Ok(Service {
            config,
            mounted,
            device,
            mirror,
            live,
            source,
            below,
            chosen,
            handover,
            orders,
            ended,
            gone,
            wishes,
            _signals: signals,
            _session: session,
            control,
            reporter,
            counters,
            tuning,
            farewell,
            changes,
            guardian,
            model,
            lock,
        })
    }
}

/// Has the mount taken away if this process is killed.
fn guard(config: &Config, device: (u32, u32)) -> Option<Guardian> {
    Guardian::post(&config.mountpoint, device)
        .inspect_err(|error| log::warn!("nobody will unmount if this process is killed: {error}"))
        .ok()
}

/// Answers requests from now on. What comes out at the end is how the session ended.
fn answer(session: Session) -> io::Result<(JoinHandle<()>, Receiver<io::Result<()>>)> {
    let (to, ended) = bounded(1);
    let run = move || {
        // The other side waits for this, or has gone.
        let _ = to.send(session.run());
    };
    Ok((std::thread::Builder::new().name("session".into()).spawn(run)?, ended))
}

/// Gives workers their own way into the mount, and starts the watching of opens.
fn attach(config: &Config, mirror: &Arc<Mirror>, live: &Arc<Live>) {
    match Attachment::clone_of(&config.mountpoint) {
        Ok(mount) => live.attach(Attachment { mount, tree: mirror.clone() }),
        Err(error) => log::warn!("data is warmed in the source's page cache only: {error}"),
    }
    if let Err(error) = live.watch_opens(&config.mountpoint) {
        log::warn!("opens cannot be watched; reads stand in for them: {error}");
    }
}

/// As `save`, in a thread of its own: neither the disk, nor a model that is still being loaded, holds up the end.
fn save_by(live: &Arc<Live>, deadline: Instant) -> Option<String> {
    let ((tell, told), live) = (bounded(1), live.clone());
    let work = move || {
        // Nobody waits any more if it took too long.
        let _ = tell.send(save(&live));
    };
    if let Err(error) = std::thread::Builder::new().name("save".into()).spawn(work) {
        return Some(format!("no thread can be had for it: {error}"));
    }
    told.recv_deadline(deadline).unwrap_or_else(|_| Some("it took too long".into()))
}

/// Saves what was learned. Why it could not be, otherwise.
fn save(live: &Live) -> Option<String> {
    let error = live.save().err()?.to_string();
    log::warn!("{error}");
    Some(error)
}
