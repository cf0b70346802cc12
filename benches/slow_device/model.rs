//! When each request to the slow device is done. Pure: no clock, no threads, no files.
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
//! first served: it has 64 servers of 200 MB/s, not one link of 200 MB/s that they share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Nanoseconds since the caller's origin, or a length of time in nanoseconds.
pub(crate) type Nanos = u64;

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

/// 200 MB/s, in bytes a second.
const NET_RATE: f64 = 200e6;
/// The round trip, seconds.
const NET_LATENCY: f64 = 1e-3;
/// Requests served at once.
const NET_WIDTH: usize = 64;

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// One head that moves and a platter that turns.
    Disk,
    /// A millisecond away, 64 at once.
    Net,
}

/// The bytes a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A device with its queue. Requests are known by a number the caller gives them.
pub(crate) struct Device {
    mechanism: Mechanism,
    /// Done at, number.
    in_service: BinaryHeap<Reverse<(Nanos, u64)>>,
}

enum Mechanism {
    Disk { head: Head, waiting: BTreeMap<(u64, u64), Waiting> },
    Net { waiting: VecDeque<Waiting> },
}

struct Waiting {
    number: u64,
    since: Nanos,
    span: Span,
}

impl Device {
    /// A device at rest, `size` bytes big, its head at the start.
    pub(crate) fn new(kind: Kind, size: u64, seed: u64) -> Device {
        let mechanism = match kind {
            Kind::Disk => Mechanism::Disk { head: Head::new(size, seed), waiting: BTreeMap::new() },
            Kind::Net => Mechanism::Net { waiting: VecDeque::new() },
        };
        Device { mechanism, in_service: BinaryHeap::new() }
    }

    /// A request comes in at `now`.
    pub(crate) fn arrive(&mut self, now: Nanos, number: u64, span: Span) {
        let request = Waiting { number, since: now, span };
        match &mut self.mechanism {
            Mechanism::Disk { waiting, .. } => {
                waiting.insert((span.offset, number), request);
            }
            Mechanism::Net { waiting } => waiting.push_back(request),
        }
        if self.in_service.len() < self.width() {
            self.begin(now);
        }
    }

    /// When the next request is done; none when nothing is being served.
    pub(crate) fn next_done(&self) -> Option<Nanos> {
        self.in_service.peek().map(|Reverse((done, _))| *done)
    }

    /// The number of a request that is done at `now` or before, oldest first. The one served after
    /// it begins when it ended, even if `now` is later: a late caller does not slow the device.
    pub(crate) fn finish(&mut self, now: Nanos) -> Option<u64> {
        let Reverse((done, number)) = *self.in_service.peek()?;
        if done > now {
            return None;
        }
        self.in_service.pop();
        self.begin(done);
        Some(number)
    }

    /// How many requests are being served: at most one on `disk`, 64 on `net`.
    pub(crate) fn in_service(&self) -> usize {
        self.in_service.len()
    }

    fn width(&self) -> usize {
        match self.mechanism {
            Mechanism::Disk { .. } => 1,
            Mechanism::Net { .. } => NET_WIDTH,
        }
    }

    fn begin(&mut self, free: Nanos) {
        let Some((next, service)) = self.mechanism.take_next() else { return };
        self.in_service.push(Reverse((free.max(next.since) + service, next.number)));
    }
}

impl Mechanism {
    /// The request to serve next and how long it takes.
    fn take_next(&mut self) -> Option<(Waiting, Nanos)> {
        match self {
            Mechanism::Disk { head, waiting } => {
                let above = waiting.range((head.position, 0)..).next();
                let key = *above.or_else(|| waiting.iter().next())?.0;
                let next = waiting.remove(&key)?;
                let service = head.serve(next.span);
                Some((next, service))
            }
            Mechanism::Net { waiting } => {
                let next = waiting.pop_front()?;
                let service = net_service(next.span.len);
                Some((next, service))
            }
        }
    }
}

/// How long `net` takes for a request of so many bytes.
pub(crate) fn net_service(len: u64) -> Nanos {
    nanos(NET_LATENCY + len as f64 / NET_RATE)
}

/// The head of `disk`: where it is, and the draws of the platter's position.
pub(crate) struct Head {
    position: u64,
    size: u64,
    draws: SplitMix,
}

impl Head {
    pub(crate) fn new(size: u64, seed: u64) -> Head {
        Head { position: 0, size, draws: SplitMix(seed) }
    }

    /// Serves a request: the time it takes; the head is left at its end.
    pub(crate) fn serve(&mut self, span: Span) -> Nanos {
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

/// splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1, with the 53 bits a double can hold.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
