//! How often each file was opened lately: what is least useful is to go first.
//!
//! Must stay true: a file that was opened and not forgotten since counts at least one.

use super::Footprint;
use crate::id::FileId;
use crate::id::dense::reach;

/// What is given up at a time, as a part of all files that count: rare enough not to be felt, little enough to be forgiven.
const PART: usize = 4;

/// See the module's head. One byte a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(Vec<u8>);

impl Uses {
    /// All files numbered below `files` count one: what was loaded speaks of them, as far as is known.
    pub(super) fn of_all(files: usize) -> Uses {
        Uses(vec![1; files])
    }

    /// The file is opened.
    pub(super) fn note(&mut self, file: FileId) {
        reach(&mut self.0, file.index(), 0);
        let uses = &mut self.0[file.index()];
        *uses = uses.saturating_add(1);
    }

    /// These files count no more.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for (number, uses) in self.0.iter_mut().enumerate().filter(|(_, uses)| **uses > 0) {
            if gone(FileId(number as u32)) {
                *uses = 0;
            }
        }
    }

    /// Marks all files that count.
    pub(super) fn mark(&self, marks: &mut [bool]) {
        marks.iter_mut().zip(&self.0).filter(|(_, uses)| **uses > 0).for_each(|(mark, _)| *mark = true);
    }

    /// Takes out the least used quarter, of equals those with the smallest numbers, and says which; what is left decays.
    /// Sorted by number.
    pub(super) fn give_up(&mut self) -> Vec<FileId> {
        let mut all: Vec<(u8, u32)> =
            (0..).zip(&self.0).filter(|(_, uses)| **uses > 0).map(|(number, &uses)| (uses, number)).collect();
        let count = all.len().div_ceil(PART);
        if count == 0 {
            return Vec::new();
        }
        all.select_nth_unstable(count - 1);
        let mut gone: Vec<FileId> = all[..count].iter().map(|&(_, number)| FileId(number)).collect();
        gone.sort_unstable();
        gone.iter().for_each(|file| self.0[file.index()] = 0);
        self.0.iter_mut().for_each(|uses| *uses = uses.div_ceil(2));
        gone
    }

    /// With the counts themselves.
    pub(super) fn footprint(&self, of: Footprint) -> Footprint {
        Footprint { bytes: of.bytes + self.0.capacity() as u64, ..of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_used_go_first_and_others_stay(opens in prop::collection::vec(0u32..40, 1..300)) {
            let mut uses = Uses::default();
            let mut slow = std::collections::BTreeMap::new();
            for file in opens {
                uses.note(FileId(file));
                *slow.entry(file).or_insert(0u32) += 1;
            }
            let mut order: Vec<(u32, u32)> = slow.iter().map(|(&file, &count)| (count, file)).collect();
            order.sort_unstable();
            let count = order.len().div_ceil(4);
            let mut expected: Vec<FileId> = order[..count].iter().map(|&(_, file)| FileId(file)).collect();
            expected.sort_unstable();
            prop_assert_eq!(uses.give_up(), expected);
            let mut marks = vec![false; 40];
            uses.mark(&mut marks);
            prop_assert_eq!(marks.iter().filter(|mark| **mark).count(), order.len() - count);
        }
    }
}
