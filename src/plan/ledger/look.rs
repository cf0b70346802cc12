//! What the ledger says of single files.

use super::super::fate::Use;
use super::Ledger;
use crate::id::{FileId, GroupId, JobId};

impl Ledger {
    /// What became of files since this was asked last.
    pub(in super::super) fn verdicts(&mut self) -> Vec<(FileId, Use)> {
        std::mem::take(&mut self.verdicts)
    }

    /// Every file that something is under way or waits for.
    pub(in super::super) fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.items.keys().copied()
    }

    /// What is under way or waits for the file: the state of its data job (has it begun?), and bytes that wait.
    pub(in super::super) fn state(&self, file: FileId) -> (Option<bool>, u64) {
        let Some(item) = self.items.get(&file) else { return (None, 0) };
        let begun = item.data.and_then(|job| self.jobs.get(&job)).map(|entry| entry.begun);
        (begun, item.unused)
    }

    /// Are the file's attributes on their way?
    pub(in super::super) fn has_attributes(&self, file: FileId) -> bool {
        self.items.get(&file).is_some_and(|item| item.attributes.is_some())
    }

    /// The group that a job was asked for.
    pub(in super::super) fn group_of(&self, job: JobId) -> Option<GroupId> {
        self.jobs.get(&job).map(|entry| entry.group)
    }

    /// Jobs of the group that were not settled.
    pub(in super::super) fn under_way(&self, group: GroupId) -> usize {
        self.groups.get(&group).map_or(0, |account| account.jobs.len())
    }
}
