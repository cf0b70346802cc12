//! The match model: the last run in which the same files stood tells what comes next, to its end.
//!
//! The history is one log, threaded into runs (a run is what one group did). A table says where each
//! short context stood last: a stream's last files, or the first files of a program's life. An access
//! whose context is known starts a `Follower` for the whole group; from there on the group
//! walks along the old run, and every process in it moves the same follower. Kin to the match models
//! of data compression: one pass is enough, and the horizon is the rest of the run.
//!
//! What must stay true: look-ups are payload, never context, because a warm kernel hides them; what a
//! warm run hid is carried over from the run it repeated.

use super::{Access, Course, Footprint, Kind, LoadError, Prediction, Predictor, PredictorChoice};
use crate::event::Origin;
use crate::id::{FileId, GroupId, IdMap, ProgramId, StreamId};

mod contexts;
mod follower;
mod format;
mod log;

use contexts::{Contexts, key};
use follower::{Follower, Trust};
use log::{Item, Log};

/// Entries of the history: a few hundred builds of a middling project, or one of a giant.
const LOG_ENTRIES: usize = 1 << 20;
/// Stands for "no file yet" in a context.
const NOTHING: u32 = u32::MAX;

/// Kinds of context. Saved models contain keys made with these.
const LAST_THREE: u32 = 1;
const LAST_TWO: u32 = 2;
const FIRST: u32 = 3;
const FIRST_TWO: u32 = 4;

/// See the module's head.
#[derive(Debug)]
pub struct MatchModel {
    log: Log,
    contexts: Contexts,
    streams: IdMap<StreamId, Stream>,
    groups: IdMap<GroupId, Group>,
    /// The number of the next run.
    runs: u32,
    courses: u64,
    /// Files known: numbers below this appear in the log.
    files: u32,
    /// Kept to avoid allocating on every access.
    passed: Vec<Item>,
}

/// One process.
#[derive(Clone, Copy, Debug)]
struct Stream {
    group: GroupId,
    program: ProgramId,
    /// Its last three files and those of its parent before, newest first.
    recent: [u32; 3],
    /// Its own last file.
    last: u32,
    /// Files used since the program started, up to 2, and the first of them.
    life: u8,
    first: u32,
    /// The last look-up it left in the log.
    lookup: Option<u64>,
}

/// One job.
#[derive(Debug)]
struct Group {
    run: u32,
    /// Its last entry in the log.
    tail: Option<u64>,
    recent: [u32; 3],
    follower: Option<Follower>,
}

/// The keys of an access, best first.
type Keys = [Option<(u32, Trust)>; 3];

impl Default for MatchModel {
    fn default() -> Self {
        MatchModel::new(LOG_ENTRIES)
    }
}

impl MatchModel {
    /// A model that remembers the last `entries` accesses.
    pub fn new(entries: usize) -> Self {
        let log = Log::new(entries);
        MatchModel {
            contexts: Contexts::new(log.capacity()),
            log,
            streams: IdMap::default(),
            groups: IdMap::default(),
            runs: 0,
            courses: 0,
            files: 0,
            passed: Vec::new(),
        }
    }

    fn group(&mut self, group: GroupId) -> &mut Group {
        let runs = &mut self.runs;
        self.groups.entry(group).or_insert_with(|| {
            *runs = runs.wrapping_add(1);
            Group { run: *runs, tail: None, recent: [NOTHING; 3], follower: None }
        })
    }

    /// A look-up: written down, and otherwise only noticed.
    fn look_up(&mut self, access: Access) -> Course {
        let Some(stream) = self.streams.get_mut(&access.stream) else { return Course::NONE };
        let Some(group) = self.groups.get_mut(&stream.group) else { return Course::NONE };
        let repeated = group.tail.and_then(|tail| self.log.get(tail));
        if stream.last != access.file.0 && repeated.is_none_or(|entry| entry.item.file() != access.file) {
            self.files = self.files.max(access.file.0 + 1);
            let at = self.log.push(Item::new(access.file, access.kind), group.run, group.tail);
            group.tail = Some(at);
            stream.lookup = Some(at);
        }
        if let Some(follower) = &mut group.follower {
            follower.note(access.file);
        }
        course_of(group)
    }

    /// An open or a listing by a stream that did not just do the same.
    fn use_file(&mut self, mut stream: Stream, access: Access) -> Course {
        let keys = stream.step(access.file);
        let expected = self.follow(stream.group, access.file);
        if expected {
            self.strengthen(stream.group, &keys);
        } else {
            self.find(stream.group, access.file, &keys);
        }
        let at = self.record(&mut stream, Item::new(access.file, access.kind));
        keys.iter().flatten().for_each(|&(key, _)| self.contexts.set(key, at));
        self.streams.insert(access.stream, stream);
        self.groups.get(&stream.group).map_or(Course::NONE, course_of)
    }

    /// Moves the group's follower. Says whether all is well with it.
    fn follow(&mut self, group: GroupId, file: FileId) -> bool {
        let Some(group) = self.groups.get_mut(&group) else { return false };
        let Some(follower) = &mut group.follower else { return false };
        self.passed.clear();
        let expected = follower.advance(&self.log, file, &mut self.passed);
        if follower.proven() {
            for &item in &self.passed {
                group.tail = Some(self.log.push(item, group.run, group.tail));
            }
        }
        if follower.lost() || follower.finished() {
            group.follower = None;
            return false;
        }
        expected
    }

    /// A long context that stood where the group's follower is turns doubt into trust.
    fn strengthen(&mut self, group: GroupId, keys: &Keys) {
        let Some(group) = self.groups.get_mut(&group) else { return };
        let Some(follower) = group.follower.as_mut().filter(|follower| !follower.trusted()) else { return };
        let Some((key, Trust::Good)) = keys[0] else { return };
        let stood = self.contexts.get(key, self.log.end());
        if follower.run != group.run && stood.is_some_and(|position| follower.covers(position)) {
            follower.trust();
        }
    }

    /// Looks for a place where one of the contexts stood, and starts to follow there.
    fn find(&mut self, group: GroupId, file: FileId, keys: &Keys) {
        for &(key, trust) in keys.iter().flatten() {
            let Some(position) = self.contexts.get(key, self.log.end()) else { continue };
            let Some(entry) = self.log.get(position).filter(|entry| entry.item.file() == file) else {
                continue;
            };
            let own = self.groups.get(&group).is_some_and(|group| group.run == entry.run);
            let trust = if own { Trust::Doubtful } else { trust };
            if self.may_take_over(group, position, entry.run, trust) {
                let course = Course(self.courses + 1);
                let Some(follower) = Follower::start(&self.log, position, course, trust) else { continue };
                self.courses += 1;
                self.group(group).follower = Some(follower);
                return;
            }
        }
    }

    /// Is a match at `position` better than what the group follows now?
    fn may_take_over(&self, group: GroupId, position: u64, run: u32, trust: Trust) -> bool {
        let Some(group) = self.groups.get(&group) else { return true };
        let Some(follower) = &group.follower else { return true };
        if follower.covers(position) {
            return false;
        }
        let following_itself = follower.run == group.run;
        if run == group.run {
            following_itself && follower.yields()
        } else {
            following_itself || (trust == Trust::Good && follower.yields())
        }
    }

    fn record(&mut self, stream: &mut Stream, item: Item) -> u64 {
        self.files = self.files.max(item.file().0 + 1);
        let looked_up = stream.lookup.take();
        if let Some(at) = looked_up.filter(|&at| self.log.upgrade(at, item)) {
            return at;
        }
        let recent = stream.recent;
        let (run, tail) = {
            let group = self.group(stream.group);
            group.recent = recent;
            (group.run, group.tail)
        };
        let at = self.log.push(item, run, tail);
        self.group(stream.group).tail = Some(at);
        at
    }
}

impl Stream {
    /// Takes in a file; returns the keys of where the stream stands now.
    fn step(&mut self, file: FileId) -> Keys {
        self.recent = [file.0, self.recent[0], self.recent[1]];
        self.last = file.0;
        let [new, middle, old] = self.recent;
        let start = match self.life {
            0 => Some((key(FIRST, [self.program.0, new, 0, 0]), Trust::Good)),
            1 => Some((key(FIRST_TWO, [self.program.0, self.first, new, 0]), Trust::Good)),
            _ => None,
        };
        if self.life == 0 {
            self.first = new;
        }
        self.life = (self.life + 1).min(2);
        [
            (old != NOTHING).then(|| (key(LAST_THREE, [self.program.0, old, middle, new]), Trust::Good)),
            start,
            // Whatever the program: a tree is often walked in the same order by another one.
            (middle != NOTHING).then(|| (key(LAST_TWO, [middle, new, 0, 0]), Trust::Doubtful)),
        ]
    }
}

fn course_of(group: &Group) -> Course {
    group.follower.as_ref().map_or(Course::NONE, |follower| follower.course)
}

impl Predictor for MatchModel {
    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Match
    }

    fn begin(&mut self, stream: StreamId, origin: &Origin) {
        let inherited =
            origin.parent.and_then(|parent| self.streams.get(&parent)).map(|parent| parent.recent);
        let of_group = self.group(origin.group).recent;
        let (group, program) = (origin.group, origin.program);
        let recent = inherited.unwrap_or(of_group);
        let new = Stream { group, program, recent, last: NOTHING, life: 0, first: NOTHING, lookup: None };
        self.streams.insert(stream, new);
    }

    fn exec(&mut self, stream: StreamId, program: ProgramId) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            (stream.program, stream.life) = (program, 0);
        }
    }

    fn end(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    fn end_group(&mut self, group: GroupId) {
        self.groups.remove(&group);
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind == Kind::Lookup {
            return self.look_up(access);
        }
        match self.streams.get(&access.stream) {
            Some(&stream) if stream.last != access.file.0 => self.use_file(stream, access),
            Some(stream) => self.groups.get(&stream.group).map_or(Course::NONE, course_of),
            None => Course::NONE,
        }
    }

    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        if let Some(follower) = self.groups.get_mut(&group).and_then(|group| group.follower.as_mut()) {
            follower.predict(&self.log, room, out);
        }
    }

    fn next(&self, stream: StreamId) -> Option<Prediction> {
        let group = self.streams.get(&stream)?.group;
        self.groups.get(&group)?.follower.as_ref()?.next()
    }

    fn rewind(&mut self, group: GroupId) {
        if let Some(follower) = self.groups.get_mut(&group).and_then(|group| group.follower.as_mut()) {
            follower.rewind();
        }
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.log.forget(gone);
    }

    fn footprint(&self) -> Footprint {
        let followers = self.groups.values().filter(|group| group.follower.is_some()).count();
        Footprint {
            files: u64::from(self.files),
            nodes: self.log.end() - self.log.start(),
            bytes: (self.log.bytes() + self.contexts.bytes()) as u64,
            followers: followers as u64,
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        format::save(&self.log, &self.contexts, out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        let loaded = format::load(bytes, files, self.log.capacity())?;
        (self.log, self.contexts, self.runs) = (loaded.log, loaded.contexts, loaded.runs);
        self.files = loaded.files;
        // Positions of before mean nothing now; groups that live on start new runs.
        self.groups.clear();
        for stream in self.streams.values_mut() {
            stream.lookup = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
