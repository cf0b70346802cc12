//! The control: a small share of what is foreseen is not fetched ahead, so that it stays known what a file costs that is not.
//!
//! What must stay true: the same accesses hold the same files back, whoever drives; nothing is held back before prefetching
//! has shown to be of use, and few in one run, because each costs its run what fetching ahead would have saved.

use super::Planner;
use super::batch::Wanted;
use crate::id::{FileId, GroupId};

/// One file in so many: 0.4 % of what prefetching saves is the price of knowing it.
const SHARE: u64 = 256;
/// And no more in one run: on one head each may wait for a whole batch.
const IN_A_RUN: u32 = 8;
/// Files in time before anything is held back.
const PROVEN: u64 = 256;

impl Planner {
    /// The same, or nothing to do for it, because it is one of those to compare with.
    pub(super) fn compare(&mut self, wanted: Wanted, group: GroupId) -> Wanted {
        let fate = self.ledger.fate();
        if !(fate.used_files >= PROVEN && wanted.data && is_chosen(wanted.file, fate.runs)) {
            return wanted;
        }
        let Some(plan) = self.groups.get_mut(&group).filter(|plan| plan.held_back < IN_A_RUN) else {
            return wanted;
        };
        plan.held_back += 1;
        self.ledger.held_back();
        Wanted { data: false, attributes: false, reserve: 0, ..wanted }
    }
}

/// By number and the count of runs alone: other files each run, the same ones in each replay.
fn is_chosen(file: FileId, run: u64) -> bool {
    mix(u64::from(file.0) << 32 ^ run).is_multiple_of(SHARE)
}

/// The last steps of splitmix64: every bit of the result depends on every bit of the number.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_one_in_so_many_is_chosen_and_others_each_run() {
        let chosen = |run| (0..100_000).filter(|&file| is_chosen(FileId(file), run)).collect::<Vec<_>>();
        let (one, other) = (chosen(1), chosen(2));
        for count in [one.len(), other.len()] {
            assert!((300..500).contains(&count), "{count} of 390 expected");
        }
        assert!(one.iter().filter(|file| other.contains(file)).count() < 20);
        assert_eq!(one, chosen(1));
    }
}
