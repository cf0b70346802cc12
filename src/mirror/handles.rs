//! Open files that the kernel refers to by a handle.
//!
//! What must stay true: a handle number is never used twice; 0 means "no handle".

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use rustix::io::Errno;

use super::Result;

/// The open files.
#[derive(Debug, Default)]
pub(super) struct Handles {
    next: AtomicU64,
    open: RwLock<HashMap<u64, Arc<OwnedFd>>>,
}

impl Handles {
    /// Enters an open file; its handle comes back.
    pub(super) fn enter(&self, file: Arc<OwnedFd>) -> u64 {
        let handle = 1 + self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().insert(handle, file);
        handle
    }

    /// The file behind a handle.
    ///
    /// # Errors
    /// `EBADF` when there is none.
    pub(super) fn get(&self, handle: u64) -> Result<Arc<OwnedFd>> {
        self.open.read().get(&handle).cloned().ok_or(Errno::BADF)
    }

    /// The last number given, and every open file by its number.
    pub(super) fn all(&self) -> (u64, Vec<(u64, Arc<OwnedFd>)>) {
        let open = self.open.read();
        let mut all: Vec<_> = open.iter().map(|(&handle, file)| (handle, file.clone())).collect();
        all.sort_unstable_by_key(|&(handle, _)| handle);
        (self.next.load(Ordering::Relaxed), all)
    }

    /// Goes on where another process was.
    pub(super) fn resume(&self, next: u64, open: impl IntoIterator<Item = (u64, Arc<OwnedFd>)>) {
        self.next.store(next, Ordering::Relaxed);
        self.open.write().extend(open);
    }

    /// Takes a handle out of use; the file closes when the last request that uses it is done.
    pub(super) fn release(&self, handle: u64) {
        let _closed = self.open.write().remove(&handle);
    }
}
