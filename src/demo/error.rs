//! Why the demonstration ended early.

use crate::live::control::ControlError;
use crate::run::MountError;
use crate::run::unmount::UnmountError;
use std::io;

/// A demonstration that did not come to its end. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// FUSE may not be used here.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The mount did not say how it did.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The mount could not be ended.
    #[error(transparent)]
    Unmount(#[from] UnmountError),
    /// The slow device could not be mounted.
    #[error("the slow device could not be mounted: {0}")]
    Device(io::Error),
    /// `augurfs` itself did not mount; it has said why.
    #[error("mounting with augurfs failed (exit code {0})")]
    Mirror(String),
    /// The job failed.
    #[error("the job ended with {0}")]
    Job(String),
    /// The user broke it off.
    #[error("interrupted")]
    Interrupted,
    /// A file, a process or the terminal.
    #[error(transparent)]
    Io(#[from] io::Error),
}
