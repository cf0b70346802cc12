//! What a mount is made of besides its session: the same for one that begins and one that is taken over.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};

use crate::config::Config;
use crate::engine::Settings;
use crate::live::{Live, LiveConfig};
use crate::mirror::Mirror;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::run::{MountError, own_cache, recording};
use crate::stats::Counters;

/// What answers requests, apart from the session.
pub(super) struct Made {
    pub(super) mirror: Arc<Mirror>,
    pub(super) live: Arc<Live>,
    pub(super) counters: Arc<Counters>,
}

/// Makes it, for a mount of `source`; with a model to begin with, and why it is kept nowhere, if so.
///
/// # Errors
/// What made that impossible.
pub(super) fn make(
    config: &Config,
    predictor: PredictorChoice,
    policy: Policy,
    source: &Arc<OwnedFd>,
    (begin, unkept): (Option<Vec<u8>>, Option<String>),
) -> Result<Made, MountError> {
    let counters = Arc::new(Counters::default());
    let names = Arc::default();
    let live = Live::start(LiveConfig {
        source: source.clone(),
        names: Arc::clone(&names),
        model: config.model.clone(),
        begin,
        unkept,
        settings: Settings { predictor, scope: config.stream, budget: own_cache::budget(config) },
        rate: config.rate,
        budget: if config.own_cache { Some(own_cache::budget(config)) } else { config.budget },
        memory: config.model_size,
        inode_window: config.inode_window,
        join_wait: config.join_wait,
        save_interval: config.save_interval,
        record: config.record.as_deref().map(recording::file).transpose()?,
        counters: counters.clone(),
    })
    .map_err(MountError::Session)?;
    let mirror = Mirror::new(source.clone(), names, live.clone(), config.timeout, !config.atime)
        .map_err(|error| MountError::Session(error.into()))?;
    let mirror = Arc::new(match own_cache::settings(config, policy) {
        Some(settings) => mirror.with_own_cache(settings),
        None => mirror,
    });
    Ok(Made { mirror, live, counters })
}

/// The source, opened for reading.
///
/// # Errors
/// It cannot be.
pub(super) fn open_source(config: &Config) -> Result<OwnedFd, MountError> {
    File::open(&config.source).map(OwnedFd::from).map_err(|reason| MountError::Unreadable {
        role: "source",
        path: config.source.clone(),
        reason,
    })
}

/// Is the file system of the source mounted read-only?
pub(super) fn is_read_only(source: &OwnedFd) -> bool {
    rustix::fs::fstatvfs(source).is_ok_and(|volume| volume.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// What lies below the mount, opened before that comes over it.
///
/// # Errors
/// It cannot be, or it would have been needed and is covered already.
pub(super) fn open_mountpoint(config: &Config) -> Result<OwnedFd, MountError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // What lies below a mount that is there already cannot be had any more, and is wanted in one case only.
    let place = match config.descriptor {
        Some(_) if config.mountpoint.starts_with(&config.source) => {
            return Err(MountError::Session(io::Error::other("it is mounted inside its own source")));
        }
        Some(_) => Path::new("/"),
        None => &config.mountpoint,
    };
    rustix::fs::open(place, flags, Mode::empty()).map_err(|error| MountError::Unreadable {
        role: "mountpoint",
        path: config.mountpoint.clone(),
        reason: error.into(),
    })
}
