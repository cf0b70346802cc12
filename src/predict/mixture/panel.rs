//! The vote: who says what, how far each was right lately, and what follows from that.
//!
//! What must stay true: an expert is judged whenever it spoke, heard or not.

use super::format::{put_real, real};
use crate::codec::{CodecError, Reader};
use crate::id::{FileId, ProgramId};

/// Programs are told apart by so many classes; the records of two in one class mix.
const CLASSES: usize = 16;
/// How firm an expert may be: 0 to 3.
const LEVELS: usize = 4;
/// Opens that decide: a record is halved when it is as long as this.
const MEMORY: f32 = 64.0;
/// A program's own record counts as much as the general one after so many opens.
const PATIENCE: f32 = 4.0;
/// Below this nothing is expected: who is wrong more than twice in three times had better say nothing.
const LEAST: f32 = 0.3;

/// How firm an expert is that is so sure (0 to 1).
pub(super) fn level(likelihood: f32) -> u8 {
    (likelihood * LEVELS as f32) as u8
}

/// Who votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expert {
    /// The run that is repeated.
    Run,
    /// What usually followed the last two files.
    LastTwo,
    /// What followed them the last time.
    LastTwoLatest,
    /// What usually followed the last file.
    Last,
    /// What followed it the last time.
    LastLatest,
    /// What processes of this program usually begin with, behind such a sibling.
    Beginning,
    /// What the last one began with.
    BeginningLatest,
    /// The most popular file.
    Favourite,
}

const EXPERTS: usize = Expert::Favourite as usize + 1;

impl Expert {
    /// The one that goes by the last time.
    pub(super) fn latest(self) -> Expert {
        match self {
            Expert::LastTwo => Expert::LastTwoLatest,
            Expert::Last => Expert::LastLatest,
            Expert::Beginning => Expert::BeginningLatest,
            other => other,
        }
    }
}

/// One expert's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vote {
    expert: Expert,
    file: FileId,
    level: u8,
}

impl Vote {
    /// `expert` expects `file`, as firmly as `level` says (0 to 3).
    pub(super) fn new(expert: Expert, file: FileId, level: u8) -> Self {
        Vote { expert, file, level: level.min(LEVELS as u8 - 1) }
    }

    fn seat(self) -> usize {
        self.expert as usize * LEVELS + usize::from(self.level)
    }
}

/// Everybody's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    votes: [Option<Vote>; EXPERTS],
    len: usize,
}

impl Votes {
    /// One more.
    pub(super) fn push(&mut self, vote: Vote) {
        self.votes[self.len] = Some(vote);
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = Vote> {
        self.votes.iter().copied().flatten()
    }
}

/// How often an expert was right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Record {
    right: f32,
    total: f32,
}

impl Record {
    fn judge(&mut self, right: bool) {
        self.right += f32::from(u8::from(right));
        self.total += 1.0;
        if self.total >= MEMORY {
            (self.right, self.total) = (self.right / 2.0, self.total / 2.0);
        }
    }

    /// The share, leaning on `general` while the record is short.
    fn share(self, general: f32) -> f32 {
        (self.right + PATIENCE * general) / (self.total + PATIENCE)
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    general: [Record; EXPERTS * LEVELS],
    classes: Vec<[Record; EXPERTS * LEVELS]>,
}

impl Default for Panel {
    fn default() -> Self {
        let bare = [Record::default(); EXPERTS * LEVELS];
        Panel { general: bare, classes: vec![bare; CLASSES] }
    }
}

impl Panel {
    /// The stream's program opened `file` after these votes.
    pub(super) fn judge(&mut self, program: ProgramId, votes: &Votes, file: FileId) {
        for vote in votes.iter() {
            let right = vote.file == file;
            self.general[vote.seat()].judge(right);
            self.classes[program.index() % CLASSES][vote.seat()].judge(right);
        }
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.general) + size_of_val(&self.classes[..])
    }

    /// Appends all records.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        for record in self.general.iter().chain(self.classes.iter().flatten()) {
            put_real(out, record.right);
            put_real(out, record.total);
        }
    }

    /// Reads what [`Panel::save`] wrote.
    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut panel = Panel::default();
        for record in panel.general.iter_mut().chain(panel.classes.iter_mut().flatten()) {
            let right = real(reader, MEMORY, "how often an expert was right")?;
            *record = Record { right, total: real(reader, MEMORY, "how often it spoke")? };
        }
        Ok(panel)
    }

    /// What most speaks for, and how likely it is; `None` when too little speaks for anything.
    pub(super) fn decide(&self, program: ProgramId, votes: &Votes) -> Option<(FileId, f32)> {
        let weighed = votes.iter().map(|vote| (vote.file, self.weight(program, vote)));
        let all: Vec<(FileId, f32)> = weighed.collect();
        let doubt = |file: FileId| -> f32 {
            all.iter().filter(|&&(other, _)| other == file).map(|&(_, weight)| 1.0 - weight).product()
        };
        let chances = all.iter().map(|&(file, _)| (file, 1.0 - doubt(file)));
        // The first of equals: experts vote in the order of their reach.
        let best = chances.fold(None, |best: Option<(FileId, f32)>, (file, chance)| match best {
            Some((_, highest)) if highest >= chance => best,
            _ => Some((file, chance)),
        });
        best.filter(|&(_, chance)| chance >= LEAST)
    }

    fn weight(&self, program: ProgramId, vote: Vote) -> f32 {
        // Nobody is trusted more than half to begin with.
        let general = self.general[vote.seat()].share(0.5);
        self.classes[program.index() % CLASSES][vote.seat()].share(general).min(0.999)
    }
}
