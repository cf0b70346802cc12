//! Where the demonstration takes place: a private directory with two mountpoints and a model file.
//!
//! Guards take everything away in the reverse order. Nothing is ever removed recursively: if an unmount failed, that would
//! reach into the mount.

use super::DemoError;
use crate::fuse::slow::{SlowMount, SlowTree};
use crate::live::control::{self, Request, Response};
use crate::run::{check, daemon, unmount};
use crate::stats::Report;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) struct Stage {
    root: PathBuf,
    source: PathBuf,
    mountpoint: PathBuf,
    tree: SlowTree,
    latency: Duration,
}

impl Stage {
    /// Makes the directories.
    pub(super) fn set(tree: SlowTree, latency: Duration) -> io::Result<Self> {
        let root = std::env::temp_dir().join(format!("augurfs-demo-{}", std::process::id()));
        // Fails if it exists, so nobody can have prepared it.
        DirBuilder::new().mode(0o700).create(&root)?;
        let stage = Stage { source: root.join("slow"), mountpoint: root.join("mirror"), root, tree, latency };
        fs::create_dir(&stage.source)?;
        fs::create_dir(&stage.mountpoint)?;
        Ok(stage)
    }

    /// The slow device's mountpoint.
    pub(super) fn source(&self) -> &Path {
        &self.source
    }

    /// The mirror's mountpoint.
    pub(super) fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Mounts the slow device afresh: nothing of it is in memory.
    pub(super) fn device(&self) -> Result<SlowMount, DemoError> {
        self.tree.mount(&self.source, self.latency).map_err(DemoError::Device)
    }

    /// Mounts augurfs over the device the way a user does.
    pub(super) fn mirror(&self) -> Result<Mirror<'_>, DemoError> {
        let mut options = OsString::from("model=");
        options.push(self.model());
        let mut command = Command::new(daemon::own_program());
        command.arg(&self.source).arg(&self.mountpoint).arg("-o").arg(options).stdin(Stdio::null());
        match command.status()? {
            status if status.success() => Ok(Mirror { mountpoint: &self.mountpoint, mounted: true }),
            status => {
                Err(DemoError::Mirror(status.code().map_or_else(|| "none".into(), |code| code.to_string())))
            }
        }
    }

    fn model(&self) -> PathBuf {
        self.root.join("demo.model")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The model may not have come into being; what cannot be removed stays empty or mounted, for the user to see.
        let _ = fs::remove_file(self.model());
        let _ = fs::remove_file(self.model().with_extension("model.lock"));
        let _ = fs::remove_dir(&self.mountpoint);
        let _ = fs::remove_dir(&self.source);
        if let Err(e) = fs::remove_dir(&self.root) {
            log::warn!("{} could not be removed: {e}", self.root.display());
        }
    }
}

/// augurfs, mounted.
pub(super) struct Mirror<'a> {
    mountpoint: &'a Path,
    mounted: bool,
}

impl Mirror<'_> {
    /// What it says about itself.
    pub(super) fn report(&self) -> Result<Report, DemoError> {
        match control::ask(self.mountpoint, Request::Stats)? {
            Response::Stats { report } => Ok(*report),
            _ => Ok(Report::default()),
        }
    }

    /// Unmounts it and waits until its model is saved.
    pub(super) fn unmount(mut self) -> Result<(), DemoError> {
        unmount::unmount(self.mountpoint, false)?;
        self.mounted = false;
        Ok(())
    }
}

impl Drop for Mirror<'_> {
    fn drop(&mut self) {
        if !self.mounted || unmount::unmount(self.mountpoint, false).is_ok() {
            return;
        }
        if let Err(e) = check::detach(self.mountpoint) {
            log::warn!("{e}");
        }
    }
}
