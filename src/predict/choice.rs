//! Which predictor, in the words of an option: `match`, `none`, `pcm`, `pcm:32/2/0.3`.
//!
//! Must stay true: what is printed can be parsed, and says the same.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{MatchModel, NoPredictor, Pcm, Predictor};

/// The parameters of a partitioned context model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcmParameters {
    /// Nodes a partition may have, its root included.
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

/// A predictor and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PredictorChoice {
    /// Follows the last run in which the same files stood.
    #[default]
    Match,
    /// The partitioned context model.
    Pcm(PcmParameters),
    /// Learns and predicts nothing.
    None,
}

impl PredictorChoice {
    /// An empty predictor of this choice.
    pub fn build(self) -> Box<dyn Predictor> {
        match self {
            PredictorChoice::Match => Box::new(MatchModel::default()),
            PredictorChoice::Pcm(parameters) => Box::new(Pcm::new(parameters)),
            PredictorChoice::None => Box::new(NoPredictor),
        }
    }
}

/// The words name no predictor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// No predictor of that name.
    #[error("unknown predictor '{0}': known are match, pcm and none")]
    Unknown(String),
    /// It has no parameters.
    #[error("predictor '{0}' takes no parameters")]
    NoParameters(String),
    /// Too many parameters.
    #[error("'{0}': pcm takes at most three parameters, partition/order/threshold, as in pcm:32/2/0.3")]
    TooMany(String),
    /// Out of range or no number.
    #[error("'{given}' is no {what}: expected {range}")]
    Parameter {
        /// What was given.
        given: String,
        /// What it should have been.
        what: &'static str,
        /// The range.
        range: &'static str,
    },
}

impl FromStr for PredictorChoice {
    type Err = ChoiceError;

    fn from_str(words: &str) -> Result<Self, ChoiceError> {
        let (name, parameters) = match words.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (words, None),
        };
        match (name, parameters) {
            ("match", None) => Ok(PredictorChoice::Match),
            ("none", None) => Ok(PredictorChoice::None),
            ("pcm", parameters) => Ok(PredictorChoice::Pcm(pcm(parameters.unwrap_or(""))?)),
            ("match" | "none", Some(_)) => Err(ChoiceError::NoParameters(name.to_owned())),
            _ => Err(ChoiceError::Unknown(name.to_owned())),
        }
    }
}

fn pcm(words: &str) -> Result<PcmParameters, ChoiceError> {
    let mut parameters = PcmParameters::default();
    for (place, word) in words.split('/').enumerate().filter(|(_, word)| !word.is_empty()) {
        match place {
            0 => {
                parameters.partition =
                    number(word, "partition size", "2 to 65535 nodes", 2.0..=65_535.0)? as u32
            }
            1 => parameters.order = number(word, "order", "1 to 64 files", 1.0..=64.0)? as u32,
            2 => parameters.threshold = number(word, "threshold", "a likelihood from 0.01 to 1", 0.01..=1.0)?,
            _ => return Err(ChoiceError::TooMany(words.to_owned())),
        }
    }
    Ok(parameters)
}

fn number(
    word: &str,
    what: &'static str,
    range: &'static str,
    allowed: std::ops::RangeInclusive<f32>,
) -> Result<f32, ChoiceError> {
    let whole = what == "threshold" || word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse()
        .ok()
        .filter(|number| whole && allowed.contains(number))
        .ok_or_else(|| ChoiceError::Parameter { given: word.to_owned(), what, range })
}

impl fmt::Display for PredictorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PredictorChoice::Match => f.write_str("match"),
            PredictorChoice::None => f.write_str("none"),
            PredictorChoice::Pcm(p) => write!(f, "pcm:{}/{}/{}", p.partition, p.order, p.threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_parsed() {
        for words in ["match", "none", "pcm:32/2/0.3", "pcm:16/1/0.05"] {
            let choice: PredictorChoice = words.parse().unwrap();
            assert_eq!(choice.to_string(), words);
        }
        for (words, full) in
            [("pcm", "pcm:32/2/0.3"), ("pcm:64", "pcm:64/2/0.3"), ("pcm:64//0.5", "pcm:64/2/0.5")]
        {
            assert_eq!(words.parse::<PredictorChoice>().unwrap().to_string(), full);
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |words: &str| words.parse::<PredictorChoice>().unwrap_err().to_string();
        assert_eq!(error("lru"), "unknown predictor 'lru': known are match, pcm and none");
        assert_eq!(error("match:3"), "predictor 'match' takes no parameters");
        assert_eq!(error("pcm:1"), "'1' is no partition size: expected 2 to 65535 nodes");
        assert_eq!(error("pcm:32/2.5"), "'2.5' is no order: expected 1 to 64 files");
        assert_eq!(error("pcm:32/2/NaN"), "'NaN' is no threshold: expected a likelihood from 0.01 to 1");
        assert!(error("pcm:1/2/3/4").contains("partition size"));
        assert!(error("pcm:9/2/1/4").contains("at most three"));
    }
}
