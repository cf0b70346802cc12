//! Time as the engine sees it: microseconds since some origin, handed in by whoever drives it.
//!
//! The live driver counts from its own start on the monotonic clock; a simulator counts virtual time.
//! Nothing below `live` may ask for the time.

use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

/// A moment, in microseconds since the driver's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// Time from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Micros) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Micros {
    type Output = Micros;
    fn add(self, d: Duration) -> Micros {
        Micros(self.0 + d.as_micros() as u64)
    }
}

impl Sub<Micros> for Micros {
    type Output = Duration;
    fn sub(self, earlier: Micros) -> Duration {
        self.since(earlier)
    }
}

/// The monotonic clock, counted from the moment it was made.
#[derive(Clone, Copy, Debug)]
pub struct WallClock(Instant);

impl WallClock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        WallClock(Instant::now())
    }

    /// The present moment.
    pub fn now(&self) -> Micros {
        Micros(self.0.elapsed().as_micros() as u64)
    }
}
