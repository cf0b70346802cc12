//! What can be known to go wrong before anything is mounted.
//!
//! The checks cost a few system calls; what they cannot foresee, the mount itself will say. None of them can hang on a file
//! system that does not answer: looking at a path that may is done by a thread that is left behind.

use super::MountError;
use crate::config::{Config, Surroundings};
use crate::live::control::{self, Request};
use crate::sys::{descriptor, mountinfo};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const SOURCE: &str = "source";
const MOUNTPOINT: &str = "mountpoint";
/// A directory that takes longer to be looked at belongs to a file system that hangs. Even a sleeping disk has spun up by then.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at the directory to mirror and gives its path without links.
///
/// # Errors
/// It is missing, no directory, or may not be listed.
pub fn source(path: &Path) -> Result<PathBuf, MountError> {
    directory(SOURCE, path).map_err(|error| error.about(SOURCE, path))?;
    let readable = fs::read_dir(path).and_then(|_| fs::canonicalize(path));
    readable.map_err(|reason| MountError::Unreadable { role: SOURCE, path: path.into(), reason })
}

/// Looks at the place to mount on and gives its path without links. A mount that a dead daemon left there is removed first.
///
/// # Errors
/// It is missing, no directory, or has one of our mounts on it.
pub fn mountpoint(path: &Path) -> Result<PathBuf, MountError> {
    let place = control::resolve(path);
    // A daemon that answers is asked rather than its mount, which may be slow.
    if control::ask(&place, Request::Stats).is_ok() {
        return Err(MountError::Occupied { path: place });
    }
    // Mounts may lie on each other; each round removes a dead one.
    while let Err(error) = directory(MOUNTPOINT, &place) {
        match error {
            Trouble::Dead => {
                log::warn!("removing the mount that a daemon which has died left on {}", place.display());
                detach(&place)?;
            }
            other => return Err(other.about(MOUNTPOINT, path)),
        }
    }
    match mountinfo::at(&place) {
        Ok(Some(mount)) if control::is_ours(&mount) => Err(MountError::Occupied { path: place }),
        _ => Ok(place),
    }
}

/// Where the file system lies that an open /dev/fuse serves. It does not answer yet, so it is not touched.
///
/// # Errors
/// Nothing is mounted with it, or the kernel does not say where.
pub fn adopted(descriptor: RawFd) -> Result<PathBuf, MountError> {
    let mounts = mountinfo::read().unwrap_or_default();
    let served = descriptor::served(descriptor);
    let found = mounts.into_iter().find(|mount| Some(mount.device) == served);
    found.map(|mount| mount.point).ok_or(MountError::NotServed { descriptor })
}

/// Waits until a mount of ours answers.
///
/// # Errors
/// It does not, or the source behind it does not.
pub(super) fn answers(place: &Path) -> Result<(), MountError> {
    directory(MOUNTPOINT, place).map_err(|error| error.about(MOUNTPOINT, place))
}

/// Checks what any mount needs: the device, and the right to use it.
///
/// # Errors
/// The first thing that is not there.
pub fn fuse() -> Result<(), MountError> {
    device(Path::new("/dev/fuse"))?;
    if !rustix::process::geteuid().is_root() && fusermount().is_none() {
        return Err(MountError::NoFusermount);
    }
    Ok(())
}

/// Checks what this mount will need: `fuse`, and a place for the model.
///
/// # Errors
/// The first thing that is not there.
pub fn rights(config: &Config) -> Result<(), MountError> {
    if config.descriptor.is_none() {
        fuse()?;
    }
    let ours = Surroundings::of_process().state_dir();
    let place = |model| model_place(model, ours.as_deref(), &config.mountpoint);
    config.model.as_deref().map_or(Ok(()), place)
}

/// Where `fusermount3` is, if it is installed.
pub fn fusermount() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("fusermount3")).find(|program| program.is_file())
}

/// What looking at a directory can end with.
enum Trouble {
    Said(io::Error),
    NotDirectory,
    Silent,
    /// The daemon behind a mount has gone.
    Dead,
}

impl Trouble {
    fn about(self, role: &'static str, path: &Path) -> MountError {
        let path = path.to_owned();
        match self {
            Trouble::Said(e) if e.kind() == io::ErrorKind::NotFound => MountError::Missing { role, path },
            Trouble::Said(reason) => MountError::Unreadable { role, path, reason },
            Trouble::NotDirectory => MountError::NotDirectory { role, path },
            Trouble::Silent => MountError::Silent { role, path },
            Trouble::Dead => MountError::Unreadable { role, path, reason: Errno::NOTCONN.into() },
        }
    }
}

/// Is it a directory? Asked by a thread of its own, which may wait for ever.
fn directory(role: &'static str, path: &Path) -> Result<(), Trouble> {
    let (tell, told) = mpsc::channel();
    let asked = path.to_owned();
    let ask = move || drop(tell.send(look(&asked)));
    thread::Builder::new().name(role.into()).spawn(ask).map_err(Trouble::Said)?;
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(found)) if found.is_dir() => Ok(()),
        Ok(Ok(_)) => Err(Trouble::NotDirectory),
        // The latter when the connection was cut by hand.
        Ok(Err(e)) if matches!(Errno::from_io_error(&e), Some(Errno::NOTCONN | Errno::CONNABORTED)) => {
            Err(Trouble::Dead)
        }
        Ok(Err(e)) => Err(Trouble::Said(e)),
        Err(_) => Err(Trouble::Silent),
    }
}

/// Attributes may come from the kernel's memory though the daemon behind a mount has died: figures of the file system never do.
fn look(path: &Path) -> io::Result<fs::Metadata> {
    let found = fs::metadata(path)?;
    match rustix::fs::statfs(path) {
        Err(error @ (Errno::NOTCONN | Errno::CONNABORTED)) => Err(error.into()),
        _ => Ok(found),
    }
}

/// Takes a mount away even if it is dead or something still uses it.
///
/// # Errors
/// The kernel, or `fusermount3`, refused.
pub fn detach(place: &Path) -> Result<(), MountError> {
    let refusal = |reason: String| MountError::Stale { path: place.to_owned(), reason };
    if rustix::process::geteuid().is_root() {
        use rustix::mount::{UnmountFlags, unmount};
        return unmount(place, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
            .map_err(|e| refusal(e.to_string()));
    }
    let program = fusermount().ok_or(MountError::NoFusermount)?;
    let said =
        Command::new(program).arg("-uz").arg("--").arg(place).output().map_err(|e| refusal(e.to_string()))?;
    if said.status.success() { Ok(()) } else { Err(refusal(super::unmount::last_line(&said.stderr))) }
}

fn device(path: &Path) -> Result<(), MountError> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(MountError::NoDevice),
        // ENODEV, ENXIO: a node without a driver behind it.
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NODEV | Errno::NXIO)) => {
            Err(MountError::NoDevice)
        }
        Err(reason) => {
            let fusermount = rustix::process::geteuid().is_root() || fusermount().is_some();
            Err(MountError::DeviceDenied { reason, fusermount })
        }
    }
}

/// Tries to write in the model's directory: only trying says for certain. `ours` is made, one that the user names must be
/// there: it may be misspelled.
fn model_place(model: &Path, ours: Option<&Path>, mountpoint: &Path) -> Result<(), MountError> {
    let refusal = |reason: io::Error| MountError::Model { path: model.to_owned(), reason };
    let model = std::path::absolute(model).map_err(refusal)?;
    // Saving replaces what is there: that must never be a device, above all not /dev/null.
    match fs::metadata(&model) {
        Ok(found) if found.is_dir() => return Err(refusal(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => {
            return Err(refusal(io::Error::other("it is there, and no regular file")));
        }
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => return Err(refusal(reason)),
        _ => {}
    }
    let parent = model.parent().unwrap_or(Path::new("/"));
    if ours == Some(parent) {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(refusal)?;
    }
    let parent = fs::canonicalize(parent).map_err(refusal)?;
    if parent.starts_with(mountpoint) {
        return Err(MountError::ModelBehind { path: model });
    }
    attempt(&parent).map_err(refusal)
}

fn attempt(directory: &Path) -> io::Result<()> {
    let trial = directory.join(format!(".augurfs-{}.trial", std::process::id()));
    let _file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&trial)?;
    fs::remove_file(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn said<T: std::fmt::Debug>(result: Result<T, MountError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn source_and_mountpoint_must_be_directories() {
        let dir = tempfile::tempdir().unwrap();
        let (absent, file) = (dir.path().join("absent"), dir.path().join("file"));
        fs::write(&file, "").unwrap();
        assert_eq!(said(source(&absent)), format!("source {} does not exist", absent.display()));
        assert_eq!(said(source(&file)), format!("source {} is not a directory", file.display()));
        assert_eq!(said(mountpoint(&absent)), format!("mountpoint {} does not exist", absent.display()));
        assert_eq!(said(mountpoint(&file)), format!("mountpoint {} is not a directory", file.display()));
    }

    #[test]
    fn both_are_given_back_without_links() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(real.join("tree")).unwrap();
        symlink("tree", real.join("link")).unwrap();
        assert_eq!(source(&real.join("link")).unwrap(), real.join("tree"));
        assert_eq!(mountpoint(&real.join("link")).unwrap(), real.join("tree"));
    }

    #[test]
    fn the_device_must_be_there() {
        assert!(matches!(device(Path::new("/dev/no-such-device")), Err(MountError::NoDevice)));
        assert!(device(Path::new("/dev/null")).is_ok());
        // Not a device, but something that cannot be opened for writing, whoever asks.
        assert!(matches!(device(Path::new("/")), Err(MountError::DeviceDenied { .. })));
    }

    #[test]
    fn a_user_without_anything_hears_of_both() {
        let reason = || io::Error::from(io::ErrorKind::PermissionDenied);
        let only_device = MountError::DeviceDenied { reason: reason(), fusermount: true }.to_string();
        let both = MountError::DeviceDenied { reason: reason(), fusermount: false }.to_string();
        assert!(only_device.ends_with("let users read and write the device"), "{only_device}");
        assert!(both.ends_with("the device and install fusermount3 (package fuse3)"), "{both}");
    }

    #[test]
    fn the_model_needs_a_place_that_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let mountpoint = root.join("mnt");
        fs::create_dir(&mountpoint).unwrap();
        let ours = root.join("a/b");
        let model_place =
            |model: &Path, mountpoint: &Path| super::model_place(model, Some(&ours), mountpoint);
        assert!(said(model_place(&root.join("named/c.model"), &mountpoint)).contains("No such file"));
        assert!(!root.join("named").exists(), "what a user names is not made");
        model_place(&root.join("a/b/c.model"), &mountpoint).unwrap();
        assert_eq!(fs::read_dir(root.join("a/b")).unwrap().count(), 0);
        fs::write(root.join("file"), "").unwrap();
        for bad in ["file/x.model", "a"] {
            assert!(said(model_place(&root.join(bad), &mountpoint)).contains("cannot be written"), "{bad}");
        }
        assert!(model_place(Path::new("/proc/x.model"), &mountpoint).is_err());
        assert!(said(model_place(Path::new("/dev/null"), &mountpoint)).contains("no regular file"));
        symlink("/dev/zero", root.join("link")).unwrap();
        assert!(said(model_place(&root.join("link"), &mountpoint)).contains("no regular file"));
        let long = root.join("x".repeat(300));
        assert!(said(model_place(&long, &mountpoint)).contains("cannot be written"));
        assert!(said(model_place(&mountpoint.join("x.model"), &mountpoint)).contains("below the mountpoint"));
    }
}
