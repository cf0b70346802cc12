//! The first pass: what no history can tell of a tree that was never walked, its structure can.
//!
//! A stream that goes through directories in an order of theirs (as they list their entries, by name, by inode number)
//! walks; what it does on its way to files (nothing, look at them, read them) is what it is expected to do to the
//! rest: of the directory, of those inside it, and of those that follow where it came from.
//!
//! What must stay true: pure, as a predictor is; what is kept is bounded; three steps in order begin a walk, and
//! it ends with the first that leaves its order; nothing is given twice on one course.

use crate::clock::Micros;
use crate::config::InodeWindow;
use crate::event::{Listing, Span};
use crate::id::{FileId, GroupId, IdMap, StreamId};
use crate::predict::{Course, Kind, Prediction};

mod cost;
mod directory;
mod gait;
mod known;
mod lanes;
mod reach;
mod siblings;
mod spot;
mod stroll;

use known::Known;
use siblings::Siblings;
pub use siblings::{stretch, window};
use stroll::Stroll;

/// Courses of walks have this bit, so that none is taken for a predictor's.
const OURS: u64 = 1 << 63;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Walks {
    known: Known,
    siblings: Siblings,
    strolls: IdMap<StreamId, Stroll>,
    /// The streams of a group that go somewhere, the latest last.
    groups: IdMap<GroupId, Vec<StreamId>>,
    courses: u64,
}

/// One step of a stream, as far as walks care.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When.
    pub at: Micros,
    /// By whom.
    pub stream: StreamId,
    /// In which group.
    pub group: GroupId,
    /// To what.
    pub file: FileId,
    /// How.
    pub kind: Kind,
    /// It had to wait for the device.
    pub cold: bool,
}

impl Walks {
    /// How many entries are looked at around one that was; off is no walks at all.
    pub fn set_window(&mut self, window: InodeWindow) {
        let known = self.siblings.is_off();
        self.siblings = Siblings::new(window);
        if !known {
            self.forget();
        }
    }

    /// Entries looked at around one at the moment.
    pub fn window(&self) -> u32 {
        self.siblings.width()
    }

    /// A directory was read. Returns the groups that have waited for it.
    pub fn listed(&mut self, listing: &Listing) -> Vec<GroupId> {
        if self.siblings.is_off() || !self.known.add(listing) {
            return Vec::new();
        }
        let known = &self.known;
        let mut groups: Vec<GroupId> = Vec::new();
        for stroll in self.strolls.values_mut() {
            if stroll.listed(listing.dir, known) {
                groups.push(stroll.group);
            }
        }
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// A stream took a step. `parent` finds the directory of a file that no listing has told of.
    pub fn observe(&mut self, step: Step, parent: impl Fn(FileId) -> Option<FileId>) {
        if self.siblings.is_off() {
            return;
        }
        let Walks { known, siblings, strolls, groups, courses } = self;
        let stroll = strolls.entry(step.stream).or_insert_with(|| Stroll::new(step.group));
        let goes = stroll.goes();
        match known.child(step.file) {
            Some(child) => stroll.step(&step, child, known, siblings),
            None => stroll.step_outside(&step, parent(step.file), known, siblings),
        }
        match (goes, stroll.goes()) {
            (false, true) => {
                *courses += 1;
                stroll.course = Course(OURS | *courses);
                groups.entry(stroll.group).or_default().push(step.stream);
            }
            (true, false) => leave(groups, stroll.group, step.stream),
            _ => {}
        }
    }

    /// What is believed of a group.
    pub fn course(&self, group: GroupId) -> Course {
        let streams = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        streams
            .first()
            .and_then(|stream| self.strolls.get(stream))
            .map_or(Course::NONE, |stroll| stroll.course)
    }

    /// A stream asked for bytes that were not in memory. `file` is in a directory that the walk goes through, or it
    /// says nothing of the walk.
    pub fn read(&mut self, stream: StreamId, file: FileId, span: Span) {
        let Walks { known, strolls, .. } = self;
        if let (Some(stroll), Some(_)) = (strolls.get_mut(&stream), known.child(file)) {
            stroll.read(span, known);
        }
    }

    /// How far into files the walks of the group read, in bytes: nothing beyond is worth bringing for them.
    pub fn reach(&self, group: GroupId) -> u64 {
        let streams = self.groups.get(&group).into_iter().flatten();
        let strolls = streams.filter_map(|stream| self.strolls.get(stream));
        strolls.filter(|stroll| stroll.reads()).map(Stroll::reach).max().unwrap_or(u64::MAX)
    }

    /// Does all that the group does belong to one walk that reads files?
    pub fn is_one_walk(&self, group: GroupId) -> bool {
        let walks = self.groups.get(&group).is_some_and(|streams| streams.len() == 1) && self.reads(group);
        walks && self.strolls.values().filter(|stroll| stroll.group == group).count() == 1
    }

    /// Does a walk of the group read the files it passes?
    pub fn reads(&self, group: GroupId) -> bool {
        let streams = self.groups.get(&group).into_iter().flatten();
        streams.filter_map(|stream| self.strolls.get(stream)).any(Stroll::reads)
    }

    /// Appends at most `room` predictions for the group that were not given before.
    pub fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        let end = out.len() + room;
        for stream in self.groups.get(&group).into_iter().flatten().rev() {
            if let Some(stroll) = self.strolls.get_mut(stream) {
                stroll.predict(&mut self.known, end, out);
            }
        }
    }

    /// What was given and not reached is given once more.
    pub fn rewind(&mut self, group: GroupId) {
        for stream in self.groups.get(&group).into_iter().flatten() {
            if let Some(stroll) = self.strolls.get_mut(stream) {
                stroll.rewind(&self.known);
            }
        }
    }

    /// The stream is over, or is another program's now.
    pub fn end(&mut self, stream: StreamId) {
        if let Some(stroll) = self.strolls.remove(&stream) {
            leave(&mut self.groups, stroll.group, stream);
        }
    }

    /// Is it a directory, as far as listings have told?
    pub fn is_directory(&self, file: FileId) -> bool {
        self.known.get(file).is_some()
            || self
                .known
                .child(file)
                .is_some_and(|child| self.known.entry(child).is_some_and(|entry| entry.directory))
    }

    /// File numbers are to be given to other names: nothing that is kept holds any more.
    pub fn forget(&mut self) {
        self.known = Known::default();
        self.strolls.clear();
        self.groups.clear();
    }
}

fn leave(groups: &mut IdMap<GroupId, Vec<StreamId>>, group: GroupId, stream: StreamId) {
    if let Some(streams) = groups.get_mut(&group) {
        streams.retain(|&other| other != stream);
        if streams.is_empty() {
            groups.remove(&group);
        }
    }
}

#[cfg(test)]
mod tests;
