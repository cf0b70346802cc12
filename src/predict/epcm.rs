//! The extended partitioned context model, as Kroeger and Long published it: long contexts, patterns
//! that grow by one node with each occurrence, and predictions that run down a chain.
//!
//! What must stay true: each live context has its own chain, the likeliest child of the likeliest child
//! while the likelihood of the whole way is high enough; what is expected is the union of the chains.

use super::per_stream::Knowledge;
use super::trie::{Contexts, Growth, Spot, Trie};
use super::{Footprint, Kind, Prediction, PredictorChoice};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// How a likelihood is made of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// A node's first occurrence cannot have had a child, because patterns grow by one node at a time: it
    /// is not held against the children.
    #[default]
    Corrected,
    /// As published: a child's count by its parent's.
    Paper,
}

/// The parameters of an extended partitioned context model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpcmParameters {
    /// Nodes a partition may have, its root included; 20 bytes each.
    pub partition: u32,
    /// Longest context in files; less than a partition has nodes.
    pub order: u32,
    /// Least likelihood of a chain. Above a half at most one file follows another, and a chain is all
    /// there is to predict.
    pub threshold: f32,
    /// How likelihoods are made.
    pub estimator: Estimator,
}

impl Default for EpcmParameters {
    /// Kroeger and Long's partition size, and an order of about four fifths of it (they used 75 to 85 %).
    fn default() -> Self {
        EpcmParameters { partition: 32, order: 26, threshold: 0.55, estimator: Estimator::Corrected }
    }
}

/// See the module's head. One partition a file.
#[derive(Debug)]
pub(super) struct Epcm {
    parameters: EpcmParameters,
    trie: Trie,
}

impl Epcm {
    /// An empty model.
    pub(super) fn new(parameters: EpcmParameters) -> Self {
        Epcm { parameters, trie: Trie::new(parameters.partition) }
    }

    /// The likeliest child of a node, and how likely it is. `current`: the node has just been counted, and
    /// what follows that occurrence is still to come.
    fn child(&self, node: Spot, current: bool) -> Option<(Spot, f32)> {
        let child = self.trie.likeliest(node)?;
        let unfollowed = u32::from(current) + u32::from(self.parameters.estimator == Estimator::Corrected);
        let followed = self.trie.count(node).checked_sub(unfollowed).filter(|&count| count > 0)?;
        let times = self.trie.count(child);
        // Most of a well-worn path is certain, and division is what costs most here.
        Some((child, if times >= followed { 1.0 } else { times as f32 / followed as f32 }))
    }

    /// What follows a context, nearest first.
    fn chain(&self, context: Spot) -> impl Iterator<Item = Prediction> + '_ {
        let (mut node, mut likelihood, mut distance) = (context, 1.0, 0);
        std::iter::from_fn(move || {
            let (child, step) = self.child(node, distance == 0)?;
            (node, likelihood, distance) = (child, likelihood * step, distance + 1);
            let likely = likelihood >= self.parameters.threshold;
            likely.then(|| Prediction { file: self.trie.file(child), kind: Kind::Open, likelihood, distance })
        })
    }

    fn chains<'a>(
        &'a self,
        contexts: &'a Contexts,
    ) -> impl Iterator<Item = impl Iterator<Item = Prediction> + 'a> + 'a {
        contexts.longest_first().filter_map(|context| self.trie.spot(context)).map(|spot| self.chain(spot))
    }
}

/// Adds a prediction to those from `start` on. Of two about one file the larger likelihood counts, and
/// the shorter distance.
fn unite(out: &mut Vec<Prediction>, start: usize, new: Prediction) {
    // Chains mostly agree, and then it stands where its distance says.
    let likely = start + new.distance as usize - 1;
    let same = |known: &Prediction| known.file == new.file;
    let known = match out.get(likely).is_some_and(same) {
        true => Some(likely),
        false => out[start..].iter().position(same).map(|place| start + place),
    };
    match known {
        Some(known) => {
            out[known].likelihood = out[known].likelihood.max(new.likelihood);
            out[known].distance = out[known].distance.min(new.distance);
        }
        None => out.push(new),
    }
}

impl Knowledge for Epcm {
    type Place = Contexts;

    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Epcm(self.parameters)
    }

    fn learn(&mut self, contexts: &mut Contexts, file: FileId) {
        contexts.step(&mut self.trie, file, self.parameters.order as usize, Growth::OneNode);
    }

    fn expected(&self, contexts: &Contexts, out: &mut Vec<Prediction>) {
        let start = out.len();
        for chain in self.chains(contexts) {
            chain.for_each(|prediction| unite(out, start, prediction));
        }
        out[start..]
            .sort_by(|a, b| a.distance.cmp(&b.distance).then_with(|| b.likelihood.total_cmp(&a.likelihood)));
    }

    /// The likeliest first step of all chains.
    fn next(&self, contexts: &Contexts) -> Option<Prediction> {
        let first = self.chains(contexts).filter_map(|mut chain| chain.next());
        first.reduce(|best, other| if other.likelihood > best.likelihood { other } else { best })
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.trie.forget(gone);
    }

    fn footprint(&self) -> Footprint {
        self.trie.footprint()
    }

    fn exceeds(&self, bytes: u64) -> bool {
        self.trie.exceeds(bytes)
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.trie.save(out);
    }

    fn load(&self, reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        let EpcmParameters { partition, order, .. } = self.parameters;
        let trie = Trie::load(reader, partition, order + 1, files)?;
        Ok(Epcm { parameters: self.parameters, trie })
    }
}

#[cfg(test)]
mod tests;
