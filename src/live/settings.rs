//! What a driver is made with, and what it is told.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::InodeWindow;
use crate::engine::Settings;
use crate::event::{Op, Residency};
use crate::id::FileId;
use crate::names::Names;
use crate::stats::Counters;

/// What a driver is made with.
#[derive(Debug)]
pub struct LiveConfig {
    /// The source directory, opened for reading.
    pub source: Arc<OwnedFd>,
    /// The names, shared with the mirror. Replaced by the model's at the start: nothing may be named before, and
    /// nothing is while a large model is being loaded.
    pub names: Arc<Mutex<Names>>,
    /// Where the model is kept; `None` is nowhere.
    pub model: Option<PathBuf>,
    /// A model to begin with instead, as bytes.
    pub begin: Option<Vec<u8>>,
    /// Why it is kept nowhere, though it was to be.
    pub unkept: Option<String>,
    /// Most memory for what is learned, in bytes, names included.
    pub memory: u64,
    /// How many entries of a directory are looked at around one that had to be fetched.
    pub inode_window: InodeWindow,
    /// Predictor and budget.
    pub settings: Settings,
    /// The budget that was asked for; `None` is a quarter of the memory that is available at each moment.
    pub budget: Option<u64>,
    /// Most bytes a second to fetch ahead; `None` is no limit.
    pub rate: Option<u64>,
    /// How long a request may wait for a job that brings what it wants.
    pub join_wait: Duration,
    /// Time between two saves of the model, while anything is learned.
    pub save_interval: Duration,
    /// A file into which everything the engine is told is recorded from the start; it is empty.
    pub record: Option<File>,
    /// Where events, opens and prefetches are counted.
    pub counters: Arc<Counters>,
}

/// One access, as a request thread saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The thread that asked; 0 when it is not known.
    pub tid: u32,
    /// What it accessed.
    pub file: FileId,
    /// How.
    pub op: Op,
    /// What it found. `Unknown` for an open means: judge it by the reads that follow.
    pub residency: Residency,
}
