//! Writing the history: one access after the other, and what makes a run a scan.
//!
//! What must stay true: room is made before anything is written, so that no position is held across it
//! but in streams, groups and followers, which are told; a scan writes its share and no more.

use super::entry::{By, Item, Life};
use super::keys::{self, Keys, NOTHING};
use super::scans::{self, ScanWatch};
use super::{Group, MatchModel, Stream};
use crate::id::{FileId, GroupId};

impl MatchModel {
    /// Writes down a use. Returns where, unless the run is closed.
    pub(super) fn record(&mut self, stream: &mut Stream, item: Item, mut by: By) -> Option<u64> {
        if self.is_scan(stream.group) {
            by.set_scan();
        }
        let (looked_up, back) = (stream.lookup.take(), stream.at.take());
        let (recent, group) = (stream.recent, stream.group);
        let upgraded = looked_up.filter(|&at| self.log.upgrade(at, item, by, back));
        let at = upgraded.or_else(|| self.write(group, item, by, back));
        stream.at = at;
        let group = self.group(group);
        (group.recent, group.at) = (recent, at);
        at
    }

    /// Appends to the group's run, unless that is closed.
    pub(super) fn write(&mut self, group: GroupId, item: Item, mut by: By, back: Option<u64>) -> Option<u64> {
        let known = self.group(group);
        let (run, tail, scan) = (known.run, known.tail, known.watch.is_scan());
        if self.groups.get(&group).is_some_and(|group| self.is_closed(group)) {
            return None;
        }
        if scan {
            by.set_scan();
        }
        self.files = self.files.max(item.file().0 + 1);
        let at = self.log.push(item, run, by, tail, back);
        self.seen.set(item.file(), at);
        let known = self.group(group);
        (known.tail, known.entries) = (Some(at), known.entries + 1);
        Some(at)
    }

    /// The group uses a file: is it a scan? Makes room for all that one access can write.
    pub(super) fn watch(&mut self, group: GroupId, file: FileId) {
        self.make_room();
        let last = self.seen.last(file).and_then(|at| self.log.get(at)).map(|entry| entry.run);
        let capacity = self.log.capacity();
        let known = self.group(group);
        let (run, fresh) = (known.run, last != Some(known.run));
        if known.watch.uses(file, fresh, capacity) {
            self.recognise(run);
        }
        self.scans.accesses += u64::from(self.is_scan(group));
    }

    /// The run turns out to be a scan: what it has said so far is to lead nobody else, and the contexts that it
    /// took from others are given back.
    fn recognise(&mut self, run: u32) {
        self.scans.seen += 1;
        self.log.set_scan(run);
        self.rebuild();
    }

    pub(super) fn is_scan(&self, group: GroupId) -> bool {
        self.groups.get(&group).is_some_and(|group| group.watch.is_scan())
    }

    /// Has the run, a scan, written all it may?
    pub(super) fn is_closed(&self, group: &Group) -> bool {
        group.watch.is_scan() && group.entries >= scans::share(self.log.capacity())
    }
}

impl Group {
    pub(super) fn new(run: u32) -> Self {
        Group {
            run,
            tail: None,
            entries: 0,
            recent: [NOTHING; 3],
            at: None,
            follower: None,
            repeated: Vec::new(),
            watch: ScanWatch::default(),
        }
    }
}

impl Stream {
    /// Takes in a file; returns where in its life the stream is, and the keys of where it stands.
    pub(super) fn step(&mut self, file: FileId) -> (Life, Keys) {
        self.recent = [file.0, self.recent[0], self.recent[1]];
        self.last = file.0;
        let life = match self.life {
            0 => Life::First,
            1 => Life::Second,
            _ => Life::Later,
        };
        self.life = (self.life + 1).min(2);
        (life, keys::keys(self.program, life, self.recent))
    }
}
