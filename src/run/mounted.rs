//! The place a mount of ours has in the tree of mounts, and the duty to give it back.
//!
//! What must stay true: only our own mount is ever taken away: what lies at the mountpoint must have
//! the device number we mounted with, and it must not have been seen to go before, since device
//! numbers are handed out again. Dropping this while the mount is there detaches it, so that no
//! error leaves a dead mount behind, which would hide the real tree where a directory is mounted over itself.

use std::io;
use std::path::PathBuf;

use super::check;
use crate::sys::mountinfo;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Mounted {
    place: PathBuf,
    device: Option<(u32, u32)>,
    gone: bool,
}

impl Mounted {
    /// What was mounted at `place` a moment ago.
    pub(super) fn at(place: PathBuf) -> Self {
        let mut mounted = Mounted { place, device: None, gone: false };
        mounted.device = mounted.on_top().ok().flatten();
        mounted
    }

    /// One that still belongs to another process, with this device number: nothing is done to it before it is `ours`.
    pub(super) fn lent(place: PathBuf, device: (u32, u32)) -> Self {
        Mounted { place, device: Some(device), gone: true }
    }

    /// It is this process's now.
    pub(super) fn ours(&mut self) {
        self.gone = false;
    }

    /// Major and minor number of its device.
    ///
    /// # Errors
    /// The kernel does not list it.
    pub(super) fn device(&self) -> io::Result<(u32, u32)> {
        self.device.ok_or_else(|| io::Error::other("the new mount is not in /proc/self/mountinfo"))
    }

    /// Is it still there?
    pub(super) fn is_there(&self) -> bool {
        !self.gone && self.device.is_some() && self.on_top().is_ok_and(|found| found == self.device)
    }

    /// It was seen to go: what may lie there from now on is somebody else's.
    pub(super) fn left(&mut self) {
        self.gone = true;
    }

    /// Takes it away, if it is still there, also while somebody uses it.
    pub(super) fn detach(&mut self) {
        if self.is_there()
            && let Err(error) = check::detach(&self.place)
        {
            log::error!("{error}");
        }
        self.gone = true;
    }

    fn on_top(&self) -> io::Result<Option<(u32, u32)>> {
        Ok(mountinfo::at(&self.place)?.map(|mount| mount.device))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    use std::fs;

    fn tmpfs(place: &std::path::Path) {
        mount("none", place, "tmpfs", MountFlags::empty(), None).expect("this test needs root");
    }

    #[test]
    fn only_our_own_mount_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(dir.path()).unwrap();
        tmpfs(&place);
        let mounted = Mounted::at(place.clone());
        assert!(mounted.is_there());
        // Somebody else's lies over it.
        tmpfs(&place);
        assert!(!mounted.is_there());
        drop(mounted);
        let others = mountinfo::at(&place).unwrap();
        assert!(others.is_some());
        unmount(&place, UnmountFlags::DETACH).unwrap();
        let mut mounted = Mounted::at(place.clone());
        mounted.left();
        drop(mounted);
        assert!(mountinfo::at(&place).unwrap().is_some(), "it was seen to go: this is another");
        drop(Mounted::at(place.clone()));
        assert_eq!(mountinfo::at(&place).unwrap(), None);
    }

    #[test]
    fn what_is_not_listed_has_no_device() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Mounted::at(fs::canonicalize(dir.path()).unwrap()).device().is_err());
    }
}
