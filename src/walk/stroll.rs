//! One stream's way through directories: where it is, what it does there, and what therefore lies ahead.
//!
//! What lies ahead is gone through lazily, depth first: fronts are levels of directories, the innermost last. A
//! directory whose entries are not known yet is given itself, and becomes a front when it has been read; so the
//! directories of a walk in breadth are read ahead just as well, only not quite in its order.
//!
//! What must stay true: a directory is a front once; no more is given than `HORIZON` beyond what has been reached.

use std::collections::VecDeque;

use super::Step;
use super::directory::{Directory, Order};
use super::gait::{Gait, LEFT_OUT, STEPS};
use super::known::{Child, Known};
use super::lanes::Came;
use super::reach::Reach;
use super::siblings::{Siblings, stretch, window};
use super::spot::{Front, Spot};
use crate::clock::Micros;
use crate::event::Span;
use crate::id::{FileId, GroupId, IdMap};
use crate::predict::{Course, Kind, Prediction};

/// Given and not reached, at most: a walk that is broken off has cost no more than this. Enough for a disk to sort by place.
const HORIZON: u64 = 4096;
/// Directories with a place of their own; then those that the walk has left are forgotten.
const SPOTS_MAX: usize = 8192;
/// Directories that were looked into without having been listed, remembered to see whether it goes on.
const OUTSIDE_MAX: usize = 8;
/// Directories that wait to be read: more would be for places that were left long ago.
const WANTED_MAX: usize = 64;
/// Levels at most: PATH_MAX has room for no more.
const LEVELS_MAX: usize = 2048;

/// What a walk does to the files it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Deed {
    /// Nothing.
    #[default]
    Pass,
    /// It looks at them.
    Look,
    /// It reads them.
    Read,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Stroll {
    pub(super) group: GroupId,
    pub(super) course: Course,
    opens: Gait,
    lists: Gait,
    looks: Gait,
    /// It has listed a directory inside one that it had listed, or entered several in order.
    descends: bool,
    /// Its way into directories that it does not list.
    enters: Gait,
    /// It has looked at several files of a directory that nobody has listed.
    peeks: bool,
    here: Option<FileId>,
    spots: IdMap<FileId, Spot>,
    fronts: Vec<Front>,
    /// Directories to be read first: it looks into them, and nobody has listed them.
    wanted: VecDeque<FileId>,
    outside: VecDeque<(FileId, u8)>,
    /// What was given, and as which in line.
    given: IdMap<FileId, u64>,
    count: u64,
    reached: u64,
    /// Siblings were given without a walk.
    loose: bool,
    reach: Reach,
    /// When it had to wait for a look-up the last time, and whether siblings were asked for then.
    waited: Option<(Micros, bool)>,
}

/// What a walk is, as far as it is known. When it changes, what lies ahead is others.
type Manner = (Option<Order>, Deed, bool);

impl Stroll {
    pub(super) fn new(group: GroupId) -> Stroll {
        let (opens, lists, looks, enters) = Default::default();
        let (spots, fronts, wanted, outside, given) = Default::default();
        Stroll {
            group,
            course: Course::NONE,
            opens,
            lists,
            looks,
            descends: false,
            enters,
            peeks: false,
            here: None,
            spots,
            fronts,
            wanted,
            outside,
            given,
            count: 0,
            reached: 0,
            loose: false,
            reach: Reach::default(),
            waited: None,
        }
    }

    /// Is anything believed of where it goes?
    pub(super) fn goes(&self) -> bool {
        self.loose || self.order().is_some()
    }

    /// Does it read the files it passes?
    pub(super) fn reads(&self) -> bool {
        self.opens.walks()
    }

    /// How far into them, in bytes.
    pub(super) fn reach(&self) -> u64 {
        self.reach.bytes()
    }

    /// It had to wait for bytes. What was given with less than it reads is given once more.
    pub(super) fn read(&mut self, span: Span, known: &Known) {
        if self.reach.read(span) && self.reads() {
            self.rewind(known);
        }
    }

    /// A step to an entry of a directory that is known.
    pub(super) fn step(&mut self, step: &Step, child: Child, known: &mut Known, siblings: &mut Siblings) {
        known.touch(child.dir);
        let (Some(directory), Some(entry)) = (known.get(child.dir), known.entry(child)) else { return };
        if let Some(&number) = self.given.get(&step.file) {
            self.reached = self.reached.max(number);
        }
        if step.kind == Kind::Lookup && entry.directory {
            let before = self.manner();
            self.enter(child, directory);
            return self.go_on(before, child.dir, known);
        }
        let before = self.manner();
        self.here = Some(child.dir);
        let related = self.go(step.kind, child, directory, siblings.width());
        if step.kind == Kind::Lookup && step.cold {
            siblings.looked_up(related);
            if let Some((from, beside)) = self.waited.replace((step.at, false)).filter(|_| !related) {
                siblings.waited(from, step.at, beside);
            }
        }
        if step.kind == Kind::List {
            self.arrive(step.file, child.dir);
        }
        if (before, self.order()) == (self.manner(), None)
            && step.kind == Kind::Lookup
            && step.cold
            && siblings.pays()
        {
            self.look_around(child, directory, siblings.width());
            self.waited = Some((step.at, true));
        }
        self.go_on(before, child.dir, known);
        self.tidy(known);
    }

    /// What lies ahead after a step in `dir`.
    fn go_on(&mut self, before: Manner, dir: FileId, known: &Known) {
        if before != self.manner() {
            self.here = self.here.or(Some(dir));
            self.turn(before, known);
        } else if before.0.is_some() {
            self.front(dir, known);
        }
    }

    /// A step to something that no listing has told of.
    pub(super) fn step_outside(
        &mut self,
        step: &Step,
        parent: Option<FileId>,
        known: &Known,
        siblings: &Siblings,
    ) {
        if step.kind == Kind::List {
            self.spots.entry(step.file).or_default().listed = true;
            return;
        }
        let Some(dir) = parent.filter(|&dir| known.get(dir).is_none() && step.cold) else { return };
        let times = match self.outside.iter_mut().find(|(other, _)| *other == dir) {
            Some((_, times)) => {
                *times = times.saturating_add(1);
                *times
            }
            None => {
                self.outside.push_back((dir, 1));
                1
            }
        };
        if self.outside.len() > OUTSIDE_MAX {
            self.outside.pop_front();
        }
        self.peeks |= times >= STEPS;
        let enough = if siblings.is_fixed() || self.order().is_some() { 1 } else { STEPS };
        let room = self.wanted.len() < WANTED_MAX;
        if times >= enough && room && !self.given.contains_key(&dir) && !self.wanted.contains(&dir) {
            self.loose = true;
            self.wanted.push_back(dir);
        }
    }

    /// A directory was read. Says whether that lets the walk go on.
    pub(super) fn listed(&mut self, dir: FileId, known: &Known) -> bool {
        if !self.goes() {
            return false;
        }
        let spot = self.spots.get(&dir).cloned().unwrap_or_default();
        let expected = self.given.contains_key(&dir) || spot.listed;
        if let (Some(order), true, false) = (self.order(), expected, spot.fronted) {
            self.push(dir, order, 0, known);
        }
        true
    }

    /// Appends what lies ahead, until `out` has `end` in it.
    pub(super) fn predict(&mut self, known: &mut Known, end: usize, out: &mut Vec<Prediction>) {
        while out.len() < end && self.count < self.reached + HORIZON {
            if let Some(dir) = self.wanted.pop_front() {
                self.give(dir, Kind::Siblings, out);
                self.spots.entry(dir).or_default().brought = true;
            } else if !self.advance(known, out) {
                return;
            }
        }
    }

    /// Everything ahead is to be given once more.
    pub(super) fn rewind(&mut self, known: &Known) {
        self.given.clear();
        (self.count, self.reached) = (0, 0);
        self.spots.values_mut().for_each(|spot| spot.brought = false);
        self.restart(known);
    }

    fn order(&self) -> Option<Order> {
        let passed = self.enters.order().filter(|_| self.peeks);
        self.opens.order().or_else(|| self.looks.order()).or_else(|| self.lists.order()).or(passed)
    }

    fn manner(&self) -> Manner {
        let deed = match () {
            () if self.opens.walks() => Deed::Read,
            () if self.looks.walks() || self.passes() => Deed::Look,
            () => Deed::Pass,
        };
        (self.order(), deed, self.descends)
    }

    /// Moves in the directory. Was the step near an earlier one there?
    fn go(&mut self, kind: Kind, child: Child, directory: &Directory, width: u32) -> bool {
        let spot = self.spots.entry(child.dir).or_default();
        let place = match kind {
            Kind::Open | Kind::Head => &mut spot.opened,
            Kind::Lookup => &mut spot.looked_at,
            Kind::List | Kind::Siblings => &mut spot.entered,
        };
        let from = place.replace(child.index);
        let (covered, listed) = (kind == Kind::Lookup && spot.brought, spot.listed);
        let gait = match kind {
            Kind::Open | Kind::Head => &mut self.opens,
            Kind::Lookup => &mut self.looks,
            Kind::List | Kind::Siblings => &mut self.lists,
        };
        // Whoever comes into a directory without having listed it may begin anywhere.
        if listed || from.is_some() {
            gait.step(directory, kind, (from, child.index), listed, covered);
        }
        let rank = |index| directory.rank(Order::Inode, index);
        from.is_some_and(|from| rank(from).abs_diff(rank(child.index)) <= width)
    }

    /// It lists a directory inside another.
    fn arrive(&mut self, dir: FileId, parent: FileId) {
        self.descends |= self.spots.get(&parent).is_some_and(|spot| spot.listed);
        self.spots.entry(dir).or_default().listed = true;
    }

    /// A name on the way to something below it. Whoever takes one after the other walks there too.
    fn enter(&mut self, child: Child, directory: &Directory) {
        let spot = self.spots.entry(child.dir).or_default();
        spot.entered = Some(child.index);
        let near = |from| directory.apart(from, child.index).filter(|&apart| apart <= LEFT_OUT);
        let came = spot.passed.come(child.index, directory.len(), near);
        match came {
            _ if spot.listed => {}
            Came::From(from) => {
                self.enters.step(directory, Kind::List, (Some(from), child.index), false, false);
            }
            Came::Anew => {}
            Came::Lost => self.enters = Gait::default(),
        }
        self.descends |= self.passes() || self.enters.walks() && (self.looks.walks() || self.opens.walks());
    }

    /// Does it look at files in one directory after the other, none of which it lists?
    fn passes(&self) -> bool {
        self.peeks && self.enters.walks()
    }

    /// Its manner has changed.
    fn turn(&mut self, (order, deed, _): Manner, known: &Known) {
        let now = self.manner();
        if order.is_some() && now.0.is_none() {
            self.descends = false;
        }
        if order.is_none() || deed != now.1 {
            self.given.clear();
            (self.count, self.reached) = (0, 0);
        }
        self.restart(known);
    }

    fn restart(&mut self, known: &Known) {
        self.fronts.clear();
        self.spots.values_mut().for_each(|spot| spot.fronted = false);
        if let Some(here) = self.here {
            self.front(here, known);
        }
    }

    /// What lies ahead begins here, and goes on where it came from.
    fn front(&mut self, dir: FileId, known: &Known) {
        let Some(order) = self.order() else { return };
        let mut levels = Vec::new();
        let mut at = Some(dir);
        while let Some(dir) = at.filter(|dir| levels.len() < LEVELS_MAX && !self.is_fronted(*dir)) {
            levels.push(dir);
            let above = known.child(dir).map(|child| child.dir).filter(|_| self.descends);
            at = above.filter(|above| {
                self.spots.get(above).is_some_and(|spot| spot.listed || spot.entered.is_some())
            });
        }
        for dir in levels.into_iter().rev() {
            let next = self.place(dir, order, known);
            self.push(dir, order, next, known);
        }
    }

    fn is_fronted(&self, dir: FileId) -> bool {
        self.spots.get(&dir).is_some_and(|spot| spot.fronted)
    }

    /// Where it is in a directory: the next place after the furthest it has been at.
    fn place(&self, dir: FileId, order: Order, known: &Known) -> u32 {
        let (Some(spot), Some(directory)) = (self.spots.get(&dir), known.get(dir)) else { return 0 };
        let places = [spot.opened, spot.entered, spot.looked_at].into_iter().flatten();
        let after = |index| directory.rank(order, index) + 1;
        let furthest = places.filter(|&index| index < directory.len()).map(after).max().unwrap_or(0);
        // The last of several threads has all of the rest before it.
        let lanes = spot.passed.places().filter(|&index| index < directory.len()).map(after);
        if lanes.clone().count() > 1 { lanes.min().unwrap_or(furthest) } else { furthest }
    }

    fn push(&mut self, dir: FileId, order: Order, next: u32, known: &Known) {
        let Some(directory) = known.get(dir) else { return };
        self.spots.entry(dir).or_default().fronted = true;
        self.fronts.push(Front { dir, order, next, end: directory.len(), alone: false });
    }

    /// Gives the siblings of one that was looked at.
    fn look_around(&mut self, child: Child, directory: &Directory, width: u32) {
        let around = window(directory.rank(Order::Inode, child.index), width, directory.len());
        let (next, end) = (around.start, around.end);
        self.loose = true;
        if self.fronts.len() >= LEVELS_MAX {
            // Nobody has asked for what lies ahead for a long time.
            self.fronts.clear();
        }
        self.fronts.push(Front { dir: child.dir, order: Order::Inode, next, end, alone: true });
    }

    /// One entry on. False when there is nothing ahead.
    fn advance(&mut self, known: &mut Known, out: &mut Vec<Prediction>) -> bool {
        let Some(front) = self.fronts.last_mut() else { return false };
        let Front { dir, order, next, end, alone } = *front;
        front.next += 1;
        let Some(directory) = known.get(dir).filter(|_| next < end) else {
            self.fronts.pop();
            return true;
        };
        let Some(&entry) = directory.at(order, next) else { return true };
        let (_, deed, descends) = self.manner();
        match (entry.directory, deed) {
            (true, _) if alone || !descends => {}
            (true, deed) => {
                let kind = if deed == Deed::Pass { Kind::List } else { Kind::Siblings };
                self.spots.entry(entry.file).or_default().brought = kind == Kind::Siblings;
                self.give(entry.file, kind, out);
                if !self.is_fronted(entry.file) {
                    self.push(entry.file, order, 0, known);
                }
                known.touch(dir);
            }
            (false, _) if alone => self.give(entry.file, Kind::Lookup, out),
            (false, Deed::Read) => self.give(entry.file, Kind::Head, out),
            (false, Deed::Look) => {
                if let Some(first) = self.window_of(directory, dir, entry.file, known) {
                    self.give(first, Kind::Siblings, out);
                }
                self.spots.entry(dir).or_default().brought = true;
            }
            (false, Deed::Pass) => {}
        }
        true
    }

    /// Who stands for the whole window of siblings that the file is in, if that was not given with the directory.
    fn window_of(&self, directory: &Directory, dir: FileId, file: FileId, known: &Known) -> Option<FileId> {
        let rank = directory.rank(Order::Inode, known.child(file)?.index);
        let around = window(rank, stretch(directory.len()), directory.len());
        if around.start == 0 && self.given.contains_key(&dir) {
            return None;
        }
        let mut members = around.filter_map(|rank| directory.at(Order::Inode, rank));
        members.find(|entry| !entry.directory).map(|entry| entry.file)
    }

    fn give(&mut self, file: FileId, kind: Kind, out: &mut Vec<Prediction>) {
        if self.given.contains_key(&file) {
            return;
        }
        self.count += 1;
        self.given.insert(file, self.count);
        let distance = u32::try_from(self.count - self.reached.min(self.count)).unwrap_or(u32::MAX).max(1);
        out.push(Prediction { file, kind, likelihood: 1.0, distance });
    }

    /// Forgets what the walk has left behind.
    fn tidy(&mut self, known: &Known) {
        if self.given.len() as u64 > 4 * HORIZON {
            let reached = self.reached;
            self.given.retain(|_, &mut number| number > reached);
        }
        if self.spots.len() <= SPOTS_MAX {
            return;
        }
        let up = |dir: &FileId| known.child(*dir).map(|child| child.dir);
        let above: Vec<FileId> = std::iter::successors(self.here, up).take(LEVELS_MAX).collect();
        let fronts = &self.fronts;
        let ahead = |dir: &FileId| fronts.iter().any(|front| front.dir == *dir);
        self.spots.retain(|dir, spot| above.contains(dir) || (spot.fronted && ahead(dir)));
    }
}
