//! What happened, in numbers: `Counters` are counted up while it happens, a `Report` is what they said at one moment.
//!
//! Counting must never make a request wait: counters are atomic, latencies go to one of several histograms, by thread.
//! A report is plain data; it travels over the control socket, becomes JSON, and can be told in sentences.

mod count;
mod counters;
mod explanation;
mod history;
mod latency;
mod operation;
mod own;
mod prometheus;
mod report;
mod restraint;
mod stir;
mod telling;
mod verdict;

pub use count::Count;
pub use counters::{Counters, EventCounts, OpenCounts, PrefetchCounts};
pub use explanation::{Expected, Explanation, Uses};
pub use history::{History, Point};
pub use latency::Latencies;
pub use operation::Operation;
pub use own::{OwnCacheReport, OwnCounts, ProgramPattern};
pub use prometheus::prometheus;
pub use report::{
    Choice, Events, Footprint, Memory, ModelFile, Opens, Prefetch, Program, Report, RequestTimes, Scans,
    Standing,
};
pub use restraint::{Dropped, Drops, Restraint, RestraintCounts, Savings};
pub use stir::Stir;
pub use verdict::Verdict;
