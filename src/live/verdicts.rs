//! Was it there when it was opened? For opens that the kernel answers without asking us.
//!
//! What must stay true: such an open is judged once, a moment later, by the worst of the reads that the same
//! process made us do for the same file around it; no read means that all of it was in memory. A read
//! may become known before the open that it belongs to. Memory is bounded by the events of that moment.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::clock::Micros;
use crate::event::Residency;
use crate::id::{FileId, StreamId};

/// A program that opens a file reads it within this time, or is not slowed down by what it finds.
const MOMENT: Duration = Duration::from_millis(100);

/// Opens not yet judged, and the reads to judge them by.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    opens: VecDeque<Open>,
    reads: HashMap<(StreamId, FileId), Read>,
    /// The keys of `reads` in the order of time.
    read_order: VecDeque<(Micros, (StreamId, FileId))>,
}

/// An open, and with its judgement what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) at: Micros,
    pub(crate) stream: StreamId,
    pub(crate) file: FileId,
}

#[derive(Debug)]
struct Read {
    worst: Residency,
    last: Micros,
    /// An open has been judged by it: a later one of the same file found what this one brought.
    spent: bool,
}

impl Verdicts {
    /// A file was opened and nobody looked what was in memory.
    pub(crate) fn opened(&mut self, at: Micros, stream: StreamId, file: FileId) {
        self.opens.push_back(Open { at, stream, file });
    }

    /// A read had to be answered by us. Says whether it is the first one for a moment.
    pub(crate) fn read(&mut self, at: Micros, stream: StreamId, file: FileId, found: Residency) -> bool {
        let key = (stream, file);
        self.read_order.push_back((at, key));
        match self.reads.get_mut(&key) {
            Some(read) => {
                read.last = at;
                read.worst = worse(read.worst, found);
                false
            }
            None => {
                self.reads.insert(key, Read { worst: found, last: at, spent: false });
                true
            }
        }
    }

    /// Hands out the opens that are old enough to be judged (with `all`, every one).
    pub(crate) fn judge(&mut self, now: Micros, all: bool, mut verdict: impl FnMut(Open, Residency)) {
        while let Some(&open) = self.opens.front()
            && (all || now.since(open.at) >= MOMENT)
        {
            self.opens.pop_front();
            verdict(open, self.found(open));
        }
        self.forget(now);
    }

    /// Is nothing waiting to be judged?
    pub(crate) fn is_empty(&self) -> bool {
        self.opens.is_empty() && self.reads.is_empty()
    }

    fn found(&mut self, open: Open) -> Residency {
        match self.reads.get_mut(&(open.stream, open.file)) {
            Some(read) if !read.spent => {
                read.spent = true;
                worse(read.worst, Residency::Hit)
            }
            _ => Residency::Hit,
        }
    }

    fn forget(&mut self, now: Micros) {
        while let Some(&(at, key)) = self.read_order.front()
            && now.since(at) > 2 * MOMENT
        {
            self.read_order.pop_front();
            if self.reads.get(&key).is_some_and(|read| read.last == at) {
                self.reads.remove(&key);
            }
        }
    }
}

fn worse(a: Residency, b: Residency) -> Residency {
    let rank = |found| match found {
        Residency::Unknown => 0,
        Residency::Hit => 1,
        Residency::Partial => 2,
        Residency::Miss => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId(1);
    const B: StreamId = StreamId(2);
    const F: FileId = FileId(7);

    fn judged(verdicts: &mut Verdicts, now: u64) -> Vec<(StreamId, Residency)> {
        let mut out = Vec::new();
        verdicts.judge(Micros(now), false, |open, found| out.push((open.stream, found)));
        out
    }

    #[test]
    fn an_open_without_a_read_is_a_hit_and_not_judged_early() {
        let mut verdicts = Verdicts::default();
        verdicts.opened(Micros(0), A, F);
        assert_eq!(judged(&mut verdicts, 99_999), []);
        assert_eq!(judged(&mut verdicts, 100_000), [(A, Residency::Hit)]);
        assert!(verdicts.is_empty());
    }

    #[test]
    fn the_worst_read_around_the_open_counts_once_and_for_its_process() {
        let mut verdicts = Verdicts::default();
        assert!(verdicts.read(Micros(10), A, F, Residency::Partial));
        verdicts.opened(Micros(20), A, F);
        verdicts.opened(Micros(30), B, F);
        assert!(!verdicts.read(Micros(40), A, F, Residency::Miss));
        verdicts.opened(Micros(50), A, F);
        let expected = [(A, Residency::Miss), (B, Residency::Hit), (A, Residency::Hit)];
        assert_eq!(judged(&mut verdicts, 150_000), expected);
    }

    #[test]
    fn reads_are_forgotten() {
        let mut verdicts = Verdicts::default();
        verdicts.read(Micros(0), A, F, Residency::Miss);
        verdicts.read(Micros(150_000), A, F, Residency::Hit);
        judged(&mut verdicts, 300_000);
        assert!(!verdicts.is_empty(), "the second is younger");
        judged(&mut verdicts, 400_000);
        assert!(verdicts.is_empty() && verdicts.read_order.is_empty());
    }
}
