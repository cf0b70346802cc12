//! The predictors of one make: one knowledge that all streams share, and a place in it for each.
//!
//! What must stay true: only opens count, only of streams that have begun; the stream that acted last
//! speaks for its group.

use super::places::Places;
use super::uses::Uses;
use super::{Access, Course, Footprint, Kind, LoadError, Prediction, Predictor, PredictorChoice};
use crate::codec::{CodecError, Reader};
use crate::event::Origin;
use crate::id::{FileId, GroupId, ProgramId, StreamId};

/// What such a predictor has learned.
pub(super) trait Knowledge: Send {
    /// What it has to remember of a stream.
    type Place: Clone + Default + Send;

    /// Which predictor this is, with its parameters.
    fn choice(&self) -> PredictorChoice;

    /// A stream opens a file: learns from that, and moves its place.
    fn learn(&mut self, place: &mut Self::Place, file: FileId);

    /// Appends everything expected at a place, in the order in which it is expected.
    fn expected(&self, place: &Self::Place, out: &mut Vec<Prediction>);

    /// The likeliest file to be opened next at a place.
    fn next(&self, place: &Self::Place) -> Option<Prediction> {
        let mut expected = Vec::new();
        self.expected(place, &mut expected);
        expected.into_iter().next()
    }

    /// Forgets that these files were ever opened.
    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool);

    /// The same for a place, when that has not followed from [`Knowledge::forget`].
    fn forget_in(_: &mut Self::Place, _: &dyn Fn(FileId) -> bool) {}

    /// What it holds.
    fn footprint(&self) -> Footprint;

    /// Bytes kept for each file that has a number; nothing else grows.
    fn bytes_a_file(&self) -> usize {
        0
    }

    /// Does what grows otherwise take more than `bytes`? Must not take long.
    fn exceeds(&self, _bytes: u64) -> bool {
        false
    }

    /// Appends everything that was learned.
    fn save(&self, out: &mut Vec<u8>);

    /// What [`Knowledge::save`] of the same choice wrote, with files numbered below `files`.
    fn load(&self, reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError>
    where
        Self: Sized;
}

/// These look a short way ahead: what was wrong is soon over by itself, so there is never a course to be
/// lost.
const ONLY_COURSE: Course = Course(1);

/// What names and tables by file leave of the memory for everything learned.
const PERCENT: u64 = 34;

/// See the module's head.
#[derive(Debug)]
pub(super) struct PerStream<K: Knowledge> {
    knowledge: K,
    places: Places<K::Place>,
    uses: Uses,
    /// Bytes that may be held, but for [`Knowledge::bytes_a_file`].
    limit: u64,
}

impl<K: Knowledge> PerStream<K> {
    /// With what is known to begin with.
    pub(super) fn new(knowledge: K) -> Self {
        PerStream { knowledge, places: Places::default(), uses: Uses::default(), limit: u64::MAX }
    }

    /// What was learned.
    #[cfg(test)]
    pub(super) fn knowledge(&self) -> &K {
        &self.knowledge
    }

    /// Where the streams stand.
    #[cfg(test)]
    pub(super) fn places(&self) -> &Places<K::Place> {
        &self.places
    }
}

impl<K: Knowledge> Predictor for PerStream<K> {
    fn choice(&self) -> PredictorChoice {
        self.knowledge.choice()
    }

    fn begin(&mut self, stream: StreamId, origin: &Origin) {
        self.places.begin(stream, origin);
    }

    fn exec(&mut self, _: StreamId, _: ProgramId) {}

    fn end(&mut self, stream: StreamId) {
        self.places.end(stream);
    }

    fn end_group(&mut self, group: GroupId) {
        self.places.end_group(group);
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind == Kind::Open
            && let Some(place) = self.places.step(access.stream)
        {
            self.knowledge.learn(place, access.file);
            self.uses.note(access.file);
            if self.knowledge.exceeds(self.limit) {
                self.shrink();
            }
        }
        ONLY_COURSE
    }

    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        let knowledge = &self.knowledge;
        self.places.pull(group, room, out, |place, out| knowledge.expected(place, out));
    }

    fn next(&self, stream: StreamId) -> Option<Prediction> {
        self.knowledge.next(self.places.get(stream)?)
    }

    fn rewind(&mut self, group: GroupId) {
        self.places.rewind(group);
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.uses.forget(gone);
        self.knowledge.forget(gone);
        self.places.each().for_each(|place| K::forget_in(place, gone));
    }

    fn limit(&mut self, bytes: u64) {
        self.limit = bytes / 100 * PERCENT;
    }

    fn bytes_a_file(&self) -> usize {
        self.knowledge.bytes_a_file() + 1
    }

    fn shrink(&mut self) -> bool {
        let gone = self.uses.give_up();
        let is_gone = |file: FileId| gone.binary_search(&file).is_ok();
        self.knowledge.forget(&is_gone);
        self.places.each().for_each(|place| K::forget_in(place, &is_gone));
        !gone.is_empty()
    }

    fn mentioned(&self, marks: &mut [bool]) -> bool {
        self.uses.mark(marks);
        true
    }

    fn footprint(&self) -> Footprint {
        self.uses.footprint(self.knowledge.footprint())
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.knowledge.save(out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        let mut reader = Reader::new(bytes);
        let loaded = self.knowledge.load(&mut reader, files)?;
        reader.finish("the end of what was learned")?;
        self.knowledge = loaded;
        self.uses = Uses::of_all(files);
        // Places in what was known before mean nothing now.
        self.places.each().for_each(|place| *place = K::Place::default());
        Ok(())
    }
}
