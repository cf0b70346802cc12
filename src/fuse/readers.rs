//! The threads that read requests, and when one of them may do what could block.
//!
//! Handing a request to the pool wakes a thread more than answering it on the spot: as long as the
//! answer is as good as in memory, that is most of its cost. So a reader works a request off itself
//! while others read on.
//!
//! What must stay true: one reader at least always reads, whatever the others wait for.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::thread::own_umask;

/// How many there are. Two would do for one caller after the other; the others take bursts (a parallel
/// build has a few requests under way at once) without the pool.
pub(crate) const READERS: usize = 4;

thread_local! {
    /// Has this thread a umask of its own? Unknown until it was first needed.
    static OWN_UMASK: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Those that read, or are about to.
#[derive(Debug)]
pub(crate) struct Readers {
    reading: AtomicUsize,
}

/// While this lives, the calling reader may block.
#[derive(Debug)]
pub(crate) struct Leave<'a>(&'a Readers);

impl Readers {
    /// `count` threads that all read.
    pub(crate) fn new(count: usize) -> Self {
        Readers { reading: AtomicUsize::new(count) }
    }

    /// Lets the calling reader off reading for a while, unless it is the last one. To be called on a
    /// thread that reads requests, and not while on leave already.
    pub(crate) fn leave(&self) -> Option<Leave<'_>> {
        let others = |reading: usize| (reading > 1).then(|| reading - 1);
        self.reading.fetch_update(Ordering::AcqRel, Ordering::Acquire, others).ok()?;
        let leave = Leave(self);
        let own = OWN_UMASK.get().unwrap_or_else(|| {
            let own = own_umask().is_ok();
            OWN_UMASK.set(Some(own));
            own
        });
        own.then_some(leave)
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.reading.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reader_stays() {
        // A thread of its own, for its umask will be.
        let all_but_one = || {
            let readers = Readers::new(3);
            let (first, second) = (readers.leave(), readers.leave());
            assert!(first.is_some() && second.is_some());
            assert!(readers.leave().is_none());
            drop(first);
            assert!(readers.leave().is_some());
            drop(second);
        };
        std::thread::spawn(all_but_one).join().unwrap();
        assert!(Readers::new(1).leave().is_none());
    }
}
