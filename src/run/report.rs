//! What `augurfs stats` is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::own_cache;
use super::path::ChosenPath;
use super::watching::WatchStanding;
use crate::codec::text::from_text;
use parking_lot::Mutex;

use crate::config::{Config, DataPath};
use crate::engine::Snapshot;
use crate::fuse::Passthrough;
use crate::live::control::Response;
use crate::live::{Live, Ways};
use crate::mirror::Mirror;
use crate::stats::{Choice, Counters, Footprint, History, Memory, ModelFile, Point, Report, Scans, Standing};
use crate::sys::process;

/// An open is judged 100 ms after it was seen: when nothing was counted for longer, all has been.
const STILL: Duration = Duration::from_millis(150);
/// Where opens never cease, a report is a moment's picture anyway.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Files under way that are named: as many as a screen shows.
const MOST_FLIGHTS: usize = 50;

/// Puts reports together.
pub(super) struct Reporter {
    config: Config,
    chosen: ChosenPath,
    passthrough: Passthrough,
    watch: WatchStanding,
    live: Arc<Live>,
    counters: Arc<Counters>,
    mirror: Arc<Mirror>,
    since: Instant,
    history: Mutex<History>,
}

impl Reporter {
    pub(super) fn new(
        config: &Config,
        chosen: ChosenPath,
        passthrough: Passthrough,
        watch: WatchStanding,
        live: Arc<Live>,
        counters: Arc<Counters>,
        mirror: Arc<Mirror>,
    ) -> Self {
        Reporter {
            config: config.clone(),
            chosen,
            passthrough,
            watch,
            live,
            counters,
            mirror,
            since: Instant::now(),
            history: Mutex::default(),
        }
    }

    /// The present standing and counts.
    pub(super) fn report(&self) -> Report {
        self.catch_up();
        self.glance()
    }

    /// The same at once; the opens of the last moment may be missing.
    pub(super) fn glance(&self) -> Report {
        // Also brings the prefetch counters up to date.
        let snapshot = self.live.snapshot().unwrap_or_default();
        let flights = self.live.flights(MOST_FLIGHTS);
        let mut report = Report { flights, ..self.counters.report(self.standing(&snapshot)) };
        report.restraint.turned_down = self.turned_down(&snapshot, &report);
        let fast = self.live.figures().ways == Ways::Fast;
        report.restraint.savings = report.restraint.savings.on_a_source(fast);
        own_cache::label(&mut report);
        report
    }

    /// Keeps a point of the mount's life when one is due. To be called often while something happens. True when nothing
    /// was counted since the last point.
    pub(super) fn note(&self) -> bool {
        let (at_s, mut history) = (self.since.elapsed().as_secs(), self.history.lock());
        let still = history.points().last().is_some_and(|last| *last == self.counters.point(last.at_s));
        if history.is_due(at_s) {
            history.take(self.counters.point(at_s));
        }
        still
    }

    /// Something happens again: until now nothing did.
    pub(super) fn note_stillness(&self) {
        let (at_s, mut history) = (self.since.elapsed().as_secs(), self.history.lock());
        if history.is_due(at_s)
            && let Some(last) = history.points().last().copied()
        {
            history.take(Point { at_s, ..last });
        }
    }

    /// The mount's life until now.
    pub(super) fn history(&self) -> Vec<Point> {
        let mut points = self.history.lock().points().to_vec();
        points.push(self.counters.point(self.since.elapsed().as_secs()));
        points
    }

    /// Why a file was or was not warmed.
    pub(super) fn explain(&self, path: &str) -> Response {
        let refused = |message: &str| Response::Error { message: message.into() };
        let Some(path) = from_text(path) else { return refused("the path cannot be read") };
        match self.live.explain(&path) {
            Some(explanation) => Response::Explain { explanation: Box::new(explanation) },
            None => refused("prefetching is off: the engine failed"),
        }
    }

    /// Opens are counted a moment after they happen: waits until no more come in, or long enough.
    fn catch_up(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut before = None;
        while Instant::now() < deadline {
            let seen = (self.counters.events.seen.get(), self.counters.opens.totals());
            if before.replace(seen) == Some(seen) {
                return;
            }
            std::thread::sleep(STILL);
        }
    }

    fn standing(&self, snapshot: &Snapshot) -> Standing {
        let own_cache = self.mirror.own_cache().map(|figures| own_cache::report(&figures, &self.live));
        Standing {
            version: env!("CARGO_PKG_VERSION").into(),
            source: self.config.source.display().to_string(),
            source_kind: source_kind(self.live.figures().ways).into(),
            mountpoint: self.config.mountpoint.display().to_string(),
            pid: std::process::id(),
            uptime_s: self.since.elapsed().as_secs(),
            path: path(&self.chosen, self.passthrough.is_active()),
            cache: if own_cache.is_some() { "own" } else { "kernel" }.into(),
            own_cache,
            passthrough: passthrough(&self.chosen, self.passthrough.is_active()),
            watch: self.watch.choice(),
            prefetching: self.prefetching(),
            predictor: Footprint {
                name: self.config.predictor.clone(),
                files: snapshot.files,
                nodes: snapshot.nodes,
                bytes: snapshot.bytes,
            },
            memory: Memory {
                rss_bytes: process::resident_bytes(),
                budget_bytes: snapshot.budget,
                processes: snapshot.streams,
            },
            model: ModelFile {
                path: self.config.model.as_ref().map(|path| path.display().to_string()),
                saved_at: self.live.saved_at(),
                faults: self.live.model_faults(),
            },
            scans: Scans {
                running: snapshot.scans.running,
                seen: snapshot.scans.seen,
                accesses: snapshot.scans.accesses,
            },
        }
    }

    /// Does it do less than it could?
    fn turned_down(&self, snapshot: &Snapshot, report: &Report) -> Choice<bool> {
        let cost = report.restraint.savings.cost_of_a_file();
        let reason = match self.live.figures().ways {
            _ if !report.standing.prefetching.active || report.opens.total == 0 => None,
            Ways::Fast => Some(match cost {
                Some(cost) => format!("the source is fast ({:.2} ms a file)", cost.as_secs_f64() * 1e3),
                None => "the source is fast".into(),
            }),
            _ if snapshot.armed == 0 => Some("nobody waits for the source".into()),
            _ if snapshot.followers == 0 => Some("what is used now was not used in this order before".into()),
            _ => None,
        };
        Choice { active: reason.is_some(), reason: reason.unwrap_or_else(|| "it pays".into()) }
    }

    fn prefetching(&self) -> Choice<bool> {
        let active = !self.live.is_off() && !self.live.is_paused() && self.config.predictor != "none";
        let reason = if self.config.predictor == "none" {
            "predictor=none was asked for"
        } else if active {
            "the engine runs"
        } else if self.live.is_paused() && !self.live.is_off() {
            "it is paused (augurfs resume goes on)"
        } else {
            "the engine failed"
        };
        Choice { active, reason: reason.into() }
    }
}

fn source_kind(ways: Ways) -> &'static str {
    match ways {
        Ways::Unknown => "unknown",
        Ways::One => "one head",
        Ways::Many => "many ways",
        Ways::Fast => "fast",
    }
}

/// The path data takes: not the one chosen, where the kernel has refused that.
fn path(chosen: &ChosenPath, passthrough: bool) -> Choice<String> {
    let (path, reason) = match (chosen.path, passthrough) {
        (DataPath::Passthrough, false) => {
            (DataPath::Plain, format!("the kernel refuses passthrough ({})", chosen.reason))
        }
        (path, _) => (path, chosen.reason.clone()),
    };
    Choice { active: path.as_str().into(), reason }
}

fn passthrough(chosen: &ChosenPath, active: bool) -> Choice<bool> {
    let reason = match (chosen.path, active) {
        (DataPath::Passthrough, true) => "the kernel reads the source's files directly",
        (DataPath::Passthrough, false) => "the kernel refused to read the source's files directly",
        (DataPath::Resident, _) => "data stays in the mount's own page cache",
        // What speaks against it is what spoke for the path that was taken.
        _ => &chosen.reason,
    };
    Choice { active: active && chosen.path == DataPath::Passthrough, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(path: DataPath) -> ChosenPath {
        ChosenPath { path, reason: "asked for".into() }
    }

    #[test]
    fn a_refusal_by_the_kernel_is_told() {
        assert_eq!(path(&chosen(DataPath::Passthrough), true).active, "passthrough");
        let refused = path(&chosen(DataPath::Passthrough), false);
        assert_eq!(refused.active, "plain");
        assert!(refused.reason.contains("refuses passthrough"), "{}", refused.reason);
        assert_eq!(path(&chosen(DataPath::Resident), false).active, "resident");
    }

    #[test]
    fn what_spoke_for_another_path_spoke_against_passthrough() {
        assert_eq!(
            passthrough(&chosen(DataPath::Plain), true),
            Choice { active: false, reason: "asked for".into() }
        );
        assert!(passthrough(&chosen(DataPath::Passthrough), true).active);
        assert!(passthrough(&chosen(DataPath::Resident), false).reason.contains("own page cache"));
    }
}
