//! The most popular files, whoever asks: the baseline that a predictor has to beat to be worth its name.
//!
//! What must stay true: a group is given each file once, until it asks for all of them again or the file
//! has been off the list.

use super::{Access, Course, Footprint, Kind, LoadError, Prediction, Predictor, PredictorChoice};
use crate::codec::Reader;
use crate::event::Origin;
use crate::id::{FileId, GroupId, IdMap, ProgramId, StreamId};

mod ranking;

use ranking::Ranking;

/// Whatever happens, the same is expected.
const ONLY_COURSE: Course = Course(1);

/// The parameters of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PopularParameters {
    /// How many files are predicted.
    pub files: u32,
}

impl Default for PopularParameters {
    /// A little more than one step of a job opens in common with others: headers and libraries.
    fn default() -> Self {
        PopularParameters { files: 64 }
    }
}

/// See the module's head. Eight bytes a file.
#[derive(Debug)]
pub(super) struct Popular {
    parameters: PopularParameters,
    ranking: Ranking,
    streams: IdMap<StreamId, GroupId>,
    groups: IdMap<GroupId, Given>,
}

/// What a group was given.
#[derive(Debug, Default)]
struct Given {
    /// Those that are on the list still, in order of their numbers.
    files: Vec<FileId>,
    /// [`Ranking::changes`] when that was the whole list.
    all_of: Option<u64>,
}

impl Popular {
    /// Nothing is popular yet.
    pub(super) fn new(parameters: PopularParameters) -> Self {
        Popular {
            parameters,
            ranking: Ranking::new(parameters.files as usize),
            streams: IdMap::default(),
            groups: IdMap::default(),
        }
    }
}

/// A file's place on the list stands for the distance, of which nothing is known.
fn prediction(ranking: &Ranking, place: usize) -> Option<Prediction> {
    let &file = ranking.list().get(place)?;
    let likelihood = ranking.likelihood(file);
    Some(Prediction { file, kind: Kind::Open, likelihood, distance: place as u32 + 1 })
}

impl Given {
    /// Gives at most `room` of what was not given.
    fn give(&mut self, ranking: &Ranking, room: usize, out: &mut Vec<Prediction>) {
        let start = out.len();
        let new = |file: &FileId| self.files.binary_search(file).is_err();
        let places = (0..ranking.list().len()).filter(|&place| new(&ranking.list()[place]));
        let mut places = places.map_while(|place| prediction(ranking, place)).peekable();
        out.extend(places.by_ref().take(room));
        let all = places.peek().is_none();
        self.files.extend(out[start..].iter().map(|prediction| prediction.file));
        let mut listed = ranking.list().to_vec();
        listed.sort_unstable();
        self.files.retain(|file| listed.binary_search(file).is_ok());
        self.files.sort_unstable();
        self.all_of = all.then(|| ranking.changes());
    }
}

impl Predictor for Popular {
    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Popular(self.parameters)
    }

    fn begin(&mut self, stream: StreamId, origin: &Origin) {
        self.streams.insert(stream, origin.group);
    }

    fn exec(&mut self, _: StreamId, _: ProgramId) {}

    fn end(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    fn end_group(&mut self, group: GroupId) {
        self.groups.remove(&group);
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind == Kind::Open
            && let Some(&group) = self.streams.get(&access.stream)
        {
            self.ranking.open(access.file);
            self.groups.entry(group).or_default();
        }
        ONLY_COURSE
    }

    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        let changes = self.ranking.changes();
        let waiting = self.groups.get_mut(&group).filter(|given| given.all_of != Some(changes));
        if let Some(given) = waiting {
            given.give(&self.ranking, room, out);
        }
    }

    fn next(&self, stream: StreamId) -> Option<Prediction> {
        self.streams.get(&stream).and_then(|_| prediction(&self.ranking, 0))
    }

    fn rewind(&mut self, group: GroupId) {
        if let Some(given) = self.groups.get_mut(&group) {
            *given = Given::default();
        }
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.ranking.forget(gone);
    }

    fn bytes_a_file(&self) -> usize {
        self.ranking.bytes_a_file()
    }

    fn shrink(&mut self) -> bool {
        let gone = self.ranking.least();
        self.forget(&|file| gone.binary_search(&file).is_ok());
        !gone.is_empty()
    }

    fn mentioned(&self, marks: &mut [bool]) -> bool {
        self.ranking.mark(marks);
        true
    }

    fn footprint(&self) -> Footprint {
        let (files, bytes) = self.ranking.held();
        Footprint { files: files as u64, nodes: files as u64, bytes: bytes as u64, followers: 0 }
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.ranking.save(out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        let mut reader = Reader::new(bytes);
        let loaded = Ranking::load(&mut reader, self.parameters.files as usize, files)?;
        reader.finish("the end of the counts")?;
        self.ranking = loaded;
        self.groups.values_mut().for_each(|given| *given = Given::default());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
