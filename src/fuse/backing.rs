//! Files whose data the kernel takes straight from the source (FUSE passthrough).
//!
//! What must stay true: all opens of an inode use the same backing number, or none of them any,
//! from the first open until the last release; the kernel answers a mixture with EIO.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fuser::BackingId;
use parking_lot::Mutex;

/// How an inode that is open gets its data.
#[derive(Debug)]
struct Backing {
    id: Option<Arc<BackingId>>,
    opens: u64,
}

/// The inodes that are open.
#[derive(Debug)]
pub(crate) struct Backings {
    open: Mutex<HashMap<u64, Backing>>,
    active: AtomicBool,
}

impl Backings {
    /// `active`: shall passthrough be tried?
    pub(crate) fn new(active: bool) -> Self {
        Backings { open: Mutex::default(), active: AtomicBool::new(active) }
    }

    /// Is passthrough in use (as far as we know)?
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Counts one open of `nodeid`; the backing that its reply must name, if any. `register` makes
    /// a number for the file; the first refusal turns passthrough off.
    pub(crate) fn open(
        &self,
        nodeid: u64,
        register: impl FnOnce() -> io::Result<BackingId>,
    ) -> Option<Arc<BackingId>> {
        let mut open = self.open.lock();
        let backing = open.entry(nodeid).or_insert_with(|| Backing {
            id: self.is_active().then(|| self.registered(register())).flatten().map(Arc::new),
            opens: 0,
        });
        backing.opens += 1;
        backing.id.clone()
    }

    fn registered(&self, answer: io::Result<BackingId>) -> Option<BackingId> {
        match answer {
            Ok(id) => Some(id),
            Err(error) => {
                // Not allowed at all, or the source is too deeply stacked; other refusals concern
                // one file.
                if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ELOOP | libc::ENOTTY)) {
                    log::warn!("passthrough is off: {error}");
                    self.active.store(false, Ordering::Release);
                }
                None
            }
        }
    }

    /// Counts one release of `nodeid`.
    pub(crate) fn release(&self, nodeid: u64) {
        let mut open = self.open.lock();
        if let Some(backing) = open.get_mut(&nodeid) {
            backing.opens -= 1;
            if backing.opens == 0 {
                open.remove(&nodeid);
            }
        }
    }
}
