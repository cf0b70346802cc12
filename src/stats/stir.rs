//! Wakes the one who looks after the mount now and then, when there is something to look after again.
//!
//! What must stay true: telling never waits, and costs one load while nobody dozes; whoever dozes looks once more after having
//! said so, so that what happened just before is not missed.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

/// The line between those at work and the one who dozes.
#[derive(Debug)]
pub struct Stir {
    dozing: AtomicBool,
    ring: Sender<()>,
    bell: Receiver<()>,
}

impl Default for Stir {
    fn default() -> Self {
        let (ring, bell) = bounded(1);
        Stir { dozing: AtomicBool::new(false), ring, bell }
    }
}

impl Stir {
    /// Something was done.
    pub fn tell(&self) {
        if self.dozing.load(Ordering::Acquire) && self.dozing.swap(false, Ordering::AcqRel) {
            // One ring is enough: a full channel has one.
            let _ = self.ring.try_send(());
        }
    }

    /// From now on the next `tell` rings the bell.
    pub fn doze(&self) {
        self.dozing.store(true, Ordering::SeqCst);
    }

    /// Rings once for each doze.
    pub fn bell(&self) -> &Receiver<()> {
        &self.bell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bell_rings_once_for_each_doze() {
        let stir = Stir::default();
        stir.tell();
        assert!(stir.bell().try_recv().is_err(), "nobody dozes");
        stir.doze();
        stir.tell();
        stir.tell();
        assert!(stir.bell().try_recv().is_ok());
        assert!(stir.bell().try_recv().is_err());
        stir.doze();
        assert!(stir.bell().try_recv().is_err(), "nothing was done since");
        stir.tell();
        assert!(stir.bell().try_recv().is_ok());
    }
}
