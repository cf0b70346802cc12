//! Where the plan looks ahead: what was learned first, and what a walk shows where that has nothing to say.
//!
//! What must stay true: one belief for a group at a time; what was given under another is given again.

use super::{Effect, Engine};
use crate::config::InodeWindow;
use crate::event::{AccessEvent, Listing, Residency};
use crate::id::{FileId, GroupId, StreamId};
use crate::plan::Foresight;
use crate::predict::{Course, Kind, Prediction, Predictor};
use crate::walk::{self, Walks};

/// Entries that a job for siblings looks at, when their number is ours to choose.
const SIBLINGS: u32 = 64;

/// See the module's head.
pub(super) struct Sight<'a> {
    pub(super) predictor: &'a mut dyn Predictor,
    pub(super) walks: &'a mut Walks,
}

impl Foresight for Sight<'_> {
    /// What a history says of names, it has from a run in which names were brought and so not seen: who only looks at
    /// files is better known by its walk. Who reads them is seen each time, and the history knows the very order.
    fn predict(&mut self, group: GroupId, course: Course, room: usize, out: &mut Vec<Prediction>) {
        let end = out.len() + room;
        if course == self.walks.course(group) {
            self.walks.predict(group, room, out);
        }
        let walked = out.len();
        self.predictor.predict(group, end.saturating_sub(walked), out);
        // A history does not tell how far files are read.
        if out[walked..].iter().any(|next| next.kind == Kind::Open) && self.walks.is_one_walk(group) {
            let opens = out[walked..].iter_mut().filter(|next| next.kind == Kind::Open);
            opens.for_each(|next| next.kind = Kind::Head);
        }
    }

    fn reach(&self, group: GroupId) -> u64 {
        self.walks.reach(group)
    }

    fn rewind(&mut self, group: GroupId) {
        self.predictor.rewind(group);
        self.walks.rewind(group);
    }
}

impl Engine {
    /// Sets how many entries of a directory are looked at around one that had to be fetched. Off until then.
    pub fn set_inode_window(&mut self, window: InodeWindow) {
        self.walks.set_window(window);
        let entries = if let InodeWindow::Fixed(entries) = window { entries } else { SIBLINGS };
        self.planner.set_siblings(u64::from(entries));
    }

    /// A directory was read, by whomever.
    pub fn listed(&mut self, listing: &Listing, effects: &mut Vec<Effect>) {
        for group in self.walks.listed(listing) {
            self.advance(group, effects);
        }
    }

    /// Asks for what is ahead of the group.
    pub(super) fn advance(&mut self, group: GroupId, effects: &mut Vec<Effect>) {
        let mut sight = Sight { predictor: self.predictor.as_mut(), walks: &mut self.walks };
        self.planner.advance(group, &mut sight, effects);
    }

    /// An access had to wait for the device.
    pub(super) fn missed(&mut self, group: GroupId, file: FileId) {
        let mut sight = Sight { predictor: self.predictor.as_mut(), walks: &mut self.walks };
        self.planner.missed(group, file, &mut sight);
    }

    /// Takes a step of a walk.
    pub(super) fn walk(&mut self, event: &AccessEvent, kind: Kind, group: GroupId) {
        let &AccessEvent { at, stream, file, residency, .. } = event;
        let cold = matches!(residency, Residency::Partial | Residency::Miss);
        let planner = &self.planner;
        let step = walk::Step { at, stream, group, file, kind, cold };
        self.walks.observe(step, |file| planner.parent(file));
    }

    /// The group is believed to be on a learned course, or where there is none, on a walk. A walk that only looks at
    /// files goes first: see [`Sight::predict`].
    pub(super) fn steer(&mut self, group: GroupId, learned: Course, effects: &mut Vec<Effect>) {
        let walk = self.walks.course(group);
        let first = learned == Course::NONE || (walk != Course::NONE && !self.walks.reads(group));
        if self.planner.steer(group, if first { walk } else { learned }, effects) {
            self.walks.rewind(group);
            self.predictor.rewind(group);
        }
    }

    pub(super) fn end_walk(&mut self, stream: StreamId) {
        self.walks.end(stream);
    }
}
