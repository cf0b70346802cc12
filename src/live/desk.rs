//! Where accesses are handed in, by request threads and by the reader of opens.
//!
//! What must stay true: handing in never waits. What does not fit is counted as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::processes::Processes;
use super::tuning::Tuning;
use crate::clock::{Micros, WallClock};
use crate::engine::{Engine, Outcome};
use crate::event::{AccessEvent, Listing, Op, Residency};
use crate::id::{FileId, JobId, StreamId};
use crate::stats::Counters;

/// Inputs that wait for the engine thread, at most: some tenths of a second of the busiest request
/// stream, in less than a megabyte.
const ROOM: usize = 16_384;
/// After the kernel's queue of opens overflowed, reads stand in for opens this long: the storm that
/// filled it is over by then, or it overflows again.
const STAND_IN: Duration = Duration::from_secs(1);

/// What the engine thread is handed.
pub(crate) enum Input {
    Access(AccessEvent),
    Accesses(Vec<AccessEvent>),
    Started(JobId),
    Settled(JobId, Outcome),
    /// Something was tuned.
    Wake,
    /// A directory was read: its entries, in pieces.
    Listed(Vec<Listing>),
    /// Something to do or to ask in between.
    Visit(Box<dyn FnOnce(&mut Engine) + Send>),
    Stop,
}

/// The desk. Cheap to use from any thread.
pub(crate) struct Desk {
    pub(crate) processes: Processes,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: WallClock,
    pub(crate) tuning: Tuning,
    inputs: Sender<Input>,
    /// The engine has failed, or there is none.
    off: AtomicBool,
    stand_in_until: AtomicU64,
    follows_walks: AtomicBool,
}

impl Desk {
    pub(crate) fn new(processes: Processes, counters: Arc<Counters>) -> (Desk, Receiver<Input>) {
        let (inputs, outputs) = bounded(ROOM);
        let clock = WallClock::start();
        let (off, stand_in_until, follows_walks) = Default::default();
        let tuning = Tuning::default();
        (Desk { processes, counters, clock, tuning, inputs, off, stand_in_until, follows_walks }, outputs)
    }

    /// Hands in one access of the present moment.
    pub(crate) fn access(&self, stream: StreamId, file: FileId, op: Op, residency: Residency) {
        let mut batch = self.batch();
        batch.add(stream, file, op, residency);
        batch.send();
    }

    /// Accesses of the present moment that are handed in together.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { desk: self, at: self.clock.now(), first: None, more: Vec::new() }
    }

    /// Hands in what must not get lost. May wait while the engine thread is behind; never to be called
    /// from it or from a request thread. False when there is no engine thread any more.
    pub(crate) fn deliver(&self, input: Input) -> bool {
        self.inputs.send(input).is_ok()
    }

    /// From now on the engine is to be told what directories contain.
    pub(crate) fn follow_walks(&self) {
        self.follows_walks.store(true, Ordering::Relaxed);
    }

    pub(crate) fn follows_walks(&self) -> bool {
        self.follows_walks.load(Ordering::Relaxed)
    }

    /// Hands in what a directory contained, in pieces.
    pub(crate) fn listed(&self, pieces: Vec<Listing>) {
        if !self.is_off() && self.inputs.try_send(Input::Listed(pieces)).is_err() {
            self.counters.events.lost.one();
        }
    }

    /// The kernel threw away reports of opens.
    pub(crate) fn overflowed(&self) {
        self.counters.events.lost.one();
        let until = self.clock.now() + STAND_IN;
        // Not back from "for good".
        self.stand_in_until.fetch_max(until.0, Ordering::Relaxed);
    }

    /// Opens that are no requests are not seen any more, or never were: reads stand in for them for good.
    pub(crate) fn blinded(&self) {
        self.stand_in_until.store(u64::MAX, Ordering::Relaxed);
    }

    /// Do reads stand in for opens at this moment?
    pub(crate) fn reads_stand_in(&self, at: Micros) -> bool {
        at.0 < self.stand_in_until.load(Ordering::Relaxed)
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    pub(crate) fn turn_off(&self) {
        self.off.store(true, Ordering::Relaxed);
    }
}

/// Accesses on their way to the desk's other side.
pub(crate) struct Batch<'a> {
    desk: &'a Desk,
    at: Micros,
    first: Option<AccessEvent>,
    more: Vec<AccessEvent>,
}

impl Batch<'_> {
    pub(crate) fn add(&mut self, stream: StreamId, file: FileId, op: Op, residency: Residency) {
        let event = AccessEvent { at: self.at, stream, file, op, residency };
        match self.first {
            None => self.first = Some(event),
            Some(_) => self.more.push(event),
        }
    }

    /// One send for all of them; a full channel loses them all, and counts them.
    pub(crate) fn send(mut self) {
        let Some(first) = self.first else { return };
        if self.desk.is_off() {
            return;
        }
        let count = 1 + self.more.len() as u64;
        let input = if self.more.is_empty() {
            Input::Access(first)
        } else {
            self.more.insert(0, first);
            Input::Accesses(self.more)
        };
        if self.desk.inputs.try_send(input).is_err() {
            self.desk.counters.events.lost.add(count);
        }
    }
}
