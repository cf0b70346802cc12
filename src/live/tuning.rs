//! What may change while mounted.
//!
//! Must stay true: whoever changes something never waits for the engine thread, and the engine is told of it as of everything
//! else, step by step, so that a recording of it replays to the same.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::Live;
use super::desk::Input;

/// Microseconds that stand for "as at the start".
const UNSET: u64 = u64::MAX;

/// The values in force. Shared by all threads.
#[derive(Debug)]
pub(crate) struct Tuning {
    paused: AtomicBool,
    join_wait: AtomicU64,
    save_interval: AtomicU64,
    /// A budget the engine is to be told of.
    budget: AtomicU64,
}

impl Default for Tuning {
    fn default() -> Self {
        let unset = || AtomicU64::new(UNSET);
        Tuning {
            paused: AtomicBool::new(false),
            join_wait: AtomicU64::new(0),
            save_interval: unset(),
            budget: unset(),
        }
    }
}

impl Tuning {
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    pub(crate) fn join_wait(&self) -> Duration {
        Duration::from_micros(self.join_wait.load(Ordering::Relaxed))
    }

    pub(crate) fn set_join_wait(&self, wait: Duration) {
        self.join_wait.store(micros(wait), Ordering::Relaxed);
    }

    /// The time between two saves, if it was changed.
    pub(crate) fn save_interval(&self) -> Option<Duration> {
        set(self.save_interval.load(Ordering::Relaxed)).map(Duration::from_micros)
    }

    /// A new budget, once.
    pub(crate) fn new_budget(&self) -> Option<u64> {
        set(self.budget.swap(UNSET, Ordering::Relaxed))
    }
}

fn set(value: u64) -> Option<u64> {
    Some(value).filter(|value| *value != UNSET)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(UNSET - 1)
}

impl Live {
    /// Fetches nothing ahead from now on, or does so again. What is under way comes; learning goes on.
    pub fn pause(&self, paused: bool) {
        self.desk.tuning.paused.store(paused, Ordering::Relaxed);
        self.wake();
    }

    /// Is nothing fetched ahead because somebody said so?
    pub fn is_paused(&self) -> bool {
        self.desk.tuning.is_paused()
    }

    /// Sets how much may be on its way or unused, in bytes.
    pub fn set_budget(&self, bytes: u64) {
        self.desk.tuning.budget.store(bytes.min(UNSET - 1), Ordering::Relaxed);
        self.wake();
    }

    /// Sets how long a request may wait for a job that brings what it wants.
    pub fn set_join_wait(&self, wait: Duration) {
        self.desk.tuning.set_join_wait(wait);
    }

    /// Sets the time between two saves of the model.
    pub fn set_save_interval(&self, interval: Duration) {
        self.desk.tuning.save_interval.store(micros(interval), Ordering::Relaxed);
        self.wake();
    }

    /// The engine thread looks at once; it may be asleep until something happens.
    fn wake(&self) {
        if !self.is_off() {
            self.desk.deliver(Input::Wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_told_once() {
        let tuning = Tuning::default();
        assert_eq!((tuning.new_budget(), tuning.save_interval()), (None, None));
        tuning.budget.store(5, Ordering::Relaxed);
        assert_eq!((tuning.new_budget(), tuning.new_budget()), (Some(5), None));
        tuning.set_join_wait(Duration::MAX);
        assert!(tuning.join_wait() > Duration::from_secs(1 << 40));
    }
}
