//! What a trace consists of, record by record.

use crate::engine::{Effect, Settings, Step};
use crate::event::Facts;
use crate::id::{FileId, ProgramId};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What the engine was made with. The first record.
    Setting(Setting),
    /// What a file number stands for from here on; `None` when it has no name (any more).
    Name {
        /// The number. A new one is the lowest that was not introduced; the root, 0, needs no introduction.
        file: FileId,
        /// Its path's last part.
        place: Option<Place>,
    },
    /// What a program number stands for. The lowest that was not introduced.
    Program {
        /// The number.
        program: ProgramId,
        /// Usually its path.
        identity: String,
    },
    /// A piece of what the engine had learned before; pieces of one part follow each other, before the first step.
    Learned {
        /// Of what.
        part: Part,
        /// The piece, at most [`Part::PIECE`] bytes.
        bytes: Vec<u8>,
    },
    /// What is known of a file from elsewhere (imports); engines hear of facts when a job is settled.
    Facts {
        /// The file.
        file: FileId,
        /// What is known.
        facts: Facts,
    },
    /// What the engine was told.
    Step(Step),
    /// What it asked for, in answer to the last step.
    Effect(Effect),
    /// Nothing follows.
    End(Ending),
}

/// What the engine was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The predictor, as its option spells it.
    pub predictor: String,
    /// Whose accesses form one stream, as the option `stream` spells it.
    pub scope: String,
    /// The budget in bytes.
    pub budget: u64,
    /// Where the trace begins.
    pub start: Start,
}

impl Setting {
    /// Those of an engine.
    pub fn new(settings: Settings, start: Start) -> Self {
        let (predictor, scope) = (settings.predictor.to_string(), settings.scope.as_str().to_owned());
        Setting { predictor, scope, budget: settings.budget, start }
    }
}

/// Where a trace begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the engine's life: a replay yields the same effects.
    Birth,
    /// Later: the engine had plans that the trace does not tell of, so effects may differ.
    Midlife,
    /// It was made from something else: there was no engine, and there are no effects.
    Imported,
}

/// A directory and a name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory's number. It need not have been introduced yet.
    pub parent: FileId,
    /// The name in it: 1 to 1024 bytes without a slash.
    pub component: Vec<u8>,
}

/// A part of what was learned, in the engine's own format (`Learned`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Facts of files.
    Facts,
    /// The predictor's history.
    History,
}

impl Part {
    /// Most bytes of a piece.
    pub const PIECE: usize = 4096;
}

/// How a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As intended: nothing is missing before this.
    Complete,
    /// The recording fell behind: nothing is missing before this, but what came after it.
    Behind,
}
