//! A mount's life as a line of points, for charts.
//!
//! What must stay true: it takes the same little memory however long the mount lives: when it is full, every second point goes and
//! the others are taken half as often.

use serde::{Deserialize, Serialize};

use super::{Opens, Prefetch};

/// Points kept: more than a screen has columns.
const MOST: usize = 480;

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    /// Seconds since the mount.
    pub at_s: u64,
    /// Opens so far.
    pub opens: Opens,
    /// What was fetched ahead so far.
    pub prefetch: Prefetch,
}

/// The points so far, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    points: Vec<Point>,
    /// Seconds between two points.
    every_s: u64,
}

impl Default for History {
    fn default() -> Self {
        History { points: Vec::new(), every_s: 1 }
    }
}

impl History {
    /// Is a point due at this moment, in seconds since the mount?
    pub fn is_due(&self, at_s: u64) -> bool {
        self.points.last().is_none_or(|last| at_s >= last.at_s + self.every_s)
    }

    /// Takes a point.
    pub fn take(&mut self, point: Point) {
        self.points.push(point);
        if self.points.len() >= MOST {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_s *= 2;
        }
    }

    /// All of them.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_life_takes_no_more_than_a_short_one() {
        let mut history = History::default();
        for at_s in 0..100_000 {
            if history.is_due(at_s) {
                history.take(Point { at_s, ..Point::default() });
            }
            assert!(history.points().len() < MOST);
        }
        let points = history.points();
        assert!(points.len() >= MOST / 2 - 1 && points[0].at_s == 0);
        let steps: Vec<_> = points.windows(2).map(|pair| pair[1].at_s - pair[0].at_s).collect();
        assert!(steps.iter().all(|&step| step == 256 || step == 512), "{steps:?}");
    }
}
