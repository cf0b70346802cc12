//! Where the threads that read requests stop when another process is to go on with the mount.
//!
//! A thread that waits for a request cannot be called back (the library reads again when it is interrupted), so each
//! is let have one more, works it off, and stops here. Who closes the gate asks for requests itself, so that
//! none waits long.
//!
//! What must stay true: a thread stops only after the request it has read was handed on; an open gate costs one look.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
    stopped: Mutex<usize>,
    stir: Condvar,
}

impl Gate {
    /// Returns at once while the gate is open. To be called by a thread that reads requests, before it reads on.
    pub(crate) fn pass(&self) {
        if !self.closed.load(Ordering::Acquire) {
            return;
        }
        let mut stopped = self.stopped.lock();
        *stopped += 1;
        self.stir.notify_all();
        while self.closed.load(Ordering::Acquire) {
            self.stir.wait(&mut stopped);
        }
        *stopped -= 1;
    }

    /// Lets nobody pass from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Lets everybody go on.
    pub(crate) fn open(&self) {
        let _stopped = self.stopped.lock();
        self.closed.store(false, Ordering::Release);
        self.stir.notify_all();
    }

    /// Is it closed?
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Have so many stopped?
    pub(crate) fn holds(&self, count: usize) -> bool {
        *self.stopped.lock() >= count
    }

    /// Waits until so many have stopped, at most until `deadline`. Says whether they have.
    pub(crate) fn await_stop(&self, count: usize, deadline: Instant) -> bool {
        let mut stopped = self.stopped.lock();
        while *stopped < count {
            if self.stir.wait_until(&mut stopped, deadline).timed_out() {
                break;
            }
        }
        *stopped >= count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn who_comes_to_a_closed_gate_stops_until_it_opens() {
        let gate = Arc::new(Gate::default());
        gate.pass();
        gate.close();
        assert!(!gate.await_stop(1, Instant::now()), "nobody has come");
        let come = |_| {
            let gate = gate.clone();
            std::thread::spawn(move || gate.pass())
        };
        let threads: Vec<_> = (0..3).map(come).collect();
        assert!(gate.await_stop(3, Instant::now() + Duration::from_secs(30)));
        assert!(gate.holds(3) && threads.iter().all(|thread| !thread.is_finished()));
        gate.open();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!gate.holds(1));
    }
}
