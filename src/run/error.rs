//! Why a mount did not come about, or ended before its time, each in a sentence that says what to do where something can be done.

use std::io;
use std::path::PathBuf;

/// A mount that failed. Nothing is left mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// There is nothing at one of the two paths.
    #[error("{role} {} does not exist", path.display())]
    Missing {
        /// `source` or `mountpoint`.
        role: &'static str,
        /// The path as given.
        path: PathBuf,
    },
    /// `-` stands for it, and no file of defaults names it.
    #[error(
        "no source is known for {0}: write [{0}] and source = PATH into augurfs.conf", path.display()
    )]
    Sourceless {
        /// The mountpoint.
        path: PathBuf,
    },
    /// There is something, but not a directory.
    #[error("{role} {} is not a directory", path.display())]
    NotDirectory {
        /// `source` or `mountpoint`.
        role: &'static str,
        /// The path as given.
        path: PathBuf,
    },
    /// It cannot be looked at.
    #[error("{role} {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// `source` or `mountpoint`.
        role: &'static str,
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The file system there does not answer.
    #[error("{role} {} does not answer: the file system there hangs", path.display())]
    Silent {
        /// `source` or `mountpoint`.
        role: &'static str,
        /// The path as given.
        path: PathBuf,
    },
    /// One of our mounts is there already.
    #[error("augurfs is mounted on {0} already: unmount it first with 'augurfs unmount {0}'", path.display())]
    Occupied {
        /// The mountpoint.
        path: PathBuf,
    },
    /// A dead mount is in the way.
    #[error("a dead mount on {} cannot be removed: {reason}", path.display())]
    Stale {
        /// The mountpoint.
        path: PathBuf,
        /// What the system, or `fusermount3`, said.
        reason: String,
    },
    /// The kernel has no FUSE, or a container does not show it.
    #[error(
        "/dev/fuse does not exist: load the fuse module (modprobe fuse), or pass the device into the container"
    )]
    NoDevice,
    /// The device may not be opened.
    #[error("/dev/fuse may not be opened: {reason}; mount as root, or let users read and write the device{}", also(*fusermount))]
    DeviceDenied {
        /// What the system said.
        reason: io::Error,
        /// Whether the program is there that a user would need besides.
        fusermount: bool,
    },
    /// The descriptor that was given is no mounted /dev/fuse.
    #[error(
        "/dev/fd/{descriptor} is no open /dev/fuse with which something is mounted here, or the kernel is older than 6.6"
    )]
    NotServed {
        /// Its number.
        descriptor: i32,
    },
    /// A user needs a set-ID program to mount.
    #[error(
        "a user needs fusermount3 to mount, and it is not in PATH: install the package fuse3, or mount as root"
    )]
    NoFusermount,
    /// The model could not be saved.
    #[error("model file {} cannot be written: {reason}; choose another with -o model=PATH, or model=none", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The model would lie behind the mount that uses it.
    #[error("model file {} lies below the mountpoint: choose another with -o model=PATH, or model=none", path.display())]
    ModelBehind {
        /// The file.
        path: PathBuf,
    },
    /// The file to record into could not be opened.
    #[error("trace file {} cannot be written: {reason}; choose another with -o record=PATH", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The kernel, or the session, refused.
    #[error("the file system could not be mounted: {0}")]
    Session(io::Error),
    /// The mount was there, and ended though nobody unmounted it.
    #[error("the mount has ended before its time: {0}")]
    Ended(io::Error),
}

fn also(fusermount: bool) -> &'static str {
    if fusermount { "" } else { " and install fusermount3 (package fuse3)" }
}
