//! What the ledger does to hold prefetching back.

use super::{Effect, Ledger};
use crate::id::JobId;

impl Ledger {
    /// A file was held back, to compare with.
    pub(in super::super) fn held_back(&mut self) {
        self.fate.held_back_files += 1;
    }

    /// Something was in time for a run, for the first time.
    pub(in super::super) fn helped_a_run(&mut self) {
        self.fate.runs += 1;
    }

    /// What was taken for in time had gone.
    pub(in super::super) fn recant(&mut self, bytes: u64) {
        self.fate.recant(bytes);
    }

    /// Withdraws what was asked for last and has not begun, until what is held fits `budget`, or nothing is left to withdraw.
    pub(in super::super) fn fit(&mut self, budget: u64, effects: &mut Vec<Effect>) {
        self.reclaim(0, budget);
        if self.held() <= budget {
            return;
        }
        let idle = self.jobs.iter().filter(|(_, job)| job.reserved > 0 && !job.begun && !job.withdrawn);
        let mut idle: Vec<JobId> = idle.map(|(&id, _)| id).collect();
        idle.sort_unstable();
        while self.held() > budget
            && let Some(job) = idle.pop()
        {
            self.withdraw_one(job, effects);
        }
    }
}
