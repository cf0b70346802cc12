//! What a user gets: several experts asked at once, each believed as far as it was right lately.
//!
//! The horizon is the match model's: it walks along the last run that began like this one, as far ahead
//! as anybody wants. The very next file is put to the vote among that run, what followed the process's last
//! two files under its program, what followed its last one, what processes of this program begin with, and
//! the most popular file. An expert's word counts by its measured success, kept for each program and for how
//! firm the expert was.
//!
//! What must stay true: only opens and listings of streams that have begun count; a vote costs the same
//! whatever is known; when too little speaks for anything, nothing is expected; whatever is known of files
//! follows from the runs, so that nothing is in a model that its history does not say.

use super::{
    Access, Course, Footprint, Kind, LoadError, MatchModel, Prediction, Predictor, PredictorChoice, Scans,
    Sightings,
};
use crate::event::Origin;
use crate::id::{FileId, GroupId, IdMap, ProgramId, StreamId};

mod context;
mod favourite;
mod format;
mod habits;
mod panel;
mod relearn;

use context::{Context, Elders, NOTHING};
use favourite::Favourite;
pub(super) use format::{runs_of, with_runs};
use habits::Habits;
use panel::{Expert, Panel, Vote, Votes};

/// What the panel and the smallest tables take, in bytes, however little they hold.
const FIXED: u64 = 32 << 10;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Mixture {
    runs: MatchModel,
    habits: Habits,
    favourite: Favourite,
    panel: Panel,
    streams: IdMap<StreamId, Stream>,
    groups: IdMap<GroupId, Group>,
}

/// What a group's processes have in common.
#[derive(Clone, Debug)]
struct Group {
    elders: Elders,
    /// Its last two files, newest first: the past of a process that nobody is known to have started.
    recent: [u32; 2],
}

impl Default for Group {
    fn default() -> Self {
        Group { elders: Elders::default(), recent: [NOTHING; 2] }
    }
}

/// Where a stream stands.
#[derive(Clone, Copy, Debug)]
struct Stream {
    group: GroupId,
    context: Context,
}

impl Group {
    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.elders.forget(gone);
        self.recent.iter_mut().filter(|file| gone(FileId(**file))).for_each(|file| *file = NOTHING);
    }
}

impl Mixture {
    fn place(&self, stream: StreamId) -> Option<Stream> {
        let mut stream = *self.streams.get(&stream)?;
        let group = self.groups.get(&stream.group).filter(|_| stream.context.begins);
        stream.context.elder = group.map_or(NOTHING, |group| group.elders.of(stream.context.program));
        Some(stream)
    }

    fn votes(&self, id: StreamId, context: &Context) -> Votes {
        let mut votes = Votes::default();
        if let Some(next) = self.runs.next(id) {
            votes.push(Vote::new(Expert::Run, next.file, panel::level(next.likelihood)));
        }
        for (expert, key) in context.keys() {
            let Some(habit) = self.habits.get(key) else { continue };
            votes.push(Vote::new(expert, habit.usual(), habit.firmness()));
            if habit.latest() != habit.usual() {
                votes.push(Vote::new(expert.latest(), habit.latest(), habit.firmness()));
            }
        }
        if let Some((file, share)) = self.favourite.best() {
            votes.push(Vote::new(Expert::Favourite, file, share));
        }
        votes
    }

    fn learn(&mut self, access: Access) {
        let Some(mut stream) = self.place(access.stream) else { return };
        let Context { begins, recent, program, .. } = stream.context;
        if recent[0] == access.file.0 && !begins {
            // Once more the same says nothing of what follows it.
            return;
        }
        if access.kind == Kind::Open {
            let votes = self.votes(access.stream, &stream.context);
            self.panel.judge(program, &votes, access.file);
            stream.context.keys().for_each(|(_, key)| self.habits.learn(key, access.file));
            self.favourite.count(access.file);
        }
        stream.context.step(access.file);
        let group = self.groups.entry(stream.group).or_default();
        group.recent = stream.context.recent;
        if begins {
            group.elders.begins(program, access.file);
        }
        self.streams.insert(access.stream, stream);
    }
}

impl Predictor for Mixture {
    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Default
    }

    fn begin(&mut self, stream: StreamId, origin: &Origin) {
        self.runs.begin(stream, origin);
        let parent = origin.parent.and_then(|parent| self.streams.get(&parent));
        let of_group = self.groups.get(&origin.group).map_or([NOTHING; 2], |group| group.recent);
        let recent = parent.map_or(of_group, |parent| parent.context.recent);
        let context = Context { program: origin.program, begins: true, recent, elder: NOTHING };
        self.streams.insert(stream, Stream { group: origin.group, context });
    }

    fn exec(&mut self, stream: StreamId, program: ProgramId) {
        self.runs.exec(stream, program);
        if let Some(stream) = self.streams.get_mut(&stream) {
            (stream.context.program, stream.context.begins) = (program, true);
        }
    }

    fn end(&mut self, stream: StreamId) {
        self.runs.end(stream);
        self.streams.remove(&stream);
    }

    fn end_group(&mut self, group: GroupId) {
        self.runs.end_group(group);
        self.groups.remove(&group);
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind != Kind::Lookup {
            self.learn(access);
        }
        self.runs.observe(access)
    }

    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        self.runs.predict(group, room, out);
    }

    fn next(&self, stream: StreamId) -> Option<Prediction> {
        let Stream { context, .. } = self.place(stream)?;
        let (file, likelihood) = self.panel.decide(context.program, &self.votes(stream, &context))?;
        Some(Prediction { file, kind: Kind::Open, likelihood, distance: 1 })
    }

    fn rewind(&mut self, group: GroupId) {
        self.runs.rewind(group);
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.runs.forget(gone);
        self.habits.forget(gone);
        self.favourite.forget(gone);
        self.streams.values_mut().for_each(|stream| stream.context.forget(gone));
        self.groups.values_mut().for_each(|group| group.forget(gone));
    }

    fn forget_program(&mut self, program: ProgramId) -> bool {
        let forgotten = self.runs.forget_program(program);
        self.relearn();
        forgotten
    }

    fn limit(&mut self, bytes: u64) {
        // What the runs leave of their part is more than this.
        self.habits.limit(usize::try_from(bytes / 32).unwrap_or(usize::MAX));
        // Of each byte of memory the runs take a little more than a quarter.
        // They leave room for their own smallest tables themselves.
        self.runs.limit(bytes.saturating_sub(3 * FIXED));
    }

    fn shrink(&mut self) -> bool {
        self.runs.shrink()
    }

    fn mentioned(&self, marks: &mut [bool]) -> bool {
        // What only a habit mentions is forgotten with its name.
        self.runs.mentioned(marks)
    }

    fn used_by(&self, program: ProgramId, marks: &mut [bool]) -> bool {
        self.runs.used_by(program, marks)
    }

    fn scans(&self) -> Scans {
        self.runs.scans()
    }

    fn sightings(&self, file: FileId) -> Option<Sightings> {
        self.runs.sightings(file)
    }

    fn expected(&self, file: FileId) -> Vec<(GroupId, Prediction)> {
        self.runs.expected(file)
    }

    fn footprint(&self) -> Footprint {
        let runs = self.runs.footprint();
        let bytes = runs.bytes + (self.habits.bytes() + self.favourite.bytes() + self.panel.bytes()) as u64;
        Footprint { bytes, ..runs }
    }

    fn save(&self, out: &mut Vec<u8>) {
        format::save(self, out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        format::load(self, bytes, files)?;
        self.groups.clear();
        for stream in self.streams.values_mut() {
            stream.context.recent = [NOTHING; 2];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
