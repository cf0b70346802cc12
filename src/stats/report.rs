//! The statistics of one mount at one moment, in the shape `stats --json` prints them.
//!
//! Field names are a contract with scripts: add fields, never rename or remove them. A report written by one version
//! must be readable by another, so whatever is missing takes its default.

use super::own::OwnCacheReport;
use super::restraint::Restraint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `augurfs stats` shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// What is not a count.
    #[serde(flatten)]
    pub standing: Standing,
    /// Accesses told to the engine.
    pub events: Events,
    /// Opens of regular files.
    pub opens: Opens,
    /// What was fetched ahead.
    pub prefetch: Prefetch,
    /// What it saved, and how it was held back.
    pub restraint: Restraint,
    /// What the kernel was told to forget because the source had changed.
    pub invalidations: u64,
    /// Opens by program, most opens first.
    pub programs: Vec<Program>,
    /// Files that are being brought in at this moment, below the source; not all, when they are many.
    pub flights: Vec<String>,
    /// Requests by kind.
    pub requests: BTreeMap<String, RequestTimes>,
}

/// The part of a report that is not counted: what is mounted, how, and what it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    /// Version of the daemon.
    pub version: String,
    /// The directory mirrored.
    pub source: String,
    /// How it serves requests, as far as measured: `one head`, `many ways`, `fast`, or `unknown`.
    pub source_kind: String,
    /// Where it is mounted.
    pub mountpoint: String,
    /// The daemon's process.
    pub pid: u32,
    /// Seconds since the mount.
    pub uptime_s: u64,
    /// The data path in use.
    pub path: Choice<String>,
    /// Whose page cache holds the data.
    pub cache: String,
    /// Our own page cache, where it is ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_cache: Option<OwnCacheReport>,
    /// Whether data goes straight to the source's files.
    pub passthrough: Choice<bool>,
    /// Whether changes made directly in the source are reported, so that the kernel may rely on what it knows.
    pub watch: Choice<bool>,
    /// Whether files are fetched ahead.
    pub prefetching: Choice<bool>,
    /// What learns.
    pub predictor: Footprint,
    /// Memory of the daemon.
    pub memory: Memory,
    /// Where the model is kept.
    pub model: ModelFile,
    /// Passes over everything, which are kept apart from what jobs taught.
    pub scans: Scans,
}

/// Something that was chosen, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice<T> {
    /// What is in force.
    pub active: T,
    /// Why: a clause in plain English that can follow "because".
    pub reason: String,
}

/// The predictor and its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Footprint {
    /// Its name, with parameters.
    pub name: String,
    /// Files it knows.
    pub files: u64,
    /// Nodes or log entries it keeps.
    pub nodes: u64,
    /// Bytes it takes.
    pub bytes: u64,
}

/// Memory of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Resident, in bytes.
    pub rss_bytes: u64,
    /// Most bytes warmed and not yet used.
    pub budget_bytes: u64,
    /// Lives of processes that are remembered: those that live, and some that ended a moment ago.
    pub processes: u64,
}

/// The file the model is kept in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFile {
    /// Its path; `None` when the model is kept in memory only.
    pub path: Option<String>,
    /// When it was last saved, in seconds since 1970; `None` when not yet.
    pub saved_at: Option<u64>,
    /// What is wrong with it: it was damaged, belongs to another mount, or cannot be written.
    pub faults: Vec<String>,
}

/// Passes of one program over very many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scans {
    /// Going on.
    pub running: u64,
    /// Recognised since the mount, those included.
    pub seen: u64,
    /// Their accesses since they were recognised.
    pub accesses: u64,
}

/// Accesses told to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Events {
    /// Taken in.
    pub seen: u64,
    /// Lost on the way.
    pub lost: u64,
}

/// Opens by what they found. `total` also counts those that were not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opens {
    /// All of them.
    pub total: u64,
    /// Everything in memory.
    pub hit: u64,
    /// Some in memory, or on its way.
    pub partial: u64,
    /// Nothing in memory.
    pub miss: u64,
}

/// What was fetched ahead, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prefetch {
    /// Jobs handed to workers.
    pub jobs: u64,
    /// Files brought in.
    pub files: u64,
    /// Bytes brought in.
    pub bytes: u64,
    /// Bytes used in time.
    pub used_bytes: u64,
    /// Bytes that came too late.
    pub late_bytes: u64,
    /// Bytes nobody wanted.
    pub wasted_bytes: u64,
    /// Bytes on their way.
    pub in_flight_bytes: u64,
    /// Files in memory when wanted.
    pub files_in_time: u64,
    /// Files that came too late.
    pub files_late: u64,
    /// Files nobody wanted.
    pub files_wasted: u64,
    /// Files that still wait for their use.
    pub files_waiting: u64,
    /// Jobs that failed: their file has gone or may not be read.
    pub failed: u64,
    /// Requests that waited for a job, and got what they wanted.
    pub joined: u64,
    /// Requests that waited for a job in vain.
    pub join_timeouts: u64,
}

/// Opens by one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// All of them.
    pub opens: u64,
    /// Everything in memory.
    pub hit: u64,
    /// Some in memory, or on its way.
    pub partial: u64,
    /// Nothing in memory.
    pub miss: u64,
    /// How it refers to its files, or in an own cache to their blocks: undecided, sequential, looping, clustered or
    /// probabilistic; empty where nothing is known yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pattern: String,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTimes {
    /// How many.
    pub count: u64,
    /// Half were answered within so many microseconds.
    pub p50: f64,
    /// 99 of 100 were answered within so many microseconds.
    pub p99: f64,
}

impl Program {
    pub(super) fn new(name: &str, opens: Opens, pattern: &str) -> Self {
        let (name, pattern) = (name.into(), pattern.into());
        Program {
            name,
            opens: opens.total,
            hit: opens.hit,
            partial: opens.partial,
            miss: opens.miss,
            pattern,
        }
    }
}
