//! Where accesses are handed in, by request threads and by the reader of opens.
//!
//! What must stay true: handing in never waits. What does not fit is counted as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError};

use super::processes::Processes;
use crate::clock::{Micros, WallClock};
use crate::engine::Outcome;
use crate::event::{AccessEvent, Op, Residency};
use crate::id::{FileId, JobId, StreamId};
use crate::stats::Counters;

/// After the kernel's queue of opens overflowed, reads stand in for opens this long: the storm that
/// filled it is over by then, or it overflows again.
const STAND_IN: Duration = Duration::from_secs(1);

/// What the engine thread is handed. `C` is what it drives.
pub(crate) enum Input<C: ?Sized> {
    Access(AccessEvent),
    Accesses(Vec<AccessEvent>),
    Started(JobId),
    Settled(JobId, Outcome),
    /// Something to do or to ask in between.
    Visit(Box<dyn FnOnce(&mut C) + Send>),
    Stop,
}

/// The desk. Cheap to use from any thread.
pub(crate) struct Desk<C: ?Sized = dyn super::driver::Core> {
    pub(crate) processes: Processes,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: WallClock,
    pub(crate) inputs: Sender<Input<C>>,
    off: AtomicBool,
    stand_in_until: AtomicU64,
}
