//! The driver's numbers for `stats`.

use super::Live;
use super::pace::Ways;
use crate::codec::text::to_text;
use crate::engine::Engine;
use crate::stats::Counters;

/// How the driver stands at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Files are fetched ahead: the engine is there and has not failed.
    pub prefetching: bool,
    /// Opens are seen through fanotify.
    pub watching: bool,
    /// Workers reach the mount's own page cache.
    pub attached: bool,
    /// What the source was found to be.
    pub ways: Ways,
    /// Jobs that may be under way at once.
    pub width: usize,
    /// Worker threads alive.
    pub workers: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// Jobs under way.
    pub under_way: usize,
    /// Jobs whose worker panicked.
    pub panicked: u64,
    /// Processes known.
    pub streams: usize,
}

/// Copies what became of prefetching into the counters that everybody reads.
pub(crate) fn publish(engine: &Engine, counters: &Counters) {
    let fate = engine.snapshot().prefetch;
    let to = &counters.prefetch;
    to.jobs.set(fate.jobs);
    to.files.set(fate.files);
    to.bytes.set(fate.bytes);
    to.used_bytes.set(fate.used_bytes);
    to.late_bytes.set(fate.late_bytes);
    to.wasted_bytes.set(fate.wasted_bytes);
    to.in_flight_bytes.set(fate.in_flight_bytes);
    to.files_in_time.set(fate.used_files);
    to.files_late.set(fate.late_files);
    to.files_wasted.set(fate.wasted_files);
    to.files_waiting.set(fate.unused_files);
    let to = &counters.restraint;
    to.held_back.set(fate.held_back_files);
    to.runs.set(fate.runs);
    to.evicted_files.set(fate.evicted_files);
}

impl Live {
    /// Files that are being brought in at this moment, by their paths below the source; `most` of them.
    pub fn flights(&self, most: usize) -> Vec<String> {
        let files = self.crew.board().flights();
        let names = self.names.lock();
        files.into_iter().filter_map(|file| Some(to_text(&names.path(file)?))).take(most).collect()
    }
}
