//! A mount that is up: its threads, what it listens to, and how it comes down.
//!
//! What must stay true: the source is opened before anything is mounted; only our own mount is ever
//! unmounted; teardown is in this order: no more prefetching through the mount, unmount, wait for
//! the kernel to let go (bounded), save the model.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select, tick};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::path::{Allowance, ChosenPath, choose};
use super::report::Reporter;
use super::signals::{self, SignalWatch, Wish};
use super::watching::watch_changes;
use super::{MountError, check, presence};
use crate::config::{Config, DataPath};
use crate::engine::Settings;
use crate::fuse::Session;
use crate::live::control::{self, ControlGuard, Request, Response};
use crate::live::{Attachment, ChangeWatch, Live, LiveConfig};
use crate::mirror::Mirror;
use crate::predict::PredictorChoice;
use crate::stats::Counters;
use crate::sys::{memory, mountinfo};

/// After a busy mount was detached, its users may go on for so long; then the daemon ends.
const GRACE: Duration = Duration::from_secs(5);

/// How often descriptors that were opened for a moment are looked at.
const SWEEP: Duration = Duration::from_millis(250);

/// A mount that is up.
pub(super) struct Service {
    config: Config,
    device: (u32, u32),
    mirror: Arc<Mirror>,
    live: Arc<Live>,
    ended: Receiver<()>,
    gone: Receiver<()>,
    wishes: Receiver<Wish>,
    _signals: SignalWatch,
    _session: JoinHandle<()>,
    control: Option<ControlGuard>,
    changes: Option<ChangeWatch>,
}

impl Service {
    /// Mounts and starts everything.
    ///
    /// # Errors
    /// What made a mount impossible; nothing is left of it.
    pub(super) fn start(config: Config, predictor: PredictorChoice) -> Result<Self, MountError> {
        let (to_wishes, wishes) = bounded(8);
        let signals = signals::watch(to_wishes.clone()).map_err(MountError::Session)?;
        let source = Arc::new(open_source(&config)?);
        let below = Arc::new(open_mountpoint(&config)?);
        let chosen = choose(config.path, &Allowance::at(&config.mountpoint));
        let counters = Arc::new(Counters::default());
        let names = Arc::default();
        let live = Live::start(LiveConfig {
            source: source.clone(),
            names: Arc::clone(&names),
            model: config.model.clone(),
            settings: Settings { predictor, budget: config.budget.unwrap_or_else(memory::default_budget) },
            join_wait: config.join_wait,
            save_interval: config.save_interval,
            counters: counters.clone(),
        })
        .map_err(MountError::Session)?;
        let mirror = Mirror::new(source.clone(), names, live.clone(), config.timeout)
            .map_err(|error| MountError::Session(error.into()))?;
        let mirror = Arc::new(mirror);
        let session = Session::mount(mirror.clone(), &config, chosen.path, counters.clone())
            .map_err(MountError::Session)?;
        let started = Started { config, chosen, mirror, live, counters, signals, wishes, to_wishes };
        started.finish(session, &source, below)
    }

    /// Serves until the mount has gone.
    pub(super) fn serve(mut self) {
        let sweep = tick(SWEEP);
        loop {
            select! {
                recv(self.ended) -> _ => break,
                recv(self.gone) -> _ => {
                    self.gone = crossbeam_channel::never();
                    self.let_go();
                }
                recv(self.wishes) -> wish => match wish {
                    Ok(Wish::Save) => save(&self.live),
                    Ok(Wish::Stop) | Err(_) => {
                        self.take_down();
                        break;
                    }
                },
                recv(sweep) -> _ => {
                    self.mirror.sweep();
                }
            }
        }
        self.finish();
    }

    /// Unmounts and ends at once: nobody wants the mount.
    pub(super) fn stop(mut self) {
        self.take_down();
        self.finish();
    }

    /// Nothing of ours is on the mount from here on.
    fn let_go(&mut self) {
        if !self.live.detach() {
            log::warn!("a worker still waits for the source");
        }
    }

    /// Unmounts, also when something still uses the mount, and waits for the kernel to let go.
    fn take_down(&mut self) {
        self.let_go();
        // Only what is ours: somebody may have unmounted it and mounted something else there.
        match mountinfo::at(&self.config.mountpoint) {
            Ok(Some(mount)) if mount.device == self.device => self.unmount(),
            _ => {}
        }
        if self.ended.recv_timeout(GRACE).is_err() {
            log::warn!("{} is still in use: its users lose it now", self.config.mountpoint.display());
        }
    }

    fn unmount(&self) {
        if rustix::process::geteuid().is_root() {
            match rustix::mount::unmount(&self.config.mountpoint, UnmountFlags::NOFOLLOW) {
                Err(Errno::BUSY) => log::warn!("{} is busy: detached", self.config.mountpoint.display()),
                Err(error) => {
                    log::warn!("{} could not be unmounted: {error}", self.config.mountpoint.display())
                }
                Ok(()) => return,
            }
        }
        if let Err(error) = check::detach(&self.config.mountpoint) {
            log::error!("{error}");
        }
    }

    /// Saves what was learned; then whoever waits for us may go on.
    fn finish(mut self) {
        self.let_go();
        self.changes = None;
        if let Err(error) = self.live.stop() {
            log::warn!("{error}");
        }
        self.control = None;
    }
}

/// Everything that exists before the session answers its first request.
struct Started {
    config: Config,
    chosen: ChosenPath,
    mirror: Arc<Mirror>,
    live: Arc<Live>,
    counters: Arc<Counters>,
    signals: SignalWatch,
    wishes: Receiver<Wish>,
    to_wishes: Sender<Wish>,
}

impl Started {
    fn finish(self, session: Session, source: &OwnedFd, below: Arc<OwnedFd>) -> Result<Service, MountError> {
        let Started { config, chosen, mirror, live, counters, signals, wishes, to_wishes } = self;
        let place = mountinfo::at(&config.mountpoint).ok().flatten();
        let device = place.map(|mount| mount.device).ok_or_else(|| {
            MountError::Session(io::Error::other("the new mount is not in /proc/self/mountinfo"))
        })?;
        mirror.cover(device, below);
        mirror.connect(session.kernel()).map_err(MountError::Session)?;
        let passthrough = session.passthrough();
        // Before the first answer: what is told from now on is watched.
        let (changes, watch) = watch_changes(&config, &mirror, source);
        let (to_ended, ended) = bounded(1);
        let session = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                if let Err(error) = session.run() {
                    log::error!("the session with the kernel ended: {error}");
                }
                // The other side waits for this, or has gone.
                let _ = to_ended.send(());
            })
            .map_err(MountError::Session)?;
        let (to_gone, gone) = bounded(1);
        presence::watch(device, to_gone).map_err(MountError::Session)?;
        if chosen.path == DataPath::Resident {
            attach(&config, &mirror, &live);
        }
        let reporter = Reporter::new(&config, chosen, passthrough, watch, live.clone(), counters);
        let control = listen(device, reporter, live.clone(), to_wishes);
        Ok(Service {
            config,
            device,
            mirror,
            live,
            ended,
            gone,
            wishes,
            _signals: signals,
            _session: session,
            control,
            changes,
        })
    }
}

fn open_source(config: &Config) -> Result<OwnedFd, MountError> {
    File::open(&config.source).map(OwnedFd::from).map_err(|reason| MountError::Unreadable {
        role: "source",
        path: config.source.clone(),
        reason,
    })
}

fn open_mountpoint(config: &Config) -> Result<OwnedFd, MountError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(&config.mountpoint, flags, Mode::empty()).map_err(|error| MountError::Unreadable {
        role: "mountpoint",
        path: config.mountpoint.clone(),
        reason: error.into(),
    })
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

/// Answers on the control socket.
fn listen(
    device: (u32, u32),
    reporter: Reporter,
    live: Arc<Live>,
    wishes: Sender<Wish>,
) -> Option<ControlGuard> {
    let answer = move |request| match request {
        Request::Stats => Response::Stats { report: Box::new(reporter.report()) },
        Request::Save => match live.save() {
            Ok(()) => Response::Done,
            Err(error) => Response::Error { message: error.to_string() },
        },
        Request::Unmount => {
            // A full channel holds a wish to stop already.
            let _ = wishes.try_send(Wish::Stop);
            Response::Done
        }
    };
    control::own_socket(device)
        .and_then(|path| control::serve(&path, answer))
        .inspect_err(|error| log::warn!("nobody can ask for statistics: {error}"))
        .ok()
}

fn save(live: &Live) {
    if let Err(error) = live.save() {
        log::warn!("{error}");
    }
}
