//! At most so many bytes a second.
//!
//! What must stay true: it is paid after the work, so nobody waits for a job that only waits for its turn; over any time the
//! bytes brought are at most what the rate allows for it, and what was under way at once.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The limit, shared by all workers.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Bytes a second; `None` is no limit.
    most: Option<u64>,
    turn: Mutex<Turn>,
    over: Condvar,
}

/// Up to when the rate has been used up.
#[derive(Debug)]
struct Turn {
    paid_until: Instant,
    closed: bool,
}

impl Rate {
    pub(crate) fn new(most: Option<u64>) -> Self {
        let turn = Turn { paid_until: Instant::now(), closed: false };
        Rate { most, turn: Mutex::new(turn), over: Condvar::new() }
    }

    /// Is there a limit?
    pub(crate) fn is_limited(&self) -> bool {
        self.most.is_some()
    }

    /// So many bytes were brought: waits until the rate allows more, or nobody works any more.
    pub(crate) fn pay(&self, bytes: u64) {
        let Some(most) = self.most.filter(|_| bytes > 0) else { return };
        let mut turn = self.turn.lock();
        let until = turn.pay(bytes, most, Instant::now());
        while !turn.closed && Instant::now() < until {
            let _ = self.over.wait_until(&mut turn, until);
        }
    }

    /// Nobody waits any more.
    pub(crate) fn close(&self) {
        self.turn.lock().closed = true;
        self.over.notify_all();
    }
}

impl Turn {
    /// When the next bytes may be brought.
    fn pay(&mut self, bytes: u64, most: u64, now: Instant) -> Instant {
        let cost = Duration::from_secs_f64(bytes as f64 / most as f64);
        self.paid_until = self.paid_until.max(now) + cost;
        self.paid_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pays_for_all_before_and_rest_is_not_saved_up() {
        let start = Instant::now();
        let mut turn = Turn { paid_until: start, closed: false };
        let second = Duration::from_secs(1);
        assert_eq!(turn.pay(1000, 1000, start), start + second);
        assert_eq!(turn.pay(500, 1000, start), start + second * 3 / 2);
        assert_eq!(turn.pay(1000, 1000, start + 10 * second), start + 11 * second);
    }

    #[test]
    fn without_a_limit_and_after_the_end_nobody_waits() {
        Rate::new(None).pay(u64::MAX);
        let rate = Rate::new(Some(1));
        rate.pay(0);
        rate.close();
        rate.pay(1 << 40);
        assert!(rate.is_limited());
    }
}
