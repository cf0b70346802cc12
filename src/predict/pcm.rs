//! The partitioned context model, as Kroeger and Long published it: a trie of access sequences with
//! counts; a file is predicted when it followed a live context often enough. One step ahead, no more.
//!
//! Contexts belong to the stream, and a new stream starts with its parent's. Only opens count.

use super::{
    Access, Course, Footprint, Kind, LoadError, PcmParameters, Prediction, Predictor, PredictorChoice,
};
use crate::codec::Reader;
use crate::event::Origin;
use crate::id::{FileId, GroupId, IdMap, ProgramId, StreamId};

mod trie;

use trie::{NodeRef, Trie};

/// See the module's head.
#[derive(Debug)]
pub struct Pcm {
    parameters: PcmParameters,
    trie: Trie,
    streams: IdMap<StreamId, Stream>,
    /// Whose contexts speak for the group, while they are fresh.
    latest: IdMap<GroupId, StreamId>,
}

#[derive(Clone, Debug)]
struct Stream {
    group: GroupId,
    /// `contexts[k]` stands for the last k+1 files; `None` where no node does.
    contexts: Vec<Option<NodeRef>>,
}

impl Pcm {
    /// An empty model.
    pub fn new(parameters: PcmParameters) -> Self {
        let trie = Trie::new(parameters.partition);
        Pcm { parameters, trie, streams: IdMap::default(), latest: IdMap::default() }
    }

    fn learn(&mut self, stream: StreamId, file: FileId) -> Option<GroupId> {
        let Stream { group, contexts } = self.streams.get_mut(&stream)?;
        let order = self.parameters.order as usize;
        let mut next = Vec::with_capacity(order + 1);
        next.push(Some(self.trie.count_root(file)));
        for &context in contexts.iter() {
            next.push(context.and_then(|context| self.trie.count_after(context, file)));
        }
        // The node of order m+1 is counted, but is no context.
        next.truncate(order);
        *contexts = next;
        Some(*group)
    }

    fn expected(&self, stream: StreamId) -> Vec<Prediction> {
        let mut found: Vec<Prediction> = Vec::new();
        let contexts = self.streams.get(&stream).map_or(&[][..], |stream| &stream.contexts);
        for &context in contexts.iter().rev().flatten() {
            self.trie.followers(context, |file, likelihood| {
                if likelihood < self.parameters.threshold {
                    return;
                }
                match found.iter_mut().find(|known| known.file == file) {
                    Some(known) => known.likelihood = known.likelihood.max(likelihood),
                    None => found.push(Prediction { file, kind: Kind::Open, likelihood, distance: 1 }),
                }
            });
        }
        found.sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
        found
    }
}

impl Predictor for Pcm {
    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Pcm(self.parameters)
    }

    fn begin(&mut self, stream: StreamId, origin: &Origin) {
        let parent = origin.parent.and_then(|parent| self.streams.get(&parent));
        let contexts = parent.map_or_else(Vec::new, |parent| parent.contexts.clone());
        self.streams.insert(stream, Stream { group: origin.group, contexts });
    }

    fn exec(&mut self, _: StreamId, _: ProgramId) {}

    fn end(&mut self, stream: StreamId) {
        if let Some(Stream { group, .. }) = self.streams.remove(&stream)
            && self.latest.get(&group) == Some(&stream)
        {
            self.latest.remove(&group);
        }
    }

    fn end_group(&mut self, group: GroupId) {
        self.latest.remove(&group);
    }

    fn observe(&mut self, access: Access) -> Course {
        if access.kind == Kind::Open
            && let Some(group) = self.learn(access.stream, access.file)
        {
            self.latest.insert(group, access.stream);
        }
        // A step ahead is soon over by itself: there is never a course to be lost.
        Course(1)
    }

    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>) {
        if let Some(stream) = self.latest.remove(&group) {
            out.extend(self.expected(stream).into_iter().take(room));
        }
    }

    fn next(&self, stream: StreamId) -> Option<Prediction> {
        self.expected(stream).into_iter().next()
    }

    fn rewind(&mut self, _: GroupId) {}

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.trie.forget(gone);
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            files: self.trie.files() as u64,
            nodes: self.trie.len() as u64,
            bytes: self.trie.bytes() as u64,
            followers: 0,
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.trie.save(out);
    }

    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError> {
        let mut reader = Reader::new(bytes);
        let depth = self.parameters.order + 1;
        let trie = Trie::load(&mut reader, self.parameters.partition, depth, files)?;
        reader.finish("the end of the partitions")?;
        self.trie = trie;
        self.streams.values_mut().for_each(|stream| stream.contexts.clear());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
