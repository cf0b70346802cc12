//! What is done now and then while the mount is used: descriptors closed, a point of its life kept, names let go, memory given back.
//!
//! What must stay true: while nobody uses the mount, nothing wakes us.

use std::time::Duration;

use super::Service;
use crate::sys::memory;

/// How often descriptors that were opened for a moment are looked at.
pub(super) const SWEEP: Duration = Duration::from_millis(250);

impl Service {
    /// What has to be done now and then while the mount is used. True when there is nothing more to do until it is used again.
    pub(super) fn tend(&self) -> bool {
        let still = self.reporter.note();
        self.live.tidy(|numbers| self.mirror.drop_numbers(numbers));
        if self.mirror.settle() {
            memory::give_back();
        }
        if !self.mirror.sweep() || !still {
            return false;
        }
        self.counters.stir.doze();
        // Somebody may have come in between, who has not rung.
        self.mirror.sweep()
    }
}
