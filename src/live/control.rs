//! The daemon's ear: a socket on which it is asked how it does.
//!
//! One JSON line is asked, one JSON line is answered. The socket is found through the mount's device number in
//! /proc/self/mountinfo, so that finding it never touches the mount, which may hang. Whatever comes in: the answer is a line,
//! within a bounded time, and the daemon goes on.

mod client;
mod line;
mod place;
mod server;

pub use client::{ControlError, Feed, ask, ask_at, listen, listen_at};
pub use place::{find, is_ours, own_socket, resolve};
pub use server::{Answer, ControlGuard, serve};

use crate::stats::{Explanation, Point, Report};
use serde::{Deserialize, Serialize};

/// What can be asked of a daemon: `{"command":"stats"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Request {
    /// How do you do?
    Stats,
    /// The same at once, without waiting until everything of the last moment has been counted.
    Glance,
    /// How do you do, and, when you end: is what was learned saved? A `Last` follows behind the answer then.
    Farewell,
    /// How have you done since the start?
    History,
    /// Change options while mounted. `{"command":"set","options":"budget=1G"}`
    Set {
        /// As after `-o`.
        options: String,
    },
    /// Warm what is known; how it goes follows behind the answer, a `Progress` a line, until I hang up.
    Warm {
        /// At or below this path, below the source, as `codec::text` writes it.
        below: String,
        /// Only what this program has used.
        program: Option<String>,
        /// Only say how much it would be.
        dry_run: bool,
    },
    /// Send a trace of what the engine is told, behind the answer, until I hang up my side.
    Record {
        /// With hashes for names.
        hash_names: bool,
    },
    /// Hand the mount over to this program; how that went follows behind the answer, in another one.
    Upgrade {
        /// Its absolute path, as `codec::text` writes it.
        program: String,
    },
    /// Why was this file warmed, or not? `{"command":"explain","path":"src/main.rs"}`
    Explain {
        /// Below the source, as `codec::text` writes it.
        path: String,
    },
}

/// What the daemon says to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub enum Response {
    /// To `Stats`, `Glance` and `Farewell`.
    Stats {
        /// The numbers.
        report: Box<Report>,
    },
    /// To `History`.
    History {
        /// Oldest first.
        points: Vec<Point>,
    },
    /// To `Set`.
    Done {
        /// What is in force now, in one sentence.
        message: String,
    },
    /// To `Warm`.
    Warming {
        /// How many files it is about.
        files: u64,
        /// How many bytes they have.
        bytes: u64,
    },
    /// To `Record`: a trace follows, to the end of the stream.
    Recording,
    /// To `Upgrade`: it has begun.
    Upgrading,
    /// To `Explain`.
    Explain {
        /// What is known of the file.
        explanation: Box<Explanation>,
    },
    /// It could not be done.
    Error {
        /// Why, in one sentence.
        message: String,
    },
}

/// What a daemon says last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Last {
    /// Why what was learned is not saved, though it was to be: a sentence without a full stop. `None` when all is well.
    pub unsaved: Option<String>,
}

/// How warming goes, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Files looked at.
    pub files: u64,
    /// Those that were in memory already.
    pub resident: u64,
    /// Those that have gone or may not be read.
    pub failed: u64,
    /// Bytes that came from the source.
    pub bytes: u64,
}
