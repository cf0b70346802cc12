//! A saved history in the open: for commands that show, move and unite models.
//!
//! Must stay true: what is read can be written, and says the same.

use super::super::{Kind, LoadError};
use super::entry::{By, Item, Life};
use super::{format, log::Log};
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

impl History {
    /// Reads what the predictor `match` saved about files below `files`.
    ///
    /// # Errors
    /// When the bytes are something else.
    pub fn load(bytes: &[u8], files: usize) -> Result<Self, LoadError> {
        let log = format::load(bytes, files)?;
        let past = log.entries().iter().map(|entry| PastAccess {
            file: Some(entry.item.file()).filter(|_| !entry.item.forgotten()),
            kind: entry.item.kind(),
            run: entry.run,
            program: entry.by.program(),
            life: life_number(entry.by.life()),
            after: entry.back,
            repeated: entry.by.spare(),
            scan: entry.by.scan(),
        });
        Ok(History(past.collect()))
    }

    /// Appends it as the predictor saves it. What leads back beyond the start leads nowhere.
    pub fn save(&self, out: &mut Vec<u8>) {
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
