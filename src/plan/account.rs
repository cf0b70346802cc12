//! Why a file was or was not fetched ahead, as far as the plan knows.
//!
//! Must stay true: asking changes nothing that is planned.

use super::fate::Use;
use super::ledger::Settled;
use super::marks::Last;
use super::{Outcome, Planner, Target};
use crate::event::Facts;
use crate::id::{FileId, GroupId};

/// What the plan knows of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Where it is and how large.
    pub facts: Option<Facts>,
    /// A job for its data is under way; has a worker begun with it?
    pub job: Option<bool>,
    /// Bytes that came and wait for their use.
    pub waiting: u64,
    /// What became of the last job for its data that came to an end.
    pub last: Last,
    /// A job failed or it was removed, and nothing has been seen of it since.
    pub absent: bool,
    /// It was used, or found in memory, since the mount.
    pub used: bool,
}

/// Where a file stands in the plan of a group that is expected to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The group does not wait for the device: nothing is fetched for it.
    Calm,
    /// It was used or found in memory since the group began.
    InMemory,
    /// It has failed, and nothing has been seen of it since.
    Absent,
    /// Nothing is known to be in it.
    Empty,
    /// It is larger than the whole budget.
    TooLarge,
    /// A job brings it, or it has been brought.
    UnderWay,
    /// What is on its way or unused fills the budget.
    NoBudget,
    /// It will be asked for when what stands before it is done.
    Ahead,
}

impl Planner {
    /// What is known of the file.
    pub fn account(&self, file: FileId) -> Account {
        let mark = self.marks.get(file);
        let (job, waiting) = self.ledger.state(file);
        let facts = self.facts.get(file);
        Account { facts, job, waiting, last: mark.last, absent: mark.absent, used: mark.resident != 0 }
    }

    /// Where the file stands in the plan of a group that expects it.
    pub fn standing(&self, group: GroupId, file: FileId) -> Standing {
        let (mark, account) = (self.marks.get(file), self.account(file));
        let Some(plan) = self.groups.get(&group) else { return Standing::Calm };
        let size = account.facts.map(|_| self.need(file));
        let filled = self.budget.saturating_sub(self.ledger.held()) < self.window.bytes.min(self.budget) / 4;
        match size {
            _ if account.job.is_some() || account.waiting > 0 => Standing::UnderWay,
            _ if account.absent => Standing::Absent,
            _ if mark.resident >= plan.since => Standing::InMemory,
            Some(0) => Standing::Empty,
            Some(size) if size > self.budget => Standing::TooLarge,
            _ if !plan.gate.armed() => Standing::Calm,
            _ if filled => Standing::NoBudget,
            _ => Standing::Ahead,
        }
    }

    /// Marks the files that something is planned, under way or asked for.
    pub fn mentioned(&self, marks: &mut [bool]) {
        let planned = self.groups.values().flat_map(|plan| plan.ahead.iter().map(|next| next.file));
        for file in self.ledger.files().chain(self.inquiry.files()).chain(planned) {
            if let Some(mark) = marks.get_mut(file.index()) {
                *mark = true;
            }
        }
    }

    /// Notes what became of files.
    pub(super) fn write_down(&mut self) {
        for (file, how) in self.ledger.verdicts() {
            let (mark, now) = (self.marks.of(file), self.now);
            mark.decided = now;
            mark.last = match how {
                Use::InTime => Last::InTime,
                Use::Late => Last::Late,
                Use::Never => Last::Wasted,
            };
        }
    }

    /// Notes how a job ended that brought nothing.
    pub(super) fn write_down_end(&mut self, settled: Settled, outcome: Outcome) {
        let mark = self.marks.of(settled.file);
        mark.absent |= outcome == Outcome::Failed && !settled.withdrawn;
        if settled.target == Target::Data {
            match outcome {
                Outcome::Failed => mark.last = Last::Failed,
                Outcome::Resident { .. } => mark.last = Last::Resident,
                Outcome::Withdrawn => mark.last = Last::Withdrawn,
                Outcome::Warmed { .. } => {}
            }
        }
    }
}
