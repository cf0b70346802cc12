//! A follower walks along an old run while a group repeats it.
//!
//! It holds a window of what the old run did around the present place. An access found in the window
//! confirms it; order within the window does not matter, because parallel jobs shuffle. Accesses not
//! found count against it. What lies beyond the window is predicted, as far as the caller pulls.
//!
//! What must stay true: the window holds the entries from `base` up to `tail` in the order of the
//! run; nothing from `stop` on is predicted (that is what the group itself did since).

use std::collections::VecDeque;

use super::super::{Course, Kind, Prediction};
use super::entry::Item;
use super::log::{Log, Moves};
use crate::id::FileId;

/// Entries ahead that an access is looked for in, for a follower that has yet to prove itself. A few
/// times what one compiler run opens, so that parallel ones stay inside.
const WINDOW_MIN: usize = 64;
/// The same for a proven one.
const WINDOW_MAX: usize = 512;
/// An entry is left behind when this part of the window has been confirmed beyond it. One access far
/// ahead (a common header) must not drag the whole window along.
const LAG_PART: usize = 4;
/// Accesses in a row that may be missing from the window. A new directory in a known tree is longer
/// than that, but then the follower is found again behind it.
const MISSES_MAX: u32 = 24;
/// How much each access weighs in the score: the last eight or so decide.
const SCORE_STEP: f32 = 1.0 / 8.0;
/// Below this a follower is given up.
const SCORE_MIN: f32 = 0.15;
/// Predictions a doubtful start may make before its first confirmation; doubled with each.
const REACH_FIRST: u32 = 16;

/// How good the context was that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// A short context, or one of the group's own present run.
    Doubtful,
    /// Long enough, or the start of a program.
    Good,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) course: Course,
    /// The run it follows.
    pub(super) run: u32,
    /// The entry where the group was recognised, if it was by the same program.
    pub(super) origin: Option<u64>,
    trust: Trust,
    window: VecDeque<Slot>,
    /// Entries of the window that were confirmed.
    taken: usize,
    base: u64,
    /// The next entry to be taken into the window.
    tail: Option<u64>,
    /// Where the log ended when this began.
    stop: u64,
    /// The next entry to be predicted, and its distance from `base`.
    front: Option<u64>,
    ahead: u32,
    hits: u32,
    misses: u32,
    score: f32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    item: Item,
    taken: bool,
    position: u64,
}

impl Follower {
    /// Starts behind `position`; `None` when nothing follows there.
    pub(super) fn start(log: &Log, position: u64, course: Course, trust: Trust) -> Option<Self> {
        let stop = log.end();
        let base = log.next(position).filter(|&next| next < stop)?;
        let score = if trust == Trust::Good { 0.75 } else { 0.5 };
        let mut follower = Follower {
            course,
            run: log.get(base)?.run,
            origin: (trust == Trust::Good).then_some(position),
            trust,
            window: VecDeque::with_capacity(WINDOW_MIN),
            taken: 0,
            base,
            tail: Some(base),
            stop,
            front: Some(base),
            ahead: 0,
            hits: 0,
            misses: 0,
            score,
        };
        follower.fill(log);
        Some(follower)
    }

    /// An access happened. Says whether it was expected; `passed` gets what was expected before it,
    /// is only seen when the kernel does not know it, and did not come.
    pub(super) fn advance(&mut self, log: &Log, file: FileId, passed: &mut Vec<Item>) -> bool {
        let found = self.window.iter().position(|slot| !slot.taken && slot.item.file() == file);
        match found {
            Some(place) => self.confirm(log, place, passed),
            None => {
                self.misses += 1;
                self.score -= self.score * SCORE_STEP;
            }
        }
        found.is_some()
    }

    /// A look-up may confirm, but its absence proves nothing.
    pub(super) fn note(&mut self, file: FileId) {
        let found = self.window.iter_mut().find(|slot| !slot.taken && slot.item.file() == file);
        if let Some(slot) = found
            && slot.item.kind() == Kind::Lookup
        {
            slot.taken = true;
            self.taken += 1;
        }
    }

    /// Is it time to give up?
    pub(super) fn lost(&self) -> bool {
        self.misses > MISSES_MAX || self.score < SCORE_MIN
    }

    /// Has it arrived at the end of its run?
    pub(super) fn finished(&self) -> bool {
        self.window.is_empty()
    }

    /// May a fresh context elsewhere take over? A young follower yields at once, a proven one only
    /// after a few accesses that it did not expect.
    pub(super) fn yields(&self) -> bool {
        self.misses > 0 && (self.hits < 8 || self.misses > 6)
    }

    /// Was this position part of what it expected around now?
    pub(super) fn covers(&self, position: u64) -> bool {
        let end = self.tail.unwrap_or(self.stop);
        position + 1 >= self.base && position < end
    }

    /// Has it been right often enough that what it carried may be written down again?
    pub(super) fn proven(&self) -> bool {
        self.hits >= 8 && self.score > 0.5
    }

    /// May it speak of the whole run?
    pub(super) fn trusted(&self) -> bool {
        self.trust == Trust::Good
    }

    /// Places have changed. False when the one it stands at is gone.
    pub(super) fn relocate(&mut self, moves: &Moves) -> bool {
        self.window.retain_mut(|slot| match moves.of(slot.position) {
            Some(new) => {
                slot.position = new;
                true
            }
            None => false,
        });
        self.taken = self.window.iter().filter(|slot| slot.taken).count();
        let of = |position: Option<u64>| position.and_then(|position| moves.of(position));
        (self.origin, self.tail, self.front) = (of(self.origin), of(self.tail), of(self.front));
        self.stop = moves.bound(self.stop);
        let first = self.window.front().map(|slot| slot.position);
        self.base = first.unwrap_or(self.base);
        first.is_some()
    }

    /// Accesses that were found where they were expected.
    pub(super) fn hits(&self) -> u32 {
        self.hits
    }

    /// From now on it may.
    pub(super) fn trust(&mut self) {
        self.trust = Trust::Good;
    }

    /// Predicts again from the present place.
    pub(super) fn rewind(&mut self) {
        (self.front, self.ahead) = (Some(self.base), 0);
    }

    /// Appends what comes next and was not given yet.
    pub(super) fn predict(&mut self, log: &Log, room: usize, out: &mut Vec<Prediction>) {
        let limit = out.len() + room;
        while out.len() < limit && self.ahead < self.reach() {
            let Some(entry) = self.front.filter(|&at| at < self.stop).and_then(|at| log.get(at)) else {
                self.front = None;
                return;
            };
            self.ahead += 1;
            if !entry.item.forgotten() {
                out.push(Prediction {
                    file: entry.item.file(),
                    kind: entry.item.kind(),
                    likelihood: self.score,
                    distance: self.ahead,
                });
            }
            self.front = self.front.and_then(|at| log.next(at));
        }
    }

    /// The first open that is expected and has not come.
    pub(super) fn next(&self) -> Option<Prediction> {
        let expected = |slot: &&Slot| !slot.taken && slot.item.kind() == Kind::Open;
        let slot = self.window.iter().find(expected)?;
        let (file, kind) = (slot.item.file(), slot.item.kind());
        Some(Prediction { file, kind, likelihood: self.score, distance: 1 })
    }

    /// Where this file is ahead, as far as it may speak.
    pub(super) fn expects(&self, log: &Log, file: FileId) -> Option<Prediction> {
        let waits = |at: u64| self.window.iter().all(|slot| slot.position != at || !slot.taken);
        let line =
            std::iter::successors(Some(self.base), |&at| log.next(at)).take_while(|&at| at < self.stop);
        let mut ahead = line.zip(1..=self.reach());
        ahead.find_map(|(at, distance)| {
            let item = log.get(at).map(|entry| entry.item).filter(|item| item.file() == file)?;
            let prediction = Prediction { file, kind: item.kind(), likelihood: self.score, distance };
            waits(at).then_some(prediction)
        })
    }

    /// How far ahead it may speak.
    fn reach(&self) -> u32 {
        match self.trust {
            Trust::Good => u32::MAX,
            Trust::Doubtful => {
                REACH_FIRST.checked_shl(self.hits).filter(|_| self.hits < 24).unwrap_or(u32::MAX)
            }
        }
    }

    fn confirm(&mut self, log: &Log, place: usize, passed: &mut Vec<Item>) {
        self.window[place].taken = true;
        self.hits += 1;
        self.misses = 0;
        self.score += (1.0 - self.score) * SCORE_STEP;
        self.taken += 1;
        let lag = self.size() / LAG_PART;
        while self.window.front().is_some_and(|first| first.taken || self.taken > lag) {
            self.step(log, passed);
        }
        self.fill(log);
    }

    /// How many entries the window has room for.
    fn size(&self) -> usize {
        (WINDOW_MIN + self.hits as usize).min(WINDOW_MAX)
    }

    /// Leaves the first entry of the window behind.
    fn step(&mut self, log: &Log, passed: &mut Vec<Item>) {
        let Some(left) = self.window.pop_front() else { return };
        if left.taken {
            self.taken -= 1;
        } else if left.item.kind() != Kind::Open {
            passed.push(left.item);
        }
        let next = self.window.front().map(|slot| slot.position).or(self.tail);
        self.base = next.unwrap_or(left.position + 1);
        if self.front == Some(left.position) {
            self.front = log.next(left.position);
        } else {
            self.ahead = self.ahead.saturating_sub(1);
        }
    }

    fn fill(&mut self, log: &Log) {
        let size = self.size();
        while self.window.len() < size {
            let Some(position) = self.tail.filter(|&at| at < self.stop) else { return };
            let Some(entry) = log.get(position) else {
                self.tail = None;
                return;
            };
            let taken = entry.item.forgotten();
            self.taken += usize::from(taken);
            self.window.push_back(Slot { item: entry.item, taken, position });
            self.tail = log.next(position);
        }
    }
}
