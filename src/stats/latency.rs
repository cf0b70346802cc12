//! How long requests took, per kind, at about two digits of accuracy.
//!
//! A histogram is not atomic, so there are several sets of them, each behind a short lock; a thread always takes the same
//! set, and request threads rarely meet. Histograms come into being with the first request of their kind.

use super::Operation;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Sets of histograms: enough that a few request threads and a pool seldom share one.
const SHARDS: usize = 8;
/// Two significant digits: what was 4.1 us is not shown as 4.3.
const DIGITS: u8 = 2;
/// Nanoseconds below this are not told apart; nothing we do is faster.
const LEAST_NANOS: u64 = 64;
/// Longer than a minute is a minute.
const MOST_NANOS: u64 = 60_000_000_000;

type Shard = Mutex<[Option<Box<Histogram<u64>>>; Operation::ALL.len()]>;

/// Request times by kind of request.
#[derive(Debug)]
pub struct Latencies {
    shards: [Shard; SHARDS],
}

/// What is known of one kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) count: u64,
    /// Microseconds.
    pub(super) p50: f64,
    /// Microseconds.
    pub(super) p99: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies { shards: std::array::from_fn(|_| Mutex::new([const { None }; Operation::ALL.len()])) }
    }
}

impl Latencies {
    /// A request of this kind took so long. Costs some tens of nanoseconds.
    pub fn record(&self, operation: Operation, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(MOST_NANOS);
        let mut shard = self.shards[own_shard()].lock();
        shard[operation as usize].get_or_insert_with(|| Box::new(empty())).saturating_record(nanos);
    }

    /// Count and percentiles of every kind that occurred, by its name.
    pub(super) fn times(&self) -> BTreeMap<&'static str, Times> {
        Operation::ALL.iter().filter_map(|op| Some((op.as_str(), self.times_of(*op)?))).collect()
    }

    fn times_of(&self, operation: Operation) -> Option<Times> {
        let mut all = empty();
        for shard in &self.shards {
            if let Some(part) = &shard.lock()[operation as usize] {
                all.add(&**part).ok()?;
            }
        }
        let micros = |quantile| tenths(all.value_at_quantile(quantile) as f64 / 1000.0);
        (!all.is_empty()).then(|| Times { count: all.len(), p50: micros(0.5), p99: micros(0.99) })
    }
}

#[expect(clippy::expect_used, reason = "the bounds are constants in the range the crate documents")]
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LEAST_NANOS, MOST_NANOS, DIGITS).expect("constant bounds are valid")
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Threads take the sets in turn, when they first record.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: usize = NEXT.fetch_add(1, Relaxed) % SHARDS);
    OWN.with(|own| *own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn percentiles_are_those_of_all_threads_together() {
        let latencies = Latencies::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for micros in 1..=1000 {
                        latencies.record(Operation::Read, Duration::from_micros(micros));
                    }
                });
            }
        });
        let times = latencies.times();
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), ["read"]);
        let read = times["read"];
        assert_eq!(read.count, 4000);
        assert!((read.p50 - 500.0).abs() <= 5.0 && (read.p99 - 990.0).abs() <= 10.0, "{read:?}");
    }

    #[test]
    fn the_extremes_are_kept_within_bounds() {
        let latencies = Latencies::default();
        latencies.record(Operation::Open, Duration::ZERO);
        latencies.record(Operation::Open, Duration::MAX);
        let open = latencies.times()["open"];
        assert_eq!(open.count, 2);
        assert!(open.p50 < 1.0 && (open.p99 - 6e7).abs() < 1e6, "{open:?}");
    }
}
