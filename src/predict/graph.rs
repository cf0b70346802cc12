//! The probability graph, by Griffioen and Appleton: an edge leads from a file to each one that was
//! opened soon after it, and weighs as much as that happened often. The likely ones are predicted all
//! at once.
//!
//! What must stay true: a file has at most [`EDGES_MAX`] edges; within a stream, an opening of a file adds
//! at most one to each of its edges, however often the other file is opened after it.

use super::per_stream::Knowledge;
use super::table::{Entry, Link, Table};
use super::{Footprint, Kind, Prediction, PredictorChoice};
use crate::codec::{CodecError, Reader, put_varint};
use crate::id::FileId;

/// Edges of one file: half as many again as the default window, so that a file that is followed by the
/// same ten has room to notice others.
pub(super) const EDGES_MAX: usize = 16;

/// The parameters of a probability graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphParameters {
    /// How many opens later a file still counts as following, at most 16: a file has that many edges.
    pub window: u32,
    /// Least likelihood of a prediction.
    pub threshold: f32,
}

impl Default for GraphParameters {
    /// In the second of two recorded builds a window of 10 knew 86 % of the files before their first open (2 knew
    /// 71 %, 5 knew 83 %), and nearly as many with any threshold from 0.05 to 0.5; 0.3 is that of `pcm`.
    fn default() -> Self {
        GraphParameters { window: 10, threshold: 0.3 }
    }
}

/// What was opened soon after one file. 100 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    /// How often the file was opened, as far as that has not decayed.
    openings: u16,
    /// How often the file was followed by another; 0 behind the last edge.
    weights: [u16; EDGES_MAX],
    /// Where the edges lead, oldest edge first.
    targets: [Link; EDGES_MAX],
}

impl Node {
    fn open(&mut self) {
        if self.openings == u16::MAX {
            self.decay();
        }
        self.openings += 1;
    }

    /// The file was followed by another one. A new edge needs room: when there is none, all numbers are
    /// halved, and what was seen once goes. If nothing goes, the newcomer is not recorded.
    fn follow(&mut self, file: FileId) {
        let target = Link::to(file);
        let used = self.used();
        if let Some(edge) = self.targets[..used].iter().position(|&known| known == target) {
            self.weights[edge] = self.weights[edge].saturating_add(1);
            return;
        }
        if used == EDGES_MAX {
            self.decay();
        }
        let used = self.used();
        if used < EDGES_MAX {
            (self.targets[used], self.weights[used]) = (target, 1);
        }
    }

    fn used(&self) -> usize {
        self.weights.iter().take_while(|&&weight| weight > 0).count()
    }

    fn decay(&mut self) {
        self.openings = (self.openings / 2).max(1);
        self.weights.iter_mut().for_each(|weight| *weight /= 2);
        self.keep(|_, weight| weight > 0);
    }

    /// Drops edges, and moves the others together.
    fn keep(&mut self, wanted: impl Fn(Link, u16) -> bool) {
        let (mut targets, mut weights, mut used) = ([Link::NONE; EDGES_MAX], [0; EDGES_MAX], 0);
        for (&target, &weight) in self.targets.iter().zip(&self.weights) {
            if target != Link::NONE && wanted(target, weight) {
                (targets[used], weights[used]) = (target, weight);
                used += 1;
            }
        }
        (self.targets, self.weights) = (targets, weights);
    }

    /// Every edge with its likelihood: the share of the file's openings that were followed so. The opening
    /// that has just been counted has not been followed by anything yet.
    fn edges(&self) -> impl Iterator<Item = (FileId, f32)> + '_ {
        let followed = f32::from(self.openings.saturating_sub(1));
        let edges = self.targets.iter().zip(&self.weights).map_while(move |(target, &weight)| {
            target.file().map(|file| (file, (f32::from(weight) / followed).min(1.0)))
        });
        edges.filter(move |_| followed > 0.0)
    }
}

impl Entry for Node {
    fn known(&self) -> bool {
        self.openings > 0
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        if self.targets.iter().any(|target| target.is_in(gone)) {
            self.keep(|target, _| !target.is_in(gone));
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.openings));
        let used = self.used();
        put_varint(out, used as u64);
        for (target, &weight) in self.targets.iter().zip(&self.weights).take(used) {
            target.save(out);
            put_varint(out, u64::from(weight));
        }
    }

    fn load(reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let mut node = Node { openings: number(reader, "how often a file was opened")?, ..Node::default() };
        let used = reader.below(EDGES_MAX as u64 + 1, "the number of edges")? as usize;
        for edge in 0..used {
            let wrong = reader.error("an edge to a file that has none yet, and its weight");
            let target = Link::load(reader, files)?;
            let weight = number(reader, "the weight of an edge")?;
            if target == Link::NONE || weight == 0 || node.targets.contains(&target) {
                return Err(wrong);
            }
            (node.targets[edge], node.weights[edge]) = (target, weight);
        }
        Ok(node)
    }
}

fn number(reader: &mut Reader<'_>, what: &'static str) -> Result<u16, CodecError> {
    Ok(reader.below(1 << 16, what)? as u16)
}

/// See the module's head. A stream's place is its last files, newest first.
#[derive(Debug)]
pub(super) struct Graph {
    parameters: GraphParameters,
    table: Table<Node>,
}

impl Graph {
    /// An empty graph.
    pub(super) fn new(parameters: GraphParameters) -> Self {
        Graph { parameters, table: Table::default() }
    }
}

impl Knowledge for Graph {
    type Place = Vec<FileId>;

    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Graph(self.parameters)
    }

    fn learn(&mut self, last: &mut Vec<FileId>, file: FileId) {
        // What came before this file's own last opening has been followed by it already.
        for &before in last.iter().take_while(|&&before| before != file) {
            self.table.of(before).follow(file);
        }
        self.table.of(file).open();
        last.insert(0, file);
        last.truncate(self.parameters.window as usize);
    }

    /// The likeliest first; of equals the one that followed first when it was new. Its place in that order
    /// stands for the distance, which an edge does not know.
    fn expected(&self, last: &Vec<FileId>, out: &mut Vec<Prediction>) {
        let Some(node) = last.first().and_then(|&file| self.table.get(file)) else { return };
        let start = out.len();
        let likely = node.edges().filter(|&(_, likelihood)| likelihood >= self.parameters.threshold);
        out.extend(likely.map(|(file, likelihood)| Prediction {
            file,
            kind: Kind::Open,
            likelihood,
            distance: 1,
        }));
        out[start..].sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
        (1..).zip(&mut out[start..]).for_each(|(distance, prediction)| prediction.distance = distance);
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.table.forget(gone);
    }

    fn forget_in(last: &mut Vec<FileId>, gone: &dyn Fn(FileId) -> bool) {
        last.retain(|&file| !gone(file));
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            files: self.table.known().count() as u64,
            nodes: self.table.known().map(|(_, node)| node.used() as u64).sum(),
            bytes: self.table.bytes() as u64,
            followers: 0,
        }
    }

    fn bytes_a_file(&self) -> usize {
        self.table.bytes_a_file()
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.table.save(out);
    }

    fn load(&self, reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        Ok(Graph { parameters: self.parameters, table: Table::load(reader, files)? })
    }
}

#[cfg(test)]
mod tests;
