//! The machine in neutral words, and the versions a figure depends on.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What a reader has to know to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processors: usize,
    /// Whole GiB.
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) augurfs: String,
    /// Of the first sample.
    pub(crate) date: String,
}

pub(crate) fn describe() -> Machine {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // What comes after the numbers names who built it.
    let kernel: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let total = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = total.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    Machine {
        processors: std::thread::available_parallelism().map_or(0, usize::from),
        memory_gib: kib >> 20,
        kernel,
        augurfs: env!("CARGO_PKG_VERSION").into(),
        date: date.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default(),
    }
}
