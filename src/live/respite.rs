//! Leaving a source in trouble alone: after a few failures in a row nothing is tried for a while, longer each time.
//!
//! What must stay true: it is advice for what can be left out; nothing that anybody asked for depends on it. One success
//! ends it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::io::Errno;

/// One failure may be one bad block; so many in a row concern more than a file.
const FEW: u32 = 3;
/// The first rest. A server that was restarted is there again after some seconds.
const FIRST: Duration = Duration::from_secs(1);
/// The longest: the price of one more attempt is nothing by then, and who comes back should be noticed.
const LONGEST: Duration = Duration::from_secs(60);

/// Counts failures and says whether to rest.
#[derive(Debug, Default)]
pub(crate) struct Respite(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    until: Option<Instant>,
}

impl Respite {
    /// Is nothing to be tried at `now`?
    pub(crate) fn rests(&self, now: Instant) -> bool {
        self.0.lock().until.is_some_and(|until| now < until)
    }

    /// An attempt ended at `now`. Attempts that began before a rest may end in it: they make it no longer.
    pub(crate) fn note(&self, failed: bool, now: Instant) {
        let mut state = self.0.lock();
        if !failed {
            *state = State::default();
        } else if state.until.is_none_or(|until| now >= until) {
            state.failures += 1;
            if let Some(times) = state.failures.checked_sub(FEW) {
                state.until = Some(now + LONGEST.min(FIRST * 2_u32.saturating_pow(times)));
            }
        }
    }
}

/// Does this error speak of the source, and not of one name in it?
pub(crate) fn is_trouble(error: Errno) -> bool {
    use Errno as E;
    let device = [E::IO, E::NXIO, E::NODEV, E::NOMEDIUM];
    let server = [E::TIMEDOUT, E::NOTCONN, E::CONNABORTED, E::HOSTDOWN, E::HOSTUNREACH, E::REMOTEIO];
    device.contains(&error) || server.contains(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_come_after_a_few_failures_and_grow() {
        let (respite, mut now) = (Respite::default(), Instant::now());
        for _ in 1..FEW {
            respite.note(true, now);
        }
        assert!(!respite.rests(now));
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            respite.note(true, now);
            let rest = Duration::from_secs(seconds);
            assert!(respite.rests(now + rest - Duration::from_millis(1)), "{seconds}");
            // What ends meanwhile was begun before.
            respite.note(true, now + rest / 2);
            now += rest;
            assert!(!respite.rests(now), "{seconds}");
        }
    }

    #[test]
    fn one_success_ends_it() {
        let (respite, now) = (Respite::default(), Instant::now());
        for _ in 0..FEW {
            respite.note(true, now);
        }
        respite.note(false, now);
        assert!(!respite.rests(now));
        respite.note(true, now);
        assert!(!respite.rests(now), "it is counted anew");
    }

    #[test]
    fn what_concerns_one_name_is_no_trouble() {
        assert!(is_trouble(Errno::IO) && is_trouble(Errno::TIMEDOUT));
        for error in [Errno::NOENT, Errno::ACCESS, Errno::STALE, Errno::INVAL, Errno::LOOP] {
            assert!(!is_trouble(error), "{error}");
        }
    }
}
