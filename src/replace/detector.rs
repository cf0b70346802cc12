//! How a program refers to its blocks: DEAR's detector (Choi, Noh, Min, Cho: OSDI and USENIX 1999).
//!
//! After each period of references it looks at the blocks that were referred to in it. A block's backward distance is the
//! time since its last reference and its frequency the number of its references, both as of the start of the period; its
//! forward distance is the time from that start to its next reference. How the latter follows from the former two is the
//! pattern.
//!
//! What must stay true: the first period is not judged, because all blocks are new to a beginner; a period that proves
//! nothing leaves the pattern as it was.

use std::fmt;
use std::num::NonZeroU64;

use super::Block;
use super::history::{History, Past};

mod rank;
mod strict;

/// How blocks are referred to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Nothing is known.
    #[default]
    Undecided,
    /// Blocks are used once.
    Sequential,
    /// The longer ago a block was used, the sooner it is used again.
    Looping,
    /// The more recently a block was used, the sooner it is used again.
    Clustered,
    /// The more often a block was used, the sooner it is used again.
    Probabilistic,
}

impl Pattern {
    /// The word for it in tables and statistics.
    pub fn as_str(self) -> &'static str {
        match self {
            Pattern::Undecided => "undecided",
            Pattern::Sequential => "sequential",
            Pattern::Looping => "looping",
            Pattern::Clustered => "clustered",
            Pattern::Probabilistic => "probabilistic",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a period is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// As published: the mean forward distances of sublists have to rise or fall throughout.
    Strict,
    /// By rank correlation, which noise does not upset.
    #[default]
    Rank,
}

/// A block of the period that is judged, with its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Backward distance; `None` for a new one.
    distance: Option<NonZeroU64>,
    /// Frequency.
    count: u32,
    /// Forward distance.
    forward: u32,
}

impl Seen {
    /// Backward distance, frequency and forward distance of a block that is not new.
    fn old(&self) -> Option<(u64, u64, u64)> {
        self.distance.map(|distance| (distance.get(), self.count.into(), self.forward.into()))
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Detector {
    rules: Rules,
    period: u64,
    sublists: usize,
    references: u64,
    /// When the period under way began.
    start: u64,
    history: History,
    /// Blocks of the period under way, in the order of their first references.
    seen: Vec<Seen>,
    pattern: Pattern,
}

impl Detector {
    /// Knows nothing. `period` is in references.
    ///
    /// # Panics
    /// When there is no period or no sublist.
    pub fn new(rules: Rules, period: u32, sublists: u8) -> Self {
        assert!(period > 0 && sublists > 0, "a period has references, and is cut into sublists");
        Detector {
            rules,
            period: period.into(),
            sublists: sublists.into(),
            references: 0,
            start: 0,
            history: History::default(),
            seen: Vec::new(),
            pattern: Pattern::Undecided,
        }
    }

    /// Notes a reference. When it ends a period other than the first, what that one looked like comes back.
    pub fn refer(&mut self, block: Block) -> Option<Pattern> {
        self.refer_at(block, self.references).1
    }

    /// The same at a time by any clock that goes on with each reference: the order of distances, which is all that
    /// counts, is the same by each. The block's past comes back too.
    pub(super) fn refer_at(&mut self, block: Block, now: u64) -> (Option<Past>, Option<Pattern>) {
        let place = self.references % self.period;
        if place == 0 {
            self.start = now;
        }
        self.references += 1;
        let before = self.history.note(block, now);
        if before.is_none_or(|past| past.last < self.start) {
            let distance = before.and_then(|past| NonZeroU64::new(self.start - past.last));
            let count = before.map_or(0, |past| past.count);
            self.seen.push(Seen { distance, count, forward: place as u32 + 1 });
        }
        if place + 1 < self.period {
            return (before, None);
        }
        let verdict = (self.references > self.period).then(|| self.judge());
        self.seen.clear();
        if let Some(found) = verdict.filter(|&found| found != Pattern::Undecided) {
            self.pattern = found;
        }
        (before, verdict)
    }

    /// The pattern that was found last.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// References so far.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// How often a block was referred to, as far as that is remembered.
    pub(super) fn count(&self, block: Block) -> u32 {
        self.history.get(block).map_or(0, |past| past.count)
    }

    /// The pattern is no longer to be relied on, whatever the last period looked like.
    pub(super) fn refute(&mut self) {
        self.pattern = Pattern::Undecided;
    }

    /// Blocks whose past is remembered. They grow until somebody has them forgotten.
    pub(super) fn remembered(&self) -> usize {
        self.history.len()
    }

    /// Forgets all but about so many blocks, which were used last.
    pub(super) fn forget(&mut self, keep: usize) {
        self.history.keep(keep);
    }

    pub(super) fn bytes(&self) -> usize {
        self.history.bytes() + self.seen.capacity() * size_of::<Seen>()
    }

    fn judge(&self) -> Pattern {
        match self.rules {
            Rules::Strict => strict::judge(&self.seen, self.sublists),
            Rules::Rank => rank::judge(&self.seen, self.period),
        }
    }
}

#[cfg(test)]
mod tests;
