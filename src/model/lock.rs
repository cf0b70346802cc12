//! One writer to a model file: two daemons that save the same model would each undo the other.
//!
//! What must stay true: the lock lies beside the model, not in it, because saving replaces the file; only who holds it removes
//! it, and a lock that has been removed in the meantime is none.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often somebody who waits tries again.
const GLANCE: Duration = Duration::from_millis(20);

/// The right to save a model, until it is dropped.
#[derive(Debug)]
pub struct ModelLock {
    file: File,
    /// What is removed with it.
    path: Option<PathBuf>,
}

impl ModelLock {
    /// Takes the lock of the model at `model`, waiting at most `patience` for a daemon that is about to
    /// end; `None` when it is still held then.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub fn take(model: &Path, patience: Duration) -> io::Result<Option<ModelLock>> {
        let path = beside(model);
        let deadline = Instant::now() + patience;
        loop {
            let file = open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if lies_at(&file, &path) => return Ok(Some(ModelLock { file, path: Some(path) })),
                // Whoever had it has removed it: the next one makes another.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                    std::thread::sleep(GLANCE)
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl ModelLock {
    /// Goes on with one whose open file has come from another process: both hold it then, and neither removes it.
    pub fn inherit(file: OwnedFd) -> Self {
        ModelLock { file: file.into(), path: None }
    }

    /// Lets go of a lock that another process holds too: it stays where it is.
    pub fn leave(mut self) {
        self.path = None;
    }
}

impl AsFd for ModelLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for ModelLock {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|path| lies_at(&self.file, path)) {
            // One that stays, in a directory that has become read-only, is taken up by the next.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Is it this very file that has the name?
fn lies_at(file: &File, path: &Path) -> bool {
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let there = std::fs::symlink_metadata(path).map(place);
    matches!((file.metadata().map(place), there), (Ok(ours), Ok(there)) if ours == there)
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
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn many_who_take_turns_are_never_two() {
        use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
        let dir = tempfile::tempdir().unwrap();
        let (model, inside) = (dir.path().join("model"), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        if let Some(_lock) = ModelLock::take(&model, Duration::ZERO).unwrap() {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            std::thread::yield_now();
                            inside.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
    }
}
