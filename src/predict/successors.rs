//! Predictors that keep, for each file, what came right after it, and expect one file at a time.
//!
//! What must stay true: a file's entry has a fixed size, and each open changes one.

use super::per_stream::Knowledge;
use super::table::{Entry, Link, Table};
use super::{Footprint, Kind, Prediction, PredictorChoice};
use crate::codec::{CodecError, Reader};
use crate::id::FileId;

/// How successors are remembered, and which one is expected.
pub(super) trait Rule: Copy + Send {
    /// What is remembered of the successors of one file.
    type Entry: Entry + Send;

    /// Which predictor this is, with its parameters.
    fn choice(self) -> PredictorChoice;

    /// The file was followed by `next`.
    fn learn(self, entry: &mut Self::Entry, next: FileId);

    /// The file that is expected to follow, and how likely that is.
    fn expected(self, entry: &Self::Entry) -> Option<(FileId, f32)>;
}

/// See the module's head. A stream's place is its last file.
#[derive(Debug)]
pub(super) struct Successors<R: Rule> {
    rule: R,
    table: Table<R::Entry>,
}

impl<R: Rule> Successors<R> {
    /// Nothing is known.
    pub(super) fn new(rule: R) -> Self {
        Successors { rule, table: Table::default() }
    }
}

impl<R: Rule> Knowledge for Successors<R> {
    type Place = Link;

    fn choice(&self) -> PredictorChoice {
        self.rule.choice()
    }

    fn learn(&mut self, last: &mut Link, file: FileId) {
        if let Some(last) = last.file() {
            self.rule.learn(self.table.of(last), file);
        }
        *last = Link::to(file);
    }

    fn expected(&self, last: &Link, out: &mut Vec<Prediction>) {
        out.extend(self.next(last));
    }

    fn next(&self, last: &Link) -> Option<Prediction> {
        let (file, likelihood) = self.rule.expected(self.table.get(last.file()?)?)?;
        Some(Prediction { file, kind: Kind::Open, likelihood, distance: 1 })
    }

    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.table.forget(gone);
    }

    fn forget_in(last: &mut Link, gone: &dyn Fn(FileId) -> bool) {
        if last.is_in(gone) {
            *last = Link::NONE;
        }
    }

    fn footprint(&self) -> Footprint {
        let files = self.table.known().count() as u64;
        Footprint { files, nodes: files, bytes: self.table.bytes() as u64, followers: 0 }
    }

    fn bytes_a_file(&self) -> usize {
        self.table.bytes_a_file()
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.table.save(out);
    }

    fn load(&self, reader: &mut Reader<'_>, files: usize) -> Result<Self, CodecError> {
        Ok(Successors { rule: self.rule, table: Table::load(reader, files)? })
    }
}

#[cfg(test)]
mod tests;
