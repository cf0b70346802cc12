//! What was measured, kept: one file of raw samples for each table and device.
//!
//! What must stay true: a sample that was added is on the disk before the next is measured; samples made under another
//! setting are never mixed with these.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::machine::{self, Machine};
use crate::server::Counts;

/// What makes samples comparable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) table: String,
    pub(crate) device: String,
    pub(crate) seed: u64,
    pub(crate) scale: f64,
    pub(crate) machine: Machine,
}

impl Setting {
    pub(crate) fn new(table: &str, device: &str, seed: u64, scale: f64) -> Setting {
        let machine = machine::describe();
        Setting { table: table.into(), device: device.into(), seed, scale, machine }
    }
}

/// Which measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) job: String,
    pub(crate) arm: String,
    pub(crate) run: usize,
}

/// What one run came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) key: Key,
    /// Seconds.
    pub(crate) elapsed: f64,
    /// Processor time of the job by user and system, seconds.
    pub(crate) compute: f64,
    /// Processor time of the daemon between, seconds.
    pub(crate) daemon_cpu: Option<f64>,
    /// What the device was asked while the job ran.
    pub(crate) device: Counts,
    /// Share of the tree in memory right before, 0..1.
    pub(crate) resident_before: f64,
    /// What was done beforehand (vmtouch), seconds.
    pub(crate) beforehand: Option<f64>,
    /// Reads of files of the tree: a mean in microseconds, calls, hits, partials, misses.
    pub(crate) reads: Option<crate::reads::Reads>,
    /// What the job itself measured.
    pub(crate) own: BTreeMap<String, f64>,
    /// What augurfs says at the end.
    pub(crate) stats: Option<serde_json::Value>,
}

/// The file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pages {
    setting: Setting,
    /// Bytes a second that the device gives at most.
    raw_rate: Option<f64>,
    skipped: BTreeMap<String, String>,
    samples: Vec<Sample>,
}

/// An open journal.
pub(crate) struct Journal {
    path: PathBuf,
    pages: Pages,
}

impl Journal {
    /// That of this setting; new when there is none.
    pub(crate) fn open(path: &Path, setting: Setting) -> anyhow::Result<Journal> {
        if !path.exists() {
            let pages = Pages { setting, raw_rate: None, skipped: BTreeMap::new(), samples: Vec::new() };
            return Ok(Journal { path: path.to_owned(), pages });
        }
        let mut journal = Journal::read(path)?;
        let date = journal.pages.setting.machine.date.clone();
        let expected = Setting { machine: Machine { date, ..setting.machine.clone() }, ..setting };
        if journal.pages.setting != expected {
            bail!("{} was made under another setting: move it away, or give another --json", path.display());
        }
        journal.path = path.to_owned();
        Ok(journal)
    }

    pub(crate) fn read(path: &Path) -> anyhow::Result<Journal> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let pages = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        Ok(Journal { path: path.to_owned(), pages })
    }

    fn save(&self) -> anyhow::Result<()> {
        let new = self.path.with_extension("new");
        fs::write(&new, serde_json::to_string_pretty(&self.pages)? + "\n")?;
        Ok(fs::rename(new, &self.path)?)
    }

    pub(crate) fn add(&mut self, sample: Sample) -> anyhow::Result<()> {
        self.pages.samples.push(sample);
        self.save()
    }

    /// Says why something was not measured.
    pub(crate) fn skip(&mut self, what: &str, why: &str) -> anyhow::Result<()> {
        self.pages.skipped.insert(what.into(), why.into());
        self.save()
    }

    /// What could not be had the last time is tried again.
    pub(crate) fn forget_skips(&mut self) -> anyhow::Result<()> {
        self.pages.skipped.clear();
        self.save()
    }

    pub(crate) fn set_raw_rate(&mut self, rate: f64) -> anyhow::Result<()> {
        self.pages.raw_rate = Some(rate);
        self.save()
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.pages.samples.iter().any(|sample| sample.key == *key)
    }

    pub(crate) fn is_skipped(&self, what: &str) -> bool {
        self.pages.skipped.contains_key(what)
    }

    pub(crate) fn setting(&self) -> &Setting {
        &self.pages.setting
    }

    pub(crate) fn raw_rate(&self) -> Option<f64> {
        self.pages.raw_rate
    }

    pub(crate) fn skipped(&self) -> &BTreeMap<String, String> {
        &self.pages.skipped
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        &self.pages.samples
    }

    /// Jobs and arms in the order in which they were first measured.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> = Vec::new();
        for sample in &self.pages.samples {
            let row = (sample.key.job.clone(), sample.key.arm.clone());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows.sort_by_key(|(job, _)| self.pages.samples.iter().position(|s| s.key.job == *job));
        rows
    }

    pub(crate) fn of(&self, job: &str, arm: &str) -> Vec<&Sample> {
        self.pages.samples.iter().filter(|s| s.key.job == job && s.key.arm == arm).collect()
    }
}
