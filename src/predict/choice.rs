//! Which predictor, in the words of an option: `match`, `none`, `pcm`, `pcm:32/2/0.3`.
//!
//! Must stay true: what is printed can be parsed, and says the same; the names are those of the option's
//! list in `config`.

use std::fmt;
use std::str::FromStr;

use super::epcm::{Epcm, EpcmParameters};
use super::graph::{Graph, GraphParameters};
use super::last::Last;
use super::noah::Noah;
use super::pcm::{Pcm, PcmParameters};
use super::per_stream::PerStream;
use super::popular::{Popular, PopularParameters};
use super::recent::Recent;
use super::successors::Successors;
use super::{MatchModel, Mixture, NoPredictor, Predictor};

mod words;

pub use words::ChoiceError;

/// A predictor and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PredictorChoice {
    /// Several of the others, each believed as far as it was right lately.
    #[default]
    Default,
    /// Follows the last run in which the same files stood.
    Match,
    /// Expects what followed a file last time.
    Last,
    /// Expects what followed a file steadily.
    Noah(Noah),
    /// Expects what followed a file most often lately.
    Recent(Recent),
    /// Expects everything that is often opened soon after a file.
    Graph(GraphParameters),
    /// The partitioned context model.
    Pcm(PcmParameters),
    /// The extended partitioned context model.
    Epcm(EpcmParameters),
    /// Expects the most popular files.
    Popular(PopularParameters),
    /// Learns and predicts nothing.
    None,
}

impl PredictorChoice {
    /// An empty predictor of this choice.
    pub fn build(self) -> Box<dyn Predictor> {
        match self {
            PredictorChoice::Default => Box::new(Mixture::default()),
            PredictorChoice::Match => Box::new(MatchModel::default()),
            PredictorChoice::Last => Box::new(PerStream::new(Successors::new(Last))),
            PredictorChoice::Noah(rule) => Box::new(PerStream::new(Successors::new(rule))),
            PredictorChoice::Recent(rule) => Box::new(PerStream::new(Successors::new(rule))),
            PredictorChoice::Graph(parameters) => Box::new(PerStream::new(Graph::new(parameters))),
            PredictorChoice::Pcm(parameters) => Box::new(PerStream::new(Pcm::new(parameters))),
            PredictorChoice::Epcm(parameters) => Box::new(PerStream::new(Epcm::new(parameters))),
            PredictorChoice::Popular(parameters) => Box::new(Popular::new(parameters)),
            PredictorChoice::None => Box::new(NoPredictor),
        }
    }

    /// Its name, without parameters.
    pub fn name(self) -> &'static str {
        match self {
            PredictorChoice::Default => "default",
            PredictorChoice::Match => "match",
            PredictorChoice::Last => "last",
            PredictorChoice::Noah(_) => "noah",
            PredictorChoice::Recent(_) => "recent",
            PredictorChoice::Graph(_) => "graph",
            PredictorChoice::Pcm(_) => "pcm",
            PredictorChoice::Epcm(_) => "epcm",
            PredictorChoice::Popular(_) => "popular",
            PredictorChoice::None => "none",
        }
    }
}

impl FromStr for PredictorChoice {
    type Err = ChoiceError;

    fn from_str(words: &str) -> Result<Self, ChoiceError> {
        words::choice(words)
    }
}

impl fmt::Display for PredictorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            PredictorChoice::Default
            | PredictorChoice::Match
            | PredictorChoice::Last
            | PredictorChoice::None => Ok(()),
            PredictorChoice::Noah(rule) => write!(f, ":{}", rule.repeats),
            PredictorChoice::Recent(rule) => write!(f, ":{}/{}", rule.least, rule.of),
            PredictorChoice::Graph(p) => write!(f, ":{}/{}", p.window, p.threshold),
            PredictorChoice::Pcm(p) => write!(f, ":{}/{}/{}", p.partition, p.order, p.threshold),
            PredictorChoice::Epcm(p) => {
                write!(f, ":{}/{}/{}{}", p.partition, p.order, p.threshold, words::ending(p.estimator))
            }
            PredictorChoice::Popular(p) => write!(f, ":{}", p.files),
        }
    }
}

#[cfg(test)]
mod tests;
