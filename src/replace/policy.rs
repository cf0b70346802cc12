//! The policies by their names: `NAME[:rules/period/sublists]`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Replacement;
use super::arc::Arc;
use super::dear::Dear;
use super::detector::Rules;
use super::detectors::DearParameters;
use super::foresight::Foresight;
use super::lru::Lru;
use super::s3fifo::S3Fifo;
use super::sieve::Sieve;

/// All names, and the form of the parameters where there are some.
pub const POLICIES: &[(&str, &str)] = &[
    ("default", ""),
    ("lru", ""),
    ("lru-seq", "rules/period/sublists"),
    ("dear", "rules/period/sublists"),
    ("arc", ""),
    ("s3fifo", ""),
    ("sieve", ""),
    ("fifo", ""),
];

/// Which policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The best of what was measured.
    Default,
    /// The least recently used leaves.
    #[default]
    Lru,
    /// The same, but programs that read sequentially give up blocks first.
    LruSeq(DearParameters),
    /// By the pattern of each program.
    Dear(DearParameters),
    /// Recency and frequency, balanced by what was lost.
    Arc,
    /// Three queues.
    S3Fifo,
    /// One queue and a hand.
    Sieve,
    /// The first leaves.
    Fifo,
}

/// The words are no policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// No policy of that name.
    #[error("unknown policy '{given}': known are {known}")]
    Unknown {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// It takes no such parameters.
    #[error("policy {name}: expected {form}, not '{given}'")]
    Parameters {
        /// Whose.
        name: &'static str,
        /// What it takes.
        form: &'static str,
        /// What was given.
        given: String,
    },
}

const FORM: &str = "strict or rank, a period of 10 to 1000000 and 2 to 100 sublists, with / between them";

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(words: &str) -> Result<Self, PolicyError> {
        let (name, given) = words.split_once(':').unwrap_or((words, ""));
        let &(name, form) = POLICIES.iter().find(|known| known.0 == name).ok_or_else(|| {
            let known: Vec<_> = POLICIES.iter().map(|known| known.0).collect();
            PolicyError::Unknown { given: name.to_owned(), known: known.join(", ") }
        })?;
        let wrong = |form| PolicyError::Parameters { name, form, given: given.to_owned() };
        if form.is_empty() && words != name {
            return Err(wrong("no parameters"));
        }
        let parameters = || parameters(given).ok_or_else(|| wrong(FORM));
        Ok(match name {
            "lru" => Policy::Lru,
            "lru-seq" => Policy::LruSeq(parameters()?),
            "dear" => Policy::Dear(parameters()?),
            "arc" => Policy::Arc,
            "s3fifo" => Policy::S3Fifo,
            "sieve" => Policy::Sieve,
            "fifo" => Policy::Fifo,
            _ => Policy::Default,
        })
    }
}

/// Those that are not given have their defaults.
fn parameters(given: &str) -> Option<DearParameters> {
    let mut parameters = DearParameters::default();
    let mut words = given.split('/').filter(|word| !word.is_empty());
    if let Some(rules) = words.next() {
        parameters.rules = match rules {
            "strict" => Rules::Strict,
            "rank" => Rules::Rank,
            _ => return None,
        };
    }
    if let Some(period) = words.next() {
        parameters.period = period.parse().ok().filter(|period| (10..=1_000_000).contains(period))?;
    }
    if let Some(sublists) = words.next() {
        parameters.sublists = sublists.parse().ok().filter(|sublists| (2..=100).contains(sublists))?;
    }
    words.next().is_none().then_some(parameters)
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Policy::LruSeq(parameters) | Policy::Dear(parameters)
                if *parameters != DearParameters::default() =>
            {
                let rules = if parameters.rules == Rules::Strict { "strict" } else { "rank" };
                write!(f, ":{rules}/{}/{}", parameters.period, parameters.sublists)
            }
            _ => Ok(()),
        }
    }
}

impl Policy {
    /// Its name, without parameters.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Default => "default",
            Policy::Lru => "lru",
            Policy::LruSeq(_) => "lru-seq",
            Policy::Dear(_) => "dear",
            Policy::Arc => "arc",
            Policy::S3Fifo => "s3fifo",
            Policy::Sieve => "sieve",
            Policy::Fifo => "fifo",
        }
    }

    /// The same with another period, where it has one.
    pub fn with_period(self, period: u32) -> Policy {
        match self {
            Policy::LruSeq(parameters) => Policy::LruSeq(DearParameters { period, ..parameters }),
            Policy::Dear(parameters) => Policy::Dear(DearParameters { period, ..parameters }),
            other => other,
        }
    }

    /// One for a cache of about `room` blocks, without any in it.
    pub fn build(self, room: usize) -> Box<dyn Replacement> {
        match self {
            Policy::Default => Box::new(Foresight::new(DearParameters::default(), room)),
            Policy::Lru => Box::new(Lru::new()),
            Policy::LruSeq(parameters) => Box::new(Dear::new(parameters, true, room)),
            Policy::Dear(parameters) => Box::new(Dear::new(parameters, false, room)),
            Policy::Arc => Box::new(Arc::new()),
            Policy::S3Fifo => Box::new(S3Fifo::new()),
            Policy::Sieve => Box::new(Sieve::new()),
            Policy::Fifo => Box::new(Lru::fifo()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        let all = POLICIES.iter().map(|known| known.0);
        for words in all.chain(["dear:strict/250/5", "lru-seq:rank/100/10"]) {
            assert_eq!(words.parse::<Policy>().unwrap().to_string(), words);
        }
        assert_eq!("dear:strict".parse::<Policy>().unwrap().to_string(), "dear:strict/500/5");
        assert_eq!("dear:rank/500/5".parse::<Policy>().unwrap().to_string(), "dear");
    }

    #[test]
    fn what_is_no_policy() {
        for words in ["dear:loose", "dear:rank/5", "dear:rank/500/1", "dear:rank/500/5/1", "lru:1", "lru:"] {
            let wrong = words.parse::<Policy>().unwrap_err();
            assert!(matches!(wrong, PolicyError::Parameters { .. }), "{words}: {wrong}");
        }
        let unknown = "belady".parse::<Policy>().unwrap_err().to_string();
        assert!(unknown.starts_with("unknown policy 'belady': known are default, lru, "), "{unknown}");
    }
}
