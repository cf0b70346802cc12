//! A few bytes for each file: when it was last used and last asked for, counted in accesses.
//!
//! Must stay true: the commonest question of the hot path (is there anything to do for this file?)
//! costs one look into memory.

use crate::id::FileId;
use crate::id::dense::reach;

/// When something happened: the number of the access. Wraps after four thousand million accesses, and
/// then costs a few checks too many or too few, no more.
pub(super) type Moment = u32;

/// Accesses nearer than this may belong to one and the same use of a file.
pub(super) const SAME_USE: Moment = 64;

/// See the module's head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// Known to be in memory: used, or found there.
    pub(super) resident: Moment,
    /// The same, before the present use.
    before: Moment,
    /// Its name and inode were asked for.
    pub(super) named: Moment,
    pub(super) question: Question,
    /// With those of its siblings, or of what is in it.
    pub(super) siblings: bool,
    /// A job for it failed, or it was removed, and nothing has been seen of it since.
    pub(super) absent: bool,
    /// What became of it the last time it was asked for.
    pub(super) last: Last,
    /// When that was found out.
    pub(super) decided: Moment,
}

/// What became of the last job for a file's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Last {
    /// There was none.
    #[default]
    Never,
    /// It was brought in and used in time.
    InTime,
    /// It was brought in, but somebody wanted it before it had come.
    Late,
    /// It was brought in, and nobody wanted it.
    Wasted,
    /// It could not be brought in: it was gone, or could not be read.
    Failed,
    /// It was in memory already.
    Resident,
    /// The job was withdrawn before it began.
    Withdrawn,
}

/// What of the question where a file is and how large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Question {
    /// Not asked yet.
    #[default]
    Open,
    /// Asked, or about to be.
    Asked,
    /// Answered.
    Known,
}

impl Mark {
    /// Nothing is known, but for a question that is under way.
    pub(super) fn forget(&mut self) {
        let asked = self.question == Question::Asked;
        *self = Mark { question: if asked { Question::Asked } else { Question::Open }, ..Mark::default() };
    }

    /// The answer came, if not from the question that is under way.
    pub(super) fn known(&mut self) {
        self.absent = false;
        if self.question == Question::Open {
            self.question = Question::Known;
        }
    }
}

/// Marks by file.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<Mark>);

impl Marks {
    pub(super) fn get(&self, file: FileId) -> Mark {
        self.0.get(file.index()).copied().unwrap_or_default()
    }

    pub(super) fn of(&mut self, file: FileId) -> &mut Mark {
        reach(&mut self.0, file.index(), Mark::default());
        &mut self.0[file.index()]
    }

    /// The file is used, so it is in memory now.
    pub(super) fn used(&mut self, file: FileId, now: Moment) {
        let mark = self.of(file);
        if now.wrapping_sub(mark.resident) > SAME_USE {
            mark.before = mark.resident;
        }
        (mark.resident, mark.absent) = (now, false);
    }

    /// When the file was in memory before its present use.
    pub(super) fn before(&self, file: FileId, now: Moment) -> Moment {
        let mark = self.get(file);
        if now.wrapping_sub(mark.resident) > SAME_USE { mark.resident } else { mark.before }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Mark>()
    }
}
