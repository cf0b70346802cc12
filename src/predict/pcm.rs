//! The partitioned context model, as Kroeger and Long published it: a trie of access sequences with
//! counts; a file is predicted when it followed a live context often enough. One step ahead, no more.
//!
//! What must stay true: contexts of every order are judged each on its own; how often a file is opened at
//! all (order 0) predicts nothing.

use super::per_stream::Knowledge;
use super::trie::{Contexts, Growth, Trie};
use super::{Footprint, Kind, Prediction, PredictorChoice};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// The parameters of a partitioned context model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcmParameters {
    /// Nodes a partition may have, its root included; 20 bytes each.
    pub partition: u32,
    /// Longest context in files.
    pub order: u32,
    /// Least likelihood of a prediction.
    pub threshold: f32,
}

impl Default for PcmParameters {
    /// Kroeger and Long: partitions of 32 beat 16, and 64 were no better; order 2. The threshold is ours.
    fn default() -> Self {
        PcmParameters { partition: 32, order: 2, threshold: 0.3 }
    }
}

/// See the module's head. One partition a file.
#[derive(Debug)]
pub(super) struct Pcm {
    parameters: PcmParameters,
    trie: Trie,
}

impl Pcm {
    /// An empty model.
    pub(super) fn new(parameters: PcmParameters) -> Self {
        Pcm { parameters, trie: Trie::new(parameters.partition) }
    }
}

impl Knowledge for Pcm {
    type Place = Contexts;

    fn choice(&self) -> PredictorChoice {
        PredictorChoice::Pcm(self.parameters)
    }

    fn learn(&mut self, contexts: &mut Contexts, file: FileId) {
        contexts.step(&mut self.trie, file, self.parameters.order as usize, Growth::Whole);
    }

    fn expected(&self, contexts: &Contexts, out: &mut Vec<Prediction>) {
        let start = out.len();
        for context in contexts.longest_first() {
            self.trie.followers(context, |file, likelihood| {
                if likelihood < self.parameters.threshold {
                    return;
                }
                match out[start..].iter_mut().find(|known| known.file == file) {
                    Some(known) => known.likelihood = known.likelihood.max(likelihood),
                    None => out.push(Prediction { file, kind: Kind::Open, likelihood, distance: 1 }),
                }
            });
        }
        out[start..].sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
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
        let PcmParameters { partition, order, .. } = self.parameters;
        let trie = Trie::load(reader, partition, order + 1, files)?;
        Ok(Pcm { parameters: self.parameters, trie })
    }
}

#[cfg(test)]
mod tests;
