//! Everything the engine knows of one file, for people who ask why it was or was not warmed.
//!
//! Must stay true: asking changes nothing.

use super::Engine;
use crate::id::{FileId, GroupId, ProgramId};
use crate::plan::{Account, Standing};
use crate::predict::{Prediction, Sightings};

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileAccount {
    /// What the history says; `None` when the predictor keeps none that can be asked.
    pub sightings: Option<Sightings>,
    /// Groups that are expected to use it, with where it stands in their plans.
    pub expected: Vec<(GroupId, Prediction, Standing)>,
    /// What the plan says.
    pub plan: Account,
    /// The budget in bytes.
    pub budget: u64,
}

impl Engine {
    /// Marks the files that a program used, in a list by number; false when the history does not say who did what. Takes
    /// time in proportion to the history.
    pub fn mark_used(&self, program: ProgramId, marks: &mut [bool]) -> bool {
        self.predictor.used_by(program, marks)
    }

    /// What is known of the file. Takes time in proportion to the history.
    pub fn account(&self, file: FileId) -> FileAccount {
        let standing = |(group, prediction)| (group, prediction, self.planner.standing(group, file));
        FileAccount {
            sightings: self.predictor.sightings(file),
            expected: self.predictor.expected(file).into_iter().map(standing).collect(),
            plan: self.planner.account(file),
            budget: self.budget,
        }
    }
}
