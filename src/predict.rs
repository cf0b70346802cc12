//! Prediction: from what was opened, in which order and by whom, to what comes next.
//!
//! What must stay true: a predictor is pure (the same calls give the same answers) and its cost per
//! access is constant. Predictions are pulled, not pushed: nobody pays for a horizon nobody wants.

use thiserror::Error;

use crate::codec::CodecError;
use crate::event::Origin;
use crate::id::{FileId, GroupId, ProgramId, StreamId};

mod choice;
mod epcm;
mod graph;
mod last;
mod match_model;
mod mixture;
mod noah;
mod none;
mod pcm;
mod per_stream;
mod places;
mod popular;
mod recent;
mod successors;
mod table;
mod trie;
mod uses;

pub use choice::{ChoiceError, PredictorChoice};
pub use epcm::{EpcmParameters, Estimator};
pub use graph::GraphParameters;
pub use last::Last;
pub use match_model::{History, MatchModel, PastAccess, Scans};
pub use mixture::Mixture;
pub use noah::Noah;
pub use none::NoPredictor;
pub use pcm::PcmParameters;
pub use popular::PopularParameters;
pub use recent::Recent;

/// What kind of access a prediction is about, and a history is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file was opened or executed: its bytes are wanted.
    Open,
    /// A directory was listed.
    List,
    /// A name was looked up, no more. Seen only when the kernel did not know it.
    Lookup,
    /// Of a directory: it is listed, and what is in it looked at; of a file: it and its siblings around are. Only
    /// expected, never seen as one access.
    Siblings,
    /// A regular file is opened and its bytes are wanted, as far in as the group's walk reads
    /// (`walk::Walks::reach`). Only expected: what is seen is an `Open`.
    Head,
}

/// One access, as far as learning cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// By whom.
    pub stream: StreamId,
    /// To what.
    pub file: FileId,
    /// How.
    pub kind: Kind,
}

/// One file that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Which.
    pub file: FileId,
    /// How it is expected to be used.
    pub kind: Kind,
    /// How likely, 0 to 1.
    pub likelihood: f32,
    /// How many accesses ahead, from 1.
    pub distance: u32,
}

/// One belief about where a group is heading. A group has at most one at a time; when its number
/// changes, what was predicted under the old one no longer stands. 0 is no belief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Course(pub u64);

impl Course {
    /// Nothing is predicted.
    pub const NONE: Course = Course(0);
}

/// What a predictor holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Files it knows.
    pub files: u64,
    /// Entries of its history or its trie.
    pub nodes: u64,
    /// Memory in bytes.
    pub bytes: u64,
    /// Groups it predicts for at the moment.
    pub followers: u64,
}

/// What a history says of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// How often it stands in the history.
    pub times: u64,
    /// In how many runs.
    pub runs: u64,
    /// By which programs and how often, most often first.
    pub programs: Vec<(ProgramId, u64)>,
    /// What the same process used before it the last times, the latest first.
    pub after: Vec<FileId>,
}

/// A saved predictor could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The bytes are not what was saved.
    #[error("the predictor's state is damaged: {0}")]
    Damaged(#[from] CodecError),
}

/// A way to predict. Streams must begin before they access; accesses of unknown streams are ignored.
pub trait Predictor: Send {
    /// Which one it is, with its parameters.
    fn choice(&self) -> PredictorChoice;

    /// A stream starts where its parent stands.
    fn begin(&mut self, stream: StreamId, origin: &Origin);

    /// The stream runs another program from here on.
    fn exec(&mut self, stream: StreamId, program: ProgramId);

    /// The stream is over.
    fn end(&mut self, stream: StreamId);

    /// The group is over, and with it its run and what is predicted for it.
    fn end_group(&mut self, group: GroupId);

    /// Learns from an access and follows it. Returns what the stream's group is on afterwards.
    fn observe(&mut self, access: Access) -> Course;

    /// Appends at most `room` predictions for the group that were not given before on this course,
    /// in the order in which they are expected.
    fn predict(&mut self, group: GroupId, room: usize, out: &mut Vec<Prediction>);

    /// The one file this stream is expected to open next, the likeliest if there are several, with how likely that
    /// is; `None` to decline. Asking changes nothing.
    fn next(&self, stream: StreamId) -> Option<Prediction>;

    /// Gives everything that is still ahead on this course once more.
    fn rewind(&mut self, group: GroupId);

    /// Forgets that these files were ever used. Takes time in proportion to the history.
    fn forget(&mut self, gone: &dyn Fn(FileId) -> bool);

    /// Forgets what a program did, as far as the history says who did what: false when it does not.
    fn forget_program(&mut self, _program: ProgramId) -> bool {
        false
    }

    /// Sets the memory for everything that is learned, in bytes; the history may take its part of that.
    fn limit(&mut self, _bytes: u64) {}

    /// Bytes that are kept for each file that has a number, whether it was opened or not.
    fn bytes_a_file(&self) -> usize {
        0
    }

    /// Gives up the least useful part of the history. False when there is nothing to give up.
    fn shrink(&mut self) -> bool {
        false
    }

    /// Marks the files that the history speaks of, in a list by number. False when it cannot tell.
    fn mentioned(&self, _marks: &mut [bool]) -> bool {
        false
    }

    /// Marks the files that a program used, in a list by number. False when it cannot tell.
    fn used_by(&self, _program: ProgramId, _marks: &mut [bool]) -> bool {
        false
    }

    /// What was noticed of scans.
    fn scans(&self) -> Scans {
        Scans::default()
    }

    /// What the history says of a file. Takes time in proportion to the history.
    fn sightings(&self, _file: FileId) -> Option<Sightings> {
        None
    }

    /// Every group for which this file is ahead at the moment, in the order of their numbers. Takes time in
    /// proportion to what is ahead.
    fn expected(&self, _file: FileId) -> Vec<(GroupId, Prediction)> {
        Vec::new()
    }

    /// What it holds.
    fn footprint(&self) -> Footprint;

    /// Appends everything that was learned.
    fn save(&self, out: &mut Vec<u8>);

    /// Replaces what was learned by what [`Predictor::save`] of the same choice wrote. Files are
    /// numbered below `files`. Streams that have begun stay.
    ///
    /// # Errors
    /// When the bytes are something else; then the predictor is as before.
    fn load(&mut self, bytes: &[u8], files: usize) -> Result<(), LoadError>;
}

#[cfg(test)]
mod practice;
#[cfg(test)]
mod tests;
