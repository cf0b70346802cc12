//! Restraint: a group gets prefetching only while it really waits for the device.
//!
//! What must stay true: on a warm tree nothing is asked for, and finding that out costs a counter.

/// Opens in a row without a device access, and without help from us, that close the gate.
const CALM_OPENS: u32 = 128;
/// Jobs in a row that found everything in memory that close the gate. Doubled each time it turns out
/// to be too early, up to the limit: part of a tree may be warm.
const RESIDENT_JOBS: u32 = 64;
const RESIDENT_JOBS_MAX: u32 = 4096;

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    armed: bool,
    calm: u32,
    resident: u32,
    patience: u32,
}

impl Gate {
    pub(super) fn closed() -> Self {
        Gate { armed: false, calm: 0, resident: 0, patience: RESIDENT_JOBS }
    }

    pub(super) fn armed(&self) -> bool {
        self.armed
    }

    /// An access had to go to the device. Says whether that opened the gate.
    pub(super) fn miss(&mut self) -> bool {
        self.calm = 0;
        !std::mem::replace(&mut self.armed, true)
    }

    /// A file was opened that we had brought or were bringing.
    pub(super) fn helped(&mut self) {
        self.calm = 0;
    }

    /// A file was opened, as far as we know without the device. Says whether that closed the gate.
    pub(super) fn open(&mut self) -> bool {
        self.calm = self.calm.saturating_add(1);
        self.armed && self.calm >= CALM_OPENS && self.close()
    }

    /// A job brought something.
    pub(super) fn warmed(&mut self) {
        (self.calm, self.resident) = (0, 0);
    }

    /// A job found everything in memory. Says whether that closed the gate.
    pub(super) fn found_resident(&mut self) -> bool {
        self.resident += 1;
        if !self.armed || self.resident < self.patience {
            return false;
        }
        self.patience = (self.patience * 2).min(RESIDENT_JOBS_MAX);
        self.close()
    }

    fn close(&mut self) -> bool {
        *self = Gate { armed: false, calm: 0, resident: 0, ..*self };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_opens_and_calm_closes() {
        let mut gate = Gate::closed();
        assert!(gate.miss() && !gate.miss() && gate.armed());
        assert!((1..CALM_OPENS).all(|_| !gate.open()));
        gate.helped();
        assert!((1..CALM_OPENS).all(|_| !gate.open()));
        assert!(gate.open() && !gate.armed());
    }

    #[test]
    fn jobs_that_bring_nothing_close_it_with_growing_patience() {
        let mut gate = Gate::closed();
        for expected in [64, 128, 256] {
            gate.miss();
            let jobs = (1..).find(|_| gate.found_resident());
            assert_eq!(jobs, Some(expected));
        }
    }
}
