//! What a one-pass walk leaves behind: files that were fetched ahead for it, were used once, and will not be used again.
//!
//! What must stay true: only files of which we brought something are let go, only when their group has used others since, and
//! only of a group that goes through more than there is room for without coming back: what fits stays for the next run, as
//! it would without us.

use std::collections::VecDeque;

use super::Planner;
use crate::id::{FileId, GroupId};

/// Opens before a group can be said to go through files once.
const OPENS: u32 = 64;
/// One in so many may be of a file that it has used before.
const AGAIN: u32 = 16;
/// The last ones may still be read.
const IN_USE: usize = 64;
/// Remembered for a group at most.
const MOST: usize = 16_384;

/// What a group has gone through.
#[derive(Debug, Default)]
pub(super) struct Behind {
    opens: u32,
    again: u32,
    /// Bytes of the files opened.
    bytes: u64,
    /// Those that we brought, oldest first.
    brought: VecDeque<FileId>,
}

impl Behind {
    /// The group opened a file of this size: one that we had brought? one that it had used before?
    fn opened(&mut self, file: FileId, bytes: u64, brought: bool, again: bool) {
        self.opens = self.opens.saturating_add(1);
        self.again += u32::from(again);
        self.bytes += bytes;
        if brought && !again {
            self.brought.push_back(file);
            if self.brought.len() > MOST {
                self.brought.pop_front();
            }
        }
    }

    fn is_one_pass(&self) -> bool {
        self.opens >= OPENS && self.again < self.opens / AGAIN
    }

    /// What may go when there is room for `room` bytes.
    fn let_go(&mut self, room: u64, out: &mut Vec<FileId>) {
        if self.is_one_pass() && self.bytes > room {
            let most = self.brought.len().saturating_sub(IN_USE);
            out.extend(self.brought.drain(..most));
        }
    }
}

impl Planner {
    /// The group opens a file, which is not noted as used yet.
    pub fn passes(&mut self, group: GroupId, file: FileId) {
        // A read of this very use may have been told before the open.
        let before = self.marks.before(file, self.now);
        let bytes = self.facts.get(file).map_or(0, |facts| facts.size);
        let (_, waiting) = self.ledger.state(file);
        if let Some(plan) = self.groups.get_mut(&group) {
            plan.behind.opened(file, bytes, waiting > 0, before >= plan.since);
        }
    }

    /// Files that need not stay in memory when there is room for `room` bytes of what one group goes through. Each is told once.
    pub fn left_behind(&mut self, room: u64, out: &mut Vec<FileId>) {
        self.groups.values_mut().for_each(|plan| plan.behind.let_go(room, out));
        out.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(files: u32, brought: bool) -> Behind {
        let mut behind = Behind::default();
        (0..files).for_each(|file| behind.opened(FileId(file), 10, brought, false));
        behind
    }

    fn let_go(behind: &mut Behind, room: u64) -> usize {
        let mut out = Vec::new();
        behind.let_go(room, &mut out);
        out.len()
    }

    #[test]
    fn only_what_does_not_fit_goes_and_not_the_last_ones() {
        let mut behind = through(200, true);
        assert_eq!(let_go(&mut behind, 2000), 0);
        assert_eq!(let_go(&mut behind, 1999), 200 - IN_USE);
        assert_eq!(let_go(&mut behind, 0), 0, "told once");
    }

    #[test]
    fn what_others_brought_or_what_is_used_again_stays() {
        assert_eq!(let_go(&mut through(200, false), 0), 0);
        let mut loops = through(200, true);
        (0..200).for_each(|file| loops.opened(FileId(file), 10, false, true));
        assert_eq!(let_go(&mut loops, 0), 0);
        assert_eq!(let_go(&mut through(OPENS - 1, true), 0), 0, "too early to tell");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        assert_eq!(let_go(&mut through(3 * MOST as u32, true), 0), MOST - IN_USE);
    }
}
