//! A saved history in the open: for commands that show, move and unite models.
//!
//! Must stay true: what is read can be written, and says the same.

use super::super::{Kind, LoadError, PredictorChoice, mixture};
use super::entry::{By, Item, Life};
use super::{MatchModel, format, log::Log};
use crate::id::{FileId, ProgramId};

/// One access as the history has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastAccess {
    /// What was used; `None` when that was forgotten.
    pub file: Option<FileId>,
    /// How.
    pub kind: Kind,
    /// In which run; numbered from 1 in the order of their first accesses.
    pub run: u32,
    /// By which program.
    pub program: ProgramId,
    /// Which file it was since the program started: 1, 2, 3 for all later ones, and 0 for what is no context of
    /// anything (a look-up, or carried over from an earlier run).
    pub life: u8,
    /// How many accesses before this one in the history its process used something last; 0 when there is nothing.
    pub after: u32,
    /// A later run repeated it.
    pub repeated: bool,
    /// It is part of a scan.
    pub scan: bool,
}

/// Everything `match` remembers, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(pub Vec<PastAccess>);

impl MatchModel {
    /// What it remembers, oldest first.
    pub(in super::super) fn past(&self) -> impl Iterator<Item = PastAccess> {
        past(&self.log)
    }
}

fn past(log: &Log) -> impl Iterator<Item = PastAccess> {
    log.entries().iter().map(|entry| PastAccess {
        file: Some(entry.item.file()).filter(|_| !entry.item.forgotten()),
        kind: entry.item.kind(),
        run: entry.run,
        program: entry.by.program(),
        life: life_number(entry.by.life()),
        after: entry.back,
        repeated: entry.by.spare(),
        scan: entry.by.scan(),
    })
}

impl History {
    /// Reads what a predictor of this choice saved about files below `files`. `None` when only that predictor
    /// itself can read it.
    ///
    /// # Errors
    /// When the bytes are something else.
    pub fn load(choice: PredictorChoice, bytes: &[u8], files: usize) -> Result<Option<Self>, LoadError> {
        let runs = match choice {
            PredictorChoice::Default => mixture::runs_of(bytes)?,
            PredictorChoice::Match => bytes,
            _ => return Ok(None),
        };
        Ok(Some(History(past(&format::load(runs, files)?).collect())))
    }

    /// Appends it as a predictor of this choice saves it, which must be one that [`History::load`] can read.
    pub fn save(&self, choice: PredictorChoice, out: &mut Vec<u8>) {
        let mut runs = Vec::new();
        self.save_runs(&mut runs);
        match choice {
            PredictorChoice::Default => out.extend(mixture::with_runs(&runs)),
            _ => out.extend(runs),
        }
    }

    /// What leads back beyond the start leads nowhere.
    fn save_runs(&self, out: &mut Vec<u8>) {
        let mut log = Log::new(usize::MAX);
        for past in &self.0 {
            let item = past.file.map_or(Item::BLANK.file(), |file| file);
            let mut by = By::new(past.program, life_of(past.life));
            if past.repeated {
                by.set_spare();
            }
            if past.scan {
                by.set_scan();
            }
            let back = log.end().checked_sub(u64::from(past.after)).filter(|_| past.after != 0);
            log.push(Item::new(item, past.kind), past.run, by, None, back);
        }
        format::save(&log, out);
    }
}

fn life_number(life: Life) -> u8 {
    match life {
        Life::First => 1,
        Life::Second => 2,
        Life::Later => 3,
        Life::Payload => 0,
    }
}

fn life_of(number: u8) -> Life {
    match number {
        1 => Life::First,
        2 => Life::Second,
        3 => Life::Later,
        _ => Life::Payload,
    }
}
