//! What `augurfs stats` is told.

use std::sync::Arc;
use std::time::Instant;

use super::path::ChosenPath;
use crate::config::{Config, DataPath};
use crate::engine::Snapshot;
use crate::fuse::Passthrough;
use crate::live::Live;
use crate::stats::{Choice, Counters, Footprint, Memory, ModelFile, Report, Standing};
use crate::sys::process;

/// Puts reports together.
pub(super) struct Reporter {
    config: Config,
    chosen: ChosenPath,
    passthrough: Passthrough,
    live: Arc<Live>,
    counters: Arc<Counters>,
    since: Instant,
}

impl Reporter {
    pub(super) fn new(
        config: &Config,
        chosen: ChosenPath,
        passthrough: Passthrough,
        live: Arc<Live>,
        counters: Arc<Counters>,
    ) -> Self {
        Reporter { config: config.clone(), chosen, passthrough, live, counters, since: Instant::now() }
    }

    /// The present standing and counts.
    pub(super) fn report(&self) -> Report {
        // Also brings the prefetch counters up to date.
        let snapshot = self.live.snapshot().unwrap_or_default();
        self.counters.report(self.standing(&snapshot))
    }

    fn standing(&self, snapshot: &Snapshot) -> Standing {
        Standing {
            version: env!("CARGO_PKG_VERSION").into(),
            source: self.config.source.display().to_string(),
            mountpoint: self.config.mountpoint.display().to_string(),
            pid: std::process::id(),
            uptime_s: self.since.elapsed().as_secs(),
            path: Choice { active: self.chosen.path.as_str().into(), reason: self.chosen.reason.clone() },
            cache: "kernel".into(),
            passthrough: self.passthrough(),
            prefetching: self.prefetching(),
            predictor: Footprint {
                name: self.config.predictor.clone(),
                files: snapshot.files,
                nodes: snapshot.nodes,
                bytes: snapshot.bytes,
            },
            memory: Memory { rss_bytes: process::resident_bytes(), budget_bytes: snapshot.budget },
            model: ModelFile {
                path: self.config.model.as_ref().map(|path| path.display().to_string()),
                saved_at: self.live.saved_at(),
            },
        }
    }

    fn passthrough(&self) -> Choice<bool> {
        let active = self.passthrough.is_active();
        let reason = match (self.chosen.path, active) {
            (DataPath::Passthrough, true) => "the kernel reads the source's files directly",
            (DataPath::Passthrough, false) => "the kernel refused to read the source's files directly",
            (DataPath::Resident, _) => "data stays in the mount's own page cache",
            _ => "it needs root and was not asked for",
        };
        Choice { active, reason: reason.into() }
    }

    fn prefetching(&self) -> Choice<bool> {
        let active = !self.live.is_off() && self.config.predictor != "none";
        let reason = if self.config.predictor == "none" {
            "predictor=none was asked for"
        } else if active {
            "the engine runs"
        } else {
            "the engine failed"
        };
        Choice { active, reason: reason.into() }
    }
}
