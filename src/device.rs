//! When each request to a device is done. Pure: no clock, no threads, no files.
//!
//! The slow device of the bench and the simulator share these models.
//!
//! What must stay true: the same arrivals at the same times with the same seed are done at the same
//! times, on any machine. Times are nanoseconds since an origin the caller chooses.
//!
//! `disk` has one head. The request it serves next is the nearest at or above where the last one
//! ended, or, when there is none, the lowest (one sweep upwards, then back). Serving takes the
//! transfer at 150 MB/s, and before it
//! - nothing, when the request starts where the head is;
//! - for a gap of less than 256 KiB upwards, the smaller of letting the gap pass under the head
//!   (gap / 150 MB/s) and settling anew (0.8 ms and a rotation);
//! - otherwise a seek of 0.8 ms + 6.6 ms x sqrt(distance / device size), and a rotation.
//!
//! A rotation is uniform in 0..8.33 ms (7,200 turns a minute); the n-th request served has the n-th
//! draw, used or not.
//!
//! `net` takes 1 ms + size / 200 MB/s for each request by itself, 64 of them at a time, first come
//! first served: it has 64 servers of 200 MB/s, not one link of 200 MB/s that they share. `ssd` is
//! the same with 80 us, 2 GB/s and 32.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

mod draws;

pub use crate::event::Span;
pub use draws::SplitMix;

/// Nanoseconds since the caller's origin, or a length of time in nanoseconds.
pub type Nanos = u64;

/// 150 MB/s, in bytes a second.
const DISK_RATE: f64 = 150e6;
/// Going to another track and settling there: the part that does not depend on how far, seconds.
const SETTLE: f64 = 0.8e-3;
/// The rest of a seek across the whole device, seconds.
const FULL_SEEK: f64 = 6.6e-3;
/// One turn at 7,200 a minute, seconds.
const TURN: f64 = 8.33e-3;
/// Gaps below this may be waited out on the track, bytes.
const NEAR: u64 = 256 * 1024;

/// 200 MB/s at the end of a round trip of a millisecond, 64 requests at once.
const NET: Ways = Ways { latency: 1e-3, rate: 200e6, width: 64 };
/// Data sheets of ordinary NVMe drives: 4 KiB read at random in 70 to 100 us one at a time, some 400,000 a
/// second with 32 under way, 2 GB/s and more in one piece.
const SSD: Ways = Ways { latency: 80e-6, rate: 2e9, width: 32 };

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One head that moves and a platter that turns.
    Disk,
    /// A millisecond away, 64 at once.
    Net,
    /// Flash in the same machine, 32 at once.
    Ssd,
}

impl Kind {
    /// All there are.
    pub const ALL: [Kind; 3] = [Kind::Disk, Kind::Net, Kind::Ssd];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Disk => "disk",
            Kind::Net => "net",
            Kind::Ssd => "ssd",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no device of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown device '{0}': known are disk, net and ssd")]
pub struct UnknownDevice(String);

impl FromStr for Kind {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let known = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| UnknownDevice(name.to_owned()))
    }
}

/// A device with its queue. Requests are known by a number the caller gives them.
pub struct Device {
    mechanism: Mechanism,
    /// Requests somebody waits for, and those that may wait behind them.
    urgent: Queue,
    patient: Queue,
    /// Requests that have come.
    arrivals: u64,
    /// Done at, number.
    in_service: BinaryHeap<Reverse<(Nanos, u64)>>,
}

enum Mechanism {
    Disk(Head),
    Ways(Ways),
}

/// A device that serves several requests side by side.
#[derive(Clone, Copy)]
struct Ways {
    /// Seconds before the first byte.
    latency: f64,
    /// Bytes a second, for each request.
    rate: f64,
    /// Requests served at once.
    width: usize,
}

/// Requests that wait, in the order of the device: by address where there is a head, else as they came.
type Queue = BTreeMap<(u64, u64), Waiting>;

struct Waiting {
    number: u64,
    since: Nanos,
    span: Span,
}

impl Device {
    /// A device at rest, `size` bytes big, its head at the start.
    pub fn new(kind: Kind, size: u64, seed: u64) -> Device {
        let mechanism = match kind {
            Kind::Disk => Mechanism::Disk(Head::new(size, seed)),
            Kind::Net => Mechanism::Ways(NET),
            Kind::Ssd => Mechanism::Ways(SSD),
        };
        let (urgent, patient) = (Queue::new(), Queue::new());
        Device { mechanism, urgent, patient, arrivals: 0, in_service: BinaryHeap::new() }
    }

    /// A request comes in at `now`.
    pub fn arrive(&mut self, now: Nanos, number: u64, span: Span) {
        let key = self.place(number, span);
        self.urgent.insert(key, Waiting { number, since: now, span });
        self.serve(now);
    }

    /// A request comes in at `now` that is served only while none of the others waits.
    pub fn arrive_patiently(&mut self, now: Nanos, number: u64, span: Span) {
        let key = self.place(number, span);
        self.patient.insert(key, Waiting { number, since: now, span });
        self.serve(now);
    }

    /// When the next request is done; none when nothing is being served.
    pub fn next_done(&self) -> Option<Nanos> {
        self.in_service.peek().map(|Reverse((done, _))| *done)
    }

    /// The number of a request that is done at `now` or before, oldest first. The one served after
    /// it begins when it ended, even if `now` is later: a late caller does not slow the device.
    pub fn finish(&mut self, now: Nanos) -> Option<u64> {
        let Reverse((done, number)) = *self.in_service.peek()?;
        if done > now {
            return None;
        }
        self.in_service.pop();
        self.begin(done);
        Some(number)
    }

    /// How many requests are being served: at most one on `disk`, 64 on `net`, 32 on `ssd`.
    pub fn in_service(&self) -> usize {
        self.in_service.len()
    }

    fn place(&mut self, number: u64, span: Span) -> (u64, u64) {
        self.arrivals += 1;
        match self.mechanism {
            Mechanism::Disk(_) => (span.offset, number),
            Mechanism::Ways(_) => (self.arrivals, number),
        }
    }

    fn serve(&mut self, now: Nanos) {
        let width = match &self.mechanism {
            Mechanism::Disk(_) => 1,
            Mechanism::Ways(ways) => ways.width,
        };
        if self.in_service.len() < width {
            self.begin(now);
        }
    }

    fn begin(&mut self, free: Nanos) {
        let Some(next) = self.take_next() else { return };
        let service = match &mut self.mechanism {
            Mechanism::Disk(head) => head.serve(next.span),
            Mechanism::Ways(ways) => ways.service(next.span.len),
        };
        self.in_service.push(Reverse((free.max(next.since) + service, next.number)));
    }

    fn take_next(&mut self) -> Option<Waiting> {
        let from = match &self.mechanism {
            Mechanism::Disk(head) => head.position,
            Mechanism::Ways(_) => 0,
        };
        let queue = if self.urgent.is_empty() { &mut self.patient } else { &mut self.urgent };
        let key = *queue.range((from, 0)..).next().or_else(|| queue.iter().next())?.0;
        queue.remove(&key)
    }
}

impl Ways {
    fn service(self, len: u64) -> Nanos {
        nanos(self.latency + len as f64 / self.rate)
    }
}

/// How long `net` takes for a request of so many bytes.
pub fn net_service(len: u64) -> Nanos {
    NET.service(len)
}

/// How long `ssd` takes for a request of so many bytes.
pub fn ssd_service(len: u64) -> Nanos {
    SSD.service(len)
}

/// The head of `disk`: where it is, and the draws of the platter's position.
pub struct Head {
    position: u64,
    size: u64,
    draws: SplitMix,
}

impl Head {
    /// A head at the start of a device of `size` bytes.
    pub fn new(size: u64, seed: u64) -> Head {
        Head { position: 0, size, draws: SplitMix(seed) }
    }

    /// Serves a request: the time it takes; the head is left at its end.
    pub fn serve(&mut self, span: Span) -> Nanos {
        let rotation = TURN * self.draws.unit();
        let before = self.reach(span.offset, rotation);
        self.position = span.offset + span.len;
        nanos(before + span.len as f64 / DISK_RATE)
    }

    /// Seconds until the first byte is under the head.
    fn reach(&self, offset: u64, rotation: f64) -> f64 {
        match offset.checked_sub(self.position) {
            Some(gap) if gap < NEAR => (gap as f64 / DISK_RATE).min(rotation + SETTLE),
            _ => {
                let distance = offset.abs_diff(self.position) as f64;
                SETTLE + FULL_SEEK * (distance / self.size as f64).sqrt() + rotation
            }
        }
    }
}

fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}
