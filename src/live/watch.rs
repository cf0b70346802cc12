//! Changes made directly in the source, by anybody but us.
//!
//! What must stay true: the receiver is called from one thread, in the order of the changes, and hears of every
//! change or that changes were lost.

use std::io;
use std::os::fd::AsFd;

use super::follow::Follower;
use crate::sys::fanotify::{Change, Reports};

/// Watches while it lives.
#[derive(Debug)]
pub struct ChangeWatch {
    _follower: Follower,
}

impl ChangeWatch {
    /// Tells `receiver` of every change on the file system that `source` (opened for reading) lies on,
    /// changes outside the source included; those made by this process are left out.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `EOPNOTSUPP`, `ENODEV` or `EXDEV` where the file system cannot be
    /// watched, `EINVAL` where the kernel is too old.
    pub fn start(source: impl AsFd, receiver: impl Fn(Change) + Send + 'static) -> io::Result<ChangeWatch> {
        Self::except(std::process::id(), source, receiver)
    }

    fn except(own: u32, source: impl AsFd, receiver: impl Fn(Change) + Send + 'static) -> io::Result<Self> {
        let reports = Reports::of_changes(source)?;
        let mut batch = Vec::new();
        let drain = move |reports: &mut Reports| {
            reports.read_changes(own, &mut batch)?;
            let count = batch.len();
            batch.drain(..).for_each(&receiver);
            Ok(count)
        };
        Ok(ChangeWatch { _follower: Follower::start("changes", reports, drain)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fanotify::What;
    use crate::sys::handle::FileHandle;
    use std::fs::{self, File};
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn changes_below_are_told_with_handles_and_names() {
        // On the disk of the project: a tmpfs may hide handles in some sandboxes.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = File::open(dir.path()).unwrap();
        let (dir_handle, _) = FileHandle::of_fd(&at).unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        // Nobody has number 0: our own changes are told.
        let watch = ChangeWatch::except(0, &at, move |change| to.send(change).unwrap()).unwrap();

        fs::write(dir.path().join("new"), b"text").unwrap();
        let (handle, _) = FileHandle::of_fd(File::open(dir.path().join("new")).unwrap()).unwrap();
        fs::remove_file(dir.path().join("new")).unwrap();

        let deadline = Instant::now() + LONG;
        let mut seen = What::default();
        while !(seen.name && seen.data && seen.gone) {
            let Change::One { dir, name, child, what } = from.recv_deadline(deadline).unwrap() else {
                continue;
            };
            let here = dir.as_ref() == Some(&dir_handle) && name == b"new";
            if here || child.as_ref() == Some(&handle) {
                seen.name |= here && what.name;
                seen.data |= what.data;
                seen.gone |= what.gone || (here && what.name && child.is_some());
            }
        }
        drop(watch);
    }

    #[test]
    fn our_own_changes_are_left_out() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = File::open(dir.path()).unwrap();
        let (handle, _) = FileHandle::of_fd(&at).unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        let _watch = ChangeWatch::start(&at, move |change| to.send(change).unwrap()).unwrap();
        fs::write(dir.path().join("ours"), b"").unwrap();
        let theirs = std::process::Command::new("touch").arg(dir.path().join("theirs")).status().unwrap();
        assert!(theirs.success());

        let deadline = Instant::now() + LONG;
        loop {
            if let Change::One { dir: Some(dir), name, .. } = from.recv_deadline(deadline).unwrap()
                && dir == handle
            {
                assert_eq!(name, b"theirs");
                return;
            }
        }
    }
}
