//! What the history says of one file, for people who ask.
//!
//! Must stay true: asking changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Prediction, Sightings};
use super::MatchModel;
use crate::id::{FileId, GroupId, ProgramId};

/// Files used before it that are told of.
const AFTER_MAX: usize = 3;

impl MatchModel {
    pub(super) fn account(&self, file: FileId) -> Sightings {
        let mut runs = BTreeSet::new();
        let mut programs: BTreeMap<ProgramId, u64> = BTreeMap::new();
        let mut after = Vec::new();
        for position in (0..self.log.end()).rev() {
            let Some(entry) = self.log.get(position).filter(|entry| entry.item.file() == file) else {
                continue;
            };
            runs.insert(entry.run);
            *programs.entry(entry.by.program()).or_default() += 1;
            let before = self.log.back(position).and_then(|at| self.log.get(at));
            after.extend(before.map(|entry| entry.item.file()).filter(|_| after.len() < AFTER_MAX));
        }
        let mut programs: Vec<(ProgramId, u64)> = programs.into_iter().collect();
        programs.sort_by_key(|&(program, times)| (std::cmp::Reverse(times), program));
        let times = programs.iter().map(|&(_, times)| times).sum();
        Sightings { times, runs: runs.len() as u64, programs, after }
    }

    pub(super) fn mark_used_by(&self, program: ProgramId, marks: &mut [bool]) {
        for entry in self.log.entries().iter().filter(|entry| entry.by.program() == program) {
            if let Some(mark) = marks.get_mut(entry.item.file().index()) {
                *mark = true;
            }
        }
    }

    pub(super) fn ahead_of(&self, file: FileId) -> Vec<(GroupId, Prediction)> {
        let followed = self.groups.iter().filter_map(|(&id, group)| Some((id, group.follower.as_ref()?)));
        let mut found: Vec<(GroupId, Prediction)> =
            followed.filter_map(|(id, follower)| Some((id, follower.expects(&self.log, file)?))).collect();
        found.sort_by_key(|&(id, _)| id);
        found
    }
}
