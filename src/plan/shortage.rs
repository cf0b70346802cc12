//! When memory is short: what does not fit is withdrawn, and what had come and gone again is told from what was in time.
//!
//! What must stay true: what has begun comes, and counts.

use super::marks::{Last, SAME_USE};
use super::window::FILE_BYTES_MAX;
use super::{Effect, Planner};
use crate::id::FileId;

impl Planner {
    /// Withdraws what has not begun and does not fit the budget any more.
    pub fn fit(&mut self, effects: &mut Vec<Effect>) {
        self.ledger.fit(self.budget, effects);
    }

    /// The beginning of a file had to come from the source. If it was used just now and taken for in time, it had come and was
    /// gone again.
    pub fn gone_again(&mut self, file: FileId) {
        let bytes = self.facts.get(file).map_or(0, |facts| facts.size.min(FILE_BYTES_MAX));
        let mark = self.marks.of(file);
        if mark.last == Last::InTime && self.now.wrapping_sub(mark.decided) <= SAME_USE {
            mark.last = Last::Wasted;
            self.ledger.recant(bytes);
        }
    }
}
