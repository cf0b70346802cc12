//! The match model: the last run in which the same files stood tells what comes next, to its end.
//!
//! The history is one log, threaded into runs (a run is what one group did). A table says where each
//! short context stood last: a stream's last files, or the first files of a program's life. An access
//! whose context is known starts a `Follower` for the whole group; from there on the group
//! walks along the old run, and every process in it moves the same follower. Kin to the match models
//! of data compression: one pass is enough, and the horizon is the rest of the run.
//!
//! What must stay true: contexts are made from the log and from nothing else; look-ups are payload, never context, because a warm kernel hides them; what a
//! warm run hid is carried over from the run it repeated.

use super::{Access, Course, Footprint, Kind, LoadError, Prediction, Predictor, PredictorChoice, Sightings};
use crate::event::Origin;
use crate::id::{FileId, GroupId, IdMap, ProgramId, StreamId};

mod account;
mod collect;
mod contexts;
mod entry;
mod follow;
mod follower;
mod format;
mod history;
mod keys;
mod log;
mod record;
mod scans;
mod seen;

use contexts::Contexts;
use entry::{By, Item};
use follower::Follower;
pub use history::{History, PastAccess};
use keys::NOTHING;
use log::{Log, payload};
use scans::ScanWatch;
pub use scans::Scans;
use seen::Seen;

/// Entries of the history: a few hundred builds of a middling project, or one of a giant.
const LOG_ENTRIES: usize = 1 << 20;
/// Of all memory for what is learned, the history has one entry for so many bytes: twenty for itself, sixteen
/// for its contexts, and the rest for the name of the file, where it is and when it was used last.
const BYTES_PER_ENTRY: u64 = 128;
/// The smallest history: less would not hold one job.
const ENTRIES_MIN: u64 = 1 << 12;
/// What tables take beside that, in bytes, however little they hold: they grow by a thousand elements at least
/// (`id::dense`), of twenty bytes in the log and of four in [`Seen`], and start with 8 KiB of contexts.
const FIXED: u64 = 32 << 10;

/// See the module's head.
#[derive(Debug)]
pub struct MatchModel {
    log: Log,
    contexts: Contexts,
    seen: Seen,
    streams: IdMap<StreamId, Stream>,
    groups: IdMap<GroupId, Group>,
    /// The number of the next run.
    runs: u32,
    courses: u64,
    /// Entries that later runs repeated.
    spares: usize,
    /// Files known: numbers below this appear in the log.
    files: u32,
    scans: Scans,
    /// Kept to avoid allocating on every access.
    passed: Vec<Item>,
}

/// One process.
#[derive(Clone, Copy, Debug)]
struct Stream {
    group: GroupId,
    program: ProgramId,
    /// Its last three files and those of its parent before, newest first; and where the newest is written down.
    recent: [u32; 3],
    at: Option<u64>,
    /// Its own last file.
    last: u32,
    /// Files used since the program started, up to 2.
    life: u8,
    /// The last look-up it left in the log.
    lookup: Option<u64>,
}

/// One job.
#[derive(Debug)]
struct Group {
    run: u32,
    /// Its last entry in the log, and how many it has.
    tail: Option<u64>,
    entries: usize,
    recent: [u32; 3],
    at: Option<u64>,
    follower: Option<Follower>,
    /// Where the parts of older runs begin that it has repeated to their ends.
    repeated: Vec<u64>,
    watch: ScanWatch,
}

impl Default for MatchModel {
    fn default() -> Self {
        MatchModel::new(LOG_ENTRIES)
    }
}

impl MatchModel {
    /// A model that remembers at most `entries` accesses.
    pub fn new(entries: usize) -> Self {
        let log = Log::new(entries);
        MatchModel {
            contexts: Contexts::new(log.capacity()),
            log,
            seen: Seen::default(),
            streams: IdMap::default(),
            groups: IdMap::default(),
            runs: 0,
            courses: 0,
            spares: 0,
            files: 0,
            scans: Scans::default(),
            passed: Vec::new(),
        }
    }

    fn group(&mut self, group: GroupId) -> &mut Group {
        let runs = &mut self.runs;
        self.groups.entry(group).or_insert_with(|| {
            *runs = runs.wrapping_add(1);
            Group::new(*runs)
        })
    }

    /// A look-up: written down, and otherwise only noticed.
    fn look_up(&mut self, access: Access) -> Course {
        let Some(&stream) = self.streams.get(&access.stream) else { return Course::NONE };
        let Some(group) = self.groups.get(&stream.group) else { return Course::NONE };
        let repeated = group.tail.and_then(|tail| self.log.get(tail));
        if stream.last != access.file.0 && repeated.is_none_or(|entry| entry.item.file() != access.file) {
            self.watch(stream.group, access.file);
            let at =
                self.write(stream.group, Item::new(access.file, access.kind), payload(stream.program), None);
            if let Some(stream) = self.streams.get_mut(&access.stream) {
                stream.lookup = at;
            }
        }
        let Some(group) = self.groups.get_mut(&stream.group) else { return Course::NONE };
        if let Some(follower) = &mut group.follower {
            follower.note(access.file);
        }
        course_of(group)
    }

    /// An open or a listing by a stream that did not just do the same.
    fn use_file(&mut self, access: Access, group: GroupId) -> Course {
        self.watch(group, access.file);
        // Only now: making room moves what streams hold on to.
        let Some(&(mut stream)) = self.streams.get(&access.stream) else { return Course::NONE };
        let scan = self.is_scan(stream.group);
        let (life, keys) = stream.step(access.file);
        let expected = self.follow(stream.group, stream.program, access.file);
        if expected {
            self.strengthen(stream.group, &keys);
        } else {
            self.find(stream.group, access.file, &keys);
        }
        let item = Item::new(access.file, access.kind);
        let by = By::new(stream.program, life);
        let at = self.record(&mut stream, item, by);
        for &(key, _) in keys::without_scan(keys, scan).iter().flatten() {
            at.into_iter().for_each(|at| self.stand(key, at, scan));
        }
        self.streams.insert(access.stream, stream);
        self.groups.get(&stream.group).map_or(Course::NONE, course_of)
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
        let inherited = origin
            .parent
            .and_then(|parent| self.streams.get(&parent))
            .map(|parent| (parent.recent, parent.at));
        let known = self.group(origin.group);
        let (recent, at) = inherited.unwrap_or((known.recent, known.at));
        let (group, program) = (origin.group, origin.program);
        self.streams
            .insert(stream, Stream { group, program, recent, at, last: NOTHING, life: 0, lookup: None });
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
        if let Some(group) = self.groups.remove(&group) {
            self.spare(&group);
        }
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind == Kind::Lookup {
            return self.look_up(access);
        }
        match self.streams.get(&access.stream) {
            Some(stream) if stream.last != access.file.0 => self.use_file(access, stream.group),
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
        self.seen.forget(gone);
    }

    fn forget_program(&mut self, program: ProgramId) -> bool {
        self.log.forget_program(program);
        self.rebuild();
        true
    }

    fn limit(&mut self, bytes: u64) {
        let entries = (bytes.saturating_sub(FIXED) / BYTES_PER_ENTRY).max(ENTRIES_MIN);
        if self.log.capacity() as u64 == entries {
            return;
        }
        self.log.limit(entries as usize);
        if self.log.full() {
            self.make_room();
        } else {
            self.rebuild();
        }
    }

    fn shrink(&mut self) -> bool {
        let all = self.log.end() as usize;
        self.collect(all - all / 4, all - all / 4);
        (self.log.end() as usize) < all
    }

    fn mentioned(&self, marks: &mut [bool]) -> bool {
        for entry in self.log.entries().iter().filter(|entry| !entry.item.forgotten()) {
            if let Some(mark) = marks.get_mut(entry.item.file().index()) {
                *mark = true;
            }
        }
        true
    }

    fn scans(&self) -> Scans {
        let running = self.groups.values().filter(|group| group.watch.is_scan()).count() as u64;
        Scans { running, ..self.scans }
    }

    fn used_by(&self, program: ProgramId, marks: &mut [bool]) -> bool {
        self.mark_used_by(program, marks);
        true
    }

    fn sightings(&self, file: FileId) -> Option<Sightings> {
        Some(self.account(file))
    }

    fn expected(&self, file: FileId) -> Vec<(GroupId, Prediction)> {
        self.ahead_of(file)
    }

    fn footprint(&self) -> Footprint {
        let followers = self.groups.values().filter(|group| group.follower.is_some()).count();
        Footprint {
            files: u64::from(self.files),
            nodes: self.log.end(),
            bytes: (self.log.bytes() + self.contexts.bytes() + self.seen.bytes()) as u64,
            followers: followers as u64,
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        format::save(&self.log, out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        let loaded = format::load(bytes, files)?;
        // Positions of before mean nothing now; groups that live on start new runs.
        self.groups.clear();
        for stream in self.streams.values_mut() {
            (stream.lookup, stream.at) = (None, None);
        }
        self.take_up(loaded);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
