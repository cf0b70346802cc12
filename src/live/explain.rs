//! What the engine knows of one file, in words that leave the daemon.
//!
//! Must stay true: the file system is not touched, and neither lock is held while the engine is asked.

use super::Live;
use crate::codec::text::to_text;
use crate::engine::{Account, FileAccount, Last, Standing};
use crate::id::{FileId, ProgramId};
use crate::stats::{Expected, Explanation, Uses};

impl Live {
    /// Why the file at `path`, below the source, was or was not warmed. `None` when the engine is off. Waits for
    /// the engine thread.
    pub fn explain(&self, path: &[u8]) -> Option<Explanation> {
        let file = self.names.lock().find_path(path);
        let Some(file) = file else {
            let unknown = Explanation { file: to_text(path), ..Explanation::default() };
            return (!self.is_off()).then_some(unknown);
        };
        let account = self.ask(move |engine| engine.account(file))?;
        Some(self.word(path, &account))
    }

    fn word(&self, path: &[u8], account: &FileAccount) -> Explanation {
        let FileAccount { sightings, expected, plan, budget } = account;
        let expected = expected.iter().map(|(group, prediction, standing)| Expected {
            group: group.0,
            distance: prediction.distance,
            likelihood: prediction.likelihood,
            standing: standing_word(*standing).into(),
        });
        let seen = sightings.clone().unwrap_or_default();
        Explanation {
            file: to_text(path),
            known: true,
            history: sightings.is_some(),
            times: seen.times,
            runs: seen.runs,
            programs: seen.programs.iter().map(|&(program, times)| self.uses(program, times)).collect(),
            after: seen.after.iter().filter_map(|&file| self.path_of(file)).collect(),
            expected: expected.collect(),
            size: plan.facts.map(|facts| facts.size),
            used: plan.used,
            absent: plan.absent,
            state: state_word(plan).into(),
            last: last_word(plan.last).into(),
            budget_bytes: *budget,
        }
    }

    fn uses(&self, program: ProgramId, times: u64) -> Uses {
        Uses { program: self.programs.lock().identity(program).unwrap_or_default().to_owned(), times }
    }

    fn path_of(&self, file: FileId) -> Option<String> {
        self.names.lock().path(file).map(|path| to_text(&path))
    }
}

fn state_word(plan: &Account) -> &'static str {
    match plan.job {
        Some(false) => "asked",
        Some(true) => "in flight",
        None if plan.waiting > 0 => "waiting",
        None => "none",
    }
}

fn last_word(last: Last) -> &'static str {
    match last {
        Last::Never => "never",
        Last::InTime => "in time",
        Last::Late => "late",
        Last::Wasted => "wasted",
        Last::Failed => "failed",
        Last::Resident => "resident",
        Last::Withdrawn => "withdrawn",
    }
}

fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Calm => "calm",
        Standing::InMemory => "in memory",
        Standing::Absent => "absent",
        Standing::Empty => "empty",
        Standing::TooLarge => "too large",
        Standing::UnderWay => "under way",
        Standing::NoBudget => "no budget",
        Standing::Ahead => "ahead",
    }
}
