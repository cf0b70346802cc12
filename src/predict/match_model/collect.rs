//! What goes when the history is full: what is least useful first.
//!
//! What must stay true: first goes what was forgotten and what later runs repeated, then scans (and what
//! looks like becoming one), then the oldest; whoever holds a position learns where its entry went; contexts are made again from what
//! is left.

use std::collections::BTreeSet;

use super::MatchModel;
use super::contexts::Contexts;
use super::entry::Entry;
use super::keys;
use super::log::{Log, Moves};
use super::scans;

/// A full history is emptied by this part, so that it is seldom done.
const PART: usize = 8;

/// So many entries that later runs repeated are not worth the work of letting them go.
const SPARE_MIN: usize = 1 << 14;

/// How many entries of each kind go, the oldest first.
struct Quota {
    scans: usize,
    others: usize,
}

impl MatchModel {
    /// Makes room for one more entry. Long before the history is full it lets go of what says nothing new, so that
    /// its size follows what there is to know and not how often that was done.
    pub(super) fn make_room(&mut self) {
        if self.spares * 2 > self.log.entries().len() && self.spares > SPARE_MIN {
            self.collect(usize::MAX, usize::MAX);
        }
        if self.log.full() {
            let capacity = self.log.capacity();
            self.collect(capacity - capacity / PART, capacity - capacity / PART / PART);
        }
    }

    /// Leaves the `target` most useful entries, or fewer; but nothing that jobs taught goes when no more than
    /// `most` are left without.
    pub(super) fn collect(&mut self, target: usize, most: usize) {
        let keep = self.choose(target, most);
        let moves = self.log.retain(&keep);
        self.spares = 0;
        self.relocate(&moves);
        self.rebuild();
    }

    /// The history is another one now; of one that is too long the most useful part.
    pub(super) fn take_up(&mut self, log: Log) {
        let capacity = self.log.capacity();
        self.log = log;
        self.log.limit(capacity);
        self.spares = self.log.entries().iter().filter(|entry| entry.by.spare()).count();
        let known = self.log.entries().iter().filter(|entry| !entry.item.forgotten());
        self.files = known.map(|entry| entry.item.file().0 + 1).max().unwrap_or(0);
        self.runs = self.log.entries().iter().map(|entry| entry.run).max().unwrap_or(0);
        match self.log.end() > capacity as u64 {
            true => self.collect(capacity - capacity / PART, capacity - capacity / PART),
            false => self.rebuild(),
        }
    }

    /// Makes again what is said by the entries alone.
    pub(super) fn rebuild(&mut self) {
        // Two to an entry, nearly always: the last two, and the last three.
        self.contexts = Contexts::with_room(self.log.capacity(), 2 * self.log.end() as usize);
        self.seen.clear();
        for scans in [false, true] {
            (0..self.log.end()).for_each(|position| self.rebuild_at(position, scans));
        }
    }

    /// Scans come last, into the room that others leave.
    fn rebuild_at(&mut self, position: u64, scans: bool) {
        let Some(&entry) = self.log.get(position).filter(|entry| entry.by.scan() == scans) else { return };
        for &(key, _) in keys::of_entry(&self.log, position).iter().flatten() {
            self.stand(key, position, scans);
        }
        let file = entry.item.file();
        if !entry.item.forgotten() && self.seen.last(file).is_none_or(|last| last < position) {
            self.seen.set(file, position);
        }
    }

    /// A context stands at a position now. Those of scans push out no others.
    pub(super) fn stand(&mut self, key: u32, position: u64, scan: bool) {
        match scan {
            true => self.contexts.set_if_room(key, position),
            false => self.contexts.set(key, position),
        }
    }

    fn choose(&self, target: usize, most: usize) -> Vec<bool> {
        let useless = |entry: &Entry| entry.item.forgotten() || entry.by.spare();
        let suspects: BTreeSet<u32> =
            self.groups.values().filter(|group| group.watch.is_suspect()).map(|group| group.run).collect();
        let scan = |entry: &Entry| entry.by.scan() || suspects.contains(&entry.run);
        let useful = self.log.entries().iter().filter(|entry| !useless(entry));
        let (scanned, others): (Vec<&Entry>, Vec<&Entry>) = useful.partition(|entry| scan(entry));
        let mut quota = quota(scanned.len(), others.len(), [target, most], scans::share(self.log.capacity()));
        let mut keep: Vec<bool> = self
            .log
            .entries()
            .iter()
            .map(|entry| {
                if useless(entry) {
                    return false;
                }
                let left = if scan(entry) { &mut quota.scans } else { &mut quota.others };
                let goes = *left > 0;
                *left -= usize::from(goes);
                !goes
            })
            .collect();
        // A run that goes on must stay one thread.
        for tail in self.groups.values().filter_map(|group| group.tail) {
            if let Some(place) = keep.get_mut(tail as usize) {
                *place = true;
            }
        }
        keep
    }

    fn relocate(&mut self, moves: &Moves) {
        let of = |position: Option<u64>| position.and_then(|position| moves.of(position));
        for stream in self.streams.values_mut() {
            (stream.lookup, stream.at) = (of(stream.lookup), of(stream.at));
        }
        for group in self.groups.values_mut() {
            (group.tail, group.at) = (of(group.tail), of(group.at));
            group.repeated = group.repeated.iter().filter_map(|&origin| moves.of(origin)).collect();
            let stays = group.follower.as_mut().is_some_and(|follower| follower.relocate(moves));
            group.follower = group.follower.take().filter(|_| stays);
        }
    }
}

fn quota(scans: usize, others: usize, [target, most]: [usize; 2], share: usize) -> Quota {
    let over = (scans + others).saturating_sub(target);
    let of_scans = scans.saturating_sub(share).max(over.min(scans));
    let left = scans - of_scans + others;
    Quota { scans: of_scans, others: if left > most { left - target } else { 0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_go_first_and_have_their_share() {
        let went = |scans, others, target| {
            let quota = quota(scans, others, [target, target + 10], 100);
            (quota.scans, quota.others)
        };
        assert_eq!(went(0, 50, 100), (0, 0));
        assert_eq!(went(150, 10, 1_000), (50, 0));
        assert_eq!(went(50, 90, 100), (40, 0));
        assert_eq!(went(50, 190, 100), (50, 90));
        assert_eq!(went(50, 105, 100), (50, 0));
    }
}
