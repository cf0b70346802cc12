//! The workers' own way into the mount.
//!
//! What must stay true: it is a private clone of the mount, so that nothing workers hold open keeps the
//! real one busy and nothing they do is reported as an open of it. When [`Berth::clear`] has returned
//! true, nobody uses it any more.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rustix::mount::{OpenTreeFlags, open_tree};

use crate::id::FileId;

/// The mirror's inode table, as far as the watching of opens needs it. Neither method may wait for
/// the mount to answer anything.
pub trait Tree: Send + Sync {
    /// The file with this inode number in the mount.
    fn identify(&self, inode: u64) -> Option<FileId>;
    /// The last descriptor of an open for writing was closed.
    fn closed_after_write(&self, inode: u64);
}

/// What a mounted mirror lends to the driver.
pub struct Attachment {
    /// Root of a detached clone of the mount, see [`Attachment::clone_of`].
    pub mount: OwnedFd,
    /// The inode table.
    pub tree: Arc<dyn Tree>,
}

impl std::fmt::Debug for Attachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attachment").field("mount", &self.mount).finish_non_exhaustive()
    }
}

impl Attachment {
    /// Clones the mount at `mountpoint`, detached: it has no place in the tree and goes with its
    /// descriptor.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSYS` before Linux 5.2.
    pub fn clone_of(mountpoint: &Path) -> std::io::Result<OwnedFd> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        Ok(open_tree(rustix::fs::CWD, mountpoint, flags)?)
    }
}

/// Where the clone is kept, and the count of those who use it now.
#[derive(Debug, Default)]
pub(crate) struct Berth {
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mount: Option<Arc<OwnedFd>>,
    users: usize,
}

impl Berth {
    pub(crate) fn set(&self, mount: OwnedFd) {
        self.state.lock().mount = Some(Arc::new(mount));
    }

    pub(crate) fn is_set(&self) -> bool {
        self.state.lock().mount.is_some()
    }

    /// The clone for the time of one job, if there is one.
    pub(crate) fn borrow(&self) -> Option<Lease<'_>> {
        let mut state = self.state.lock();
        let mount = state.mount.clone()?;
        state.users += 1;
        Some(Lease { berth: self, mount: Some(mount) })
    }

    /// Takes the clone away and waits, at most until `deadline`, until nobody uses it. Says whether nobody does.
    pub(crate) fn clear(&self, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        let mount = state.mount.take();
        while state.users > 0 {
            if self.free.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        let free = state.users == 0;
        drop(state);
        // Closed outside the lock: closing the last reference to a mount can take its time.
        drop(mount);
        free
    }
}

/// One job's use of the clone.
pub(crate) struct Lease<'a> {
    berth: &'a Berth,
    mount: Option<Arc<OwnedFd>>,
}

impl AsFd for Lease<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.mount.as_ref().expect("a lease holds its mount until it is dropped").as_fd()
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // First the descriptor, then the count: whoever sees no users may unmount.
        self.mount = None;
        self.berth.state.lock().users -= 1;
        self.berth.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_waits_for_the_last_user() {
        let berth = Arc::new(Berth::default());
        assert!(berth.borrow().is_none());
        berth.set(std::fs::File::open("/").unwrap().into());
        let lease = berth.borrow().unwrap();
        assert!(!berth.clear(Instant::now()), "somebody uses it");
        assert!(berth.borrow().is_none(), "nobody gets it any more");
        let there = berth.clone();
        let clearing =
            std::thread::spawn(move || there.clear(Instant::now() + std::time::Duration::from_secs(30)));
        drop(lease);
        assert!(clearing.join().unwrap());
    }
}
