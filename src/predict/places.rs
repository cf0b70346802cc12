//! Where each stream stands, and which stream speaks for its group.
//!
//! What must stay true: a new stream starts where its parent stands; what has ended leaves nothing
//! behind; nothing is given twice for the same step, unless it was asked back.

use super::Prediction;
use crate::event::Origin;
use crate::id::{GroupId, IdMap, StreamId};

/// See the module's head. `P` is what a predictor has to remember of a stream, its past above all.
#[derive(Debug)]
pub(super) struct Places<P> {
    streams: IdMap<StreamId, Stream<P>>,
    /// Who took the last step in the group.
    latest: IdMap<GroupId, Latest>,
}

#[derive(Debug)]
struct Stream<P> {
    group: GroupId,
    place: P,
}

#[derive(Clone, Copy, Debug)]
struct Latest {
    stream: StreamId,
    /// Predictions given since that step.
    given: usize,
    /// That was all of them.
    done: bool,
}

impl<P> Default for Places<P> {
    fn default() -> Self {
        Places { streams: IdMap::default(), latest: IdMap::default() }
    }
}

impl<P: Clone + Default> Places<P> {
    /// A stream starts where its parent stands, or goes on in another group when it is its own parent.
    pub(super) fn begin(&mut self, stream: StreamId, origin: &Origin) {
        let place = origin.parent.and_then(|parent| self.get(parent)).cloned().unwrap_or_default();
        self.end(stream);
        self.streams.insert(stream, Stream { group: origin.group, place });
    }

    /// The stream is over, and speaks for nobody any more.
    pub(super) fn end(&mut self, stream: StreamId) {
        let Some(Stream { group, .. }) = self.streams.remove(&stream) else { return };
        if self.latest.get(&group).is_some_and(|latest| latest.stream == stream) {
            self.latest.remove(&group);
        }
    }

    /// The group is over.
    pub(super) fn end_group(&mut self, group: GroupId) {
        self.latest.remove(&group);
    }

    /// The stream takes a step, and speaks for its group from now on. `None` if it never began.
    pub(super) fn step(&mut self, stream: StreamId) -> Option<&mut P> {
        let Stream { group, place } = self.streams.get_mut(&stream)?;
        self.latest.insert(*group, Latest { stream, given: 0, done: false });
        Some(place)
    }

    /// Where the stream stands.
    pub(super) fn get(&self, stream: StreamId) -> Option<&P> {
        self.streams.get(&stream).map(|stream| &stream.place)
    }

    /// Appends at most `room` of what `expected` appends for the place of the group's speaker, without
    /// what was given since its last step.
    pub(super) fn pull(
        &mut self,
        group: GroupId,
        room: usize,
        out: &mut Vec<Prediction>,
        expected: impl FnOnce(&P, &mut Vec<Prediction>),
    ) {
        let Some(latest) = self.latest.get_mut(&group).filter(|latest| !latest.done) else { return };
        let Some(Stream { place, .. }) = self.streams.get(&latest.stream) else { return };
        let start = out.len();
        expected(place, out);
        out.drain(start..(start + latest.given).min(out.len()));
        latest.done = out.len() - start <= room;
        out.truncate(start.saturating_add(room));
        latest.given += out.len() - start;
    }

    /// What was given since the last step may be given again.
    pub(super) fn rewind(&mut self, group: GroupId) {
        if let Some(latest) = self.latest.get_mut(&group) {
            (latest.given, latest.done) = (0, false);
        }
    }

    /// The place of every stream, in no order.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut P> {
        self.streams.values_mut().map(|stream| &mut stream.place)
    }

    /// Does it hold nothing?
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.latest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;
    use crate::id::{FileId, ProgramId, SessionId};

    const GROUP: GroupId = GroupId(7);

    fn origin(parent: Option<u32>) -> Origin {
        Origin { parent: parent.map(StreamId), program: ProgramId(0), group: GROUP, session: SessionId(0) }
    }

    /// Expects five files from the place on.
    fn pull(places: &mut Places<u32>, room: usize) -> Vec<u32> {
        let mut out = Vec::new();
        places.pull(GROUP, room, &mut out, |&place, out| {
            let prediction =
                |file| Prediction { file: FileId(file), kind: Kind::Open, likelihood: 1.0, distance: 1 };
            out.extend((place..place + 5).map(prediction));
        });
        out.iter().map(|prediction| prediction.file.0).collect()
    }

    #[test]
    fn a_child_starts_at_its_parents_place_and_goes_its_own_way() {
        let mut places = Places::default();
        places.begin(StreamId(1), &origin(None));
        *places.step(StreamId(1)).unwrap() = 10;
        places.begin(StreamId(2), &origin(Some(1)));
        places.begin(StreamId(3), &origin(Some(99)));
        *places.step(StreamId(1)).unwrap() = 20;
        let places: Vec<_> = (1..5).map(|stream| places.get(StreamId(stream)).copied()).collect();
        assert_eq!(places, [Some(20), Some(10), Some(0), None]);
    }

    #[test]
    fn a_stream_that_changes_its_group_keeps_its_place_and_leaves_nothing_behind() {
        let mut places = Places::default();
        places.begin(StreamId(1), &origin(None));
        *places.step(StreamId(1)).unwrap() = 10;
        places.begin(StreamId(1), &Origin { group: GroupId(8), ..origin(Some(1)) });
        assert_eq!(places.get(StreamId(1)), Some(&10));
        assert!(pull(&mut places, 9).is_empty(), "nobody speaks for the old group");
        places.end(StreamId(1));
        assert!(places.is_empty());
    }

    #[test]
    fn what_was_given_is_not_given_again_before_the_next_step() {
        let mut places = Places::default();
        places.begin(StreamId(1), &origin(None));
        assert!(pull(&mut places, 9).is_empty(), "nobody has taken a step");
        *places.step(StreamId(1)).unwrap() = 10;
        assert_eq!(pull(&mut places, 2), [10, 11]);
        assert_eq!(pull(&mut places, 3), [12, 13, 14]);
        assert!(pull(&mut places, 9).is_empty());
        places.rewind(GROUP);
        assert_eq!(pull(&mut places, usize::MAX), [10, 11, 12, 13, 14]);
        places.step(StreamId(1));
        assert_eq!(pull(&mut places, 1), [10]);
    }

    #[test]
    fn who_acted_last_speaks_and_the_dead_do_not() {
        let mut places = Places::default();
        places.begin(StreamId(1), &origin(None));
        places.begin(StreamId(2), &origin(None));
        *places.step(StreamId(1)).unwrap() = 10;
        *places.step(StreamId(2)).unwrap() = 20;
        assert_eq!(pull(&mut places, 1), [20]);
        places.end(StreamId(2));
        assert!(pull(&mut places, 1).is_empty());
        assert!(places.step(StreamId(2)).is_none());
        *places.step(StreamId(1)).unwrap() = 30;
        assert_eq!(pull(&mut places, 1), [30]);
        places.end_group(GROUP);
        assert!(pull(&mut places, 1).is_empty());
        places.end(StreamId(1));
        assert!(places.is_empty());
    }
}
