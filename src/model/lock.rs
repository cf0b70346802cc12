//! One writer to a model file: two daemons that save the same model would each undo the other.
//!
//! What must stay true: the lock lies beside the model, not in it, because saving replaces the file;
//! it is never removed, because somebody may be waiting for it.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often somebody who waits tries again.
const GLANCE: Duration = Duration::from_millis(20);

/// The right to save a model, until it is dropped.
#[derive(Debug)]
pub struct ModelLock(OwnedFd);

impl ModelLock {
    /// Takes the lock of the model at `model`, waiting at most `patience` for a daemon that is about to
    /// end; `None` when it is still held then.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub fn take(model: &Path, patience: Duration) -> io::Result<Option<ModelLock>> {
        let path = beside(model);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let deadline = Instant::now() + patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(ModelLock(file.into()))),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                    std::thread::sleep(GLANCE)
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// It goes on with its descriptor, also in another process: a lock that was handed over is held by both.
impl From<OwnedFd> for ModelLock {
    fn from(held: OwnedFd) -> Self {
        ModelLock(held)
    }
}

impl AsRef<OwnedFd> for ModelLock {
    fn as_ref(&self) -> &OwnedFd {
        &self.0
    }
}

fn beside(model: &Path) -> PathBuf {
    let mut path = OsString::from(model);
    path.push(".lock");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().join("model");
        let first = ModelLock::take(&model, Duration::ZERO).unwrap();
        assert!(first.is_some());
        assert!(ModelLock::take(&model, Duration::ZERO).unwrap().is_none());
        let there = model.clone();
        let second = std::thread::spawn(move || ModelLock::take(&there, Duration::from_secs(60)).unwrap());
        drop(first);
        assert!(second.join().unwrap().is_some());
    }
}
