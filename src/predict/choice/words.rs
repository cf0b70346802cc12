//! Taking the words of a choice apart: a name, and after a colon its parameters, separated by slashes.
//! A parameter that is left out, or empty, has its default.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::{FromStr, Split};

use thiserror::Error;

use super::super::epcm::{EpcmParameters, Estimator};
use super::super::graph::{EDGES_MAX, GraphParameters};
use super::super::noah::Noah;
use super::super::pcm::PcmParameters;
use super::super::popular::PopularParameters;
use super::super::recent::{Recent, SUCCESSORS_MAX};
use super::PredictorChoice;

/// Below 2 nodes a partition counts nothing but its file. The upper end is far beyond any use.
const PARTITION: RangeInclusive<u32> = 2..=65_535;
/// Each context costs time at every access.
const ORDER: RangeInclusive<u32> = 1..=64;
const LIKELIHOOD: RangeInclusive<f32> = 0.01..=1.0;
/// What follows a file in more places than it has edges would be forgotten as it is learned.
const WINDOW: RangeInclusive<u32> = 1..=EDGES_MAX as u32;
/// What asks for the literal estimator.
const PAPER: &str = "paper";

/// The words name no predictor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// No predictor of that name.
    #[error(
        "unknown predictor '{0}': known are default, match, last, noah, recent, graph, pcm, epcm, popular and none"
    )]
    Unknown(String),
    /// It has no parameters.
    #[error("predictor '{0}' takes no parameters")]
    NoParameters(String),
    /// More parameters than it has.
    #[error("'{given}' has too many parameters: expected at most {form}")]
    TooMany {
        /// What was given.
        given: String,
        /// What a full one looks like.
        form: &'static str,
    },
    /// Out of range or no number.
    #[error("'{given}' is no {what}: expected {range}")]
    Parameter {
        /// What was given.
        given: String,
        /// What it should have been.
        what: &'static str,
        /// The range.
        range: String,
    },
    /// A chain would not fit into a partition.
    #[error("order {order} is too long for partitions of {partition} nodes: it must be less")]
    Order {
        /// The order, in files.
        order: u32,
        /// The size of a partition, in nodes.
        partition: u32,
    },
}

/// A predictor by its words.
pub(super) fn choice(given: &str) -> Result<PredictorChoice, ChoiceError> {
    let (name, parameters) = match given.split_once(':') {
        Some((name, parameters)) => (name, Some(parameters)),
        None => (given, None),
    };
    let mut words = Words { given, left: parameters.unwrap_or("").split('/') };
    let choice = match name {
        "default" | "match" | "last" | "none" if parameters.is_some() => {
            return Err(ChoiceError::NoParameters(name.to_owned()));
        }
        "default" => PredictorChoice::Default,
        "match" => PredictorChoice::Match,
        "last" => PredictorChoice::Last,
        "none" => PredictorChoice::None,
        "noah" => PredictorChoice::Noah(noah(&mut words)?),
        "recent" => PredictorChoice::Recent(recent(&mut words)?),
        "graph" => PredictorChoice::Graph(graph(&mut words)?),
        "pcm" => PredictorChoice::Pcm(pcm(&mut words)?),
        "epcm" => PredictorChoice::Epcm(epcm(&mut words)?),
        "popular" => PredictorChoice::Popular(popular(&mut words)?),
        _ => return Err(ChoiceError::Unknown(name.to_owned())),
    };
    Ok(choice)
}

/// The last word of a choice with this estimator, and the slash before it.
pub(super) fn ending(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::Corrected => "",
        Estimator::Paper => "/paper",
    }
}

fn noah(words: &mut Words<'_>) -> Result<Noah, ChoiceError> {
    let Noah { repeats } = Noah::default();
    let repeats = words.number(repeats, "number of repetitions", 1..=u8::MAX, "times in a row")?;
    words.end("noah:2").map(|()| Noah { repeats })
}

fn recent(words: &mut Words<'_>) -> Result<Recent, ChoiceError> {
    let Recent { least, of } = Recent::default();
    let all = SUCCESSORS_MAX as u8;
    let least = words.number(least, "number of occurrences", 1..=all, "times")?;
    let of = words.number(of.max(least), "number of successors", least..=all, "files")?;
    words.end("recent:2/4").map(|()| Recent { least, of })
}

fn graph(words: &mut Words<'_>) -> Result<GraphParameters, ChoiceError> {
    let GraphParameters { window, threshold } = GraphParameters::default();
    let window = words.number(window, "window", WINDOW, "files")?;
    let threshold = words.likelihood(threshold)?;
    words.end("graph:10/0.3").map(|()| GraphParameters { window, threshold })
}

fn pcm(words: &mut Words<'_>) -> Result<PcmParameters, ChoiceError> {
    let PcmParameters { partition, order, threshold } = PcmParameters::default();
    let partition = words.number(partition, "partition size", PARTITION, "nodes")?;
    let order = words.number(order, "order", ORDER, "files")?;
    let threshold = words.likelihood(threshold)?;
    words.end("pcm:32/2/0.3").map(|()| PcmParameters { partition, order, threshold })
}

fn epcm(words: &mut Words<'_>) -> Result<EpcmParameters, ChoiceError> {
    let EpcmParameters { partition, order, threshold, .. } = EpcmParameters::default();
    let partition = words.number(partition, "partition size", PARTITION, "nodes")?;
    let order = words.number(order, "order", ORDER, "files")?;
    let threshold = words.likelihood(threshold)?;
    let estimator = words.estimator()?;
    words.end("epcm:32/26/0.55/paper")?;
    if order >= partition {
        return Err(ChoiceError::Order { order, partition });
    }
    Ok(EpcmParameters { partition, order, threshold, estimator })
}

fn popular(words: &mut Words<'_>) -> Result<PopularParameters, ChoiceError> {
    let PopularParameters { files } = PopularParameters::default();
    let files = words.number(files, "number of files", 1..=1024, "files")?;
    words.end("popular:64").map(|()| PopularParameters { files })
}

/// Parameters, taken from the front.
struct Words<'a> {
    given: &'a str,
    left: Split<'a, char>,
}

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        self.left.next().filter(|word| !word.is_empty())
    }

    /// A whole number, without a sign.
    fn number<N>(
        &mut self,
        default: N,
        what: &'static str,
        range: RangeInclusive<N>,
        unit: &'static str,
    ) -> Result<N, ChoiceError>
    where
        N: FromStr + PartialOrd + Display,
    {
        let Some(word) = self.word() else { return Ok(default) };
        let digits = Some(word).filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| range.contains(number));
        let range = || format!("{} to {} {unit}", range.start(), range.end());
        number.ok_or_else(|| ChoiceError::Parameter { given: word.to_owned(), what, range: range() })
    }

    fn likelihood(&mut self, default: f32) -> Result<f32, ChoiceError> {
        let Some(word) = self.word() else { return Ok(default) };
        let number = word.parse().ok().filter(|number| LIKELIHOOD.contains(number));
        number.ok_or_else(|| ChoiceError::Parameter {
            given: word.to_owned(),
            what: "threshold",
            range: format!("a likelihood from {} to {}", LIKELIHOOD.start(), LIKELIHOOD.end()),
        })
    }

    fn estimator(&mut self) -> Result<Estimator, ChoiceError> {
        match self.word() {
            None => Ok(Estimator::Corrected),
            Some(PAPER) => Ok(Estimator::Paper),
            Some(word) => Err(ChoiceError::Parameter {
                given: word.to_owned(),
                what: "estimator",
                range: format!("'{PAPER}' or nothing"),
            }),
        }
    }

    /// Nothing may follow.
    fn end(&mut self, form: &'static str) -> Result<(), ChoiceError> {
        match self.left.next() {
            None => Ok(()),
            Some(_) => Err(ChoiceError::TooMany { given: self.given.to_owned(), form }),
        }
    }
}
