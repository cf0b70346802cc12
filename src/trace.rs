//! Traces: what an engine was told and what it asked for in return, as a file.
//!
//! ```text
//! "AUGURTR\n"  version u16  0 u16
//! per record: length of the body (varint, 1 to 8192)  body  check u16
//! ```
//! A body is a tag and what belongs to it: varints, numbers as differences to the last one of their kind. The check is
//! the low half of the crc32c of everything so far, earlier checks left out, so that a record that was changed, lost or moved
//! is noticed. A usual access takes eight bytes.
//!
//! What must stay true: file and program numbers are introduced in their order and without gaps, each before it is
//! spoken of, so that whoever reads a trace needs memory in proportion to its length; no length is trusted; a tail that is torn off costs
//! the record it is torn in and is told, while any other damage is an error that names file, offset and what was expected.

use std::io;

use thiserror::Error;

use crate::predict::{ChoiceError, LoadError};

mod coder;
mod decode;
mod disguise;
mod encode;
mod file;
mod import;
mod listings;
mod names;
mod reader;
mod record;
mod recorder;
mod replay;
mod show;
mod steps;
mod summary;
mod writer;

pub use disguise::{Disguise, anonymise};
pub use file::{create, open, replace};
pub use import::{Format, Imported, Reading, import};
pub use names::KnownNames;
pub use reader::{Reader, Tail};
pub use record::{Ending, Part, Place, Record, Setting, Start};
pub use recorder::Recorder;
pub use replay::{Difference, Replayed, replay};
pub use show::{Shown, Teller};
pub use summary::Summary;
pub use writer::Writer;

const MAGIC: &[u8; 8] = b"AUGURTR\n";
/// Goes up when older programs could not read the file any more.
/// 2: what directories contained.
const VERSION: u16 = 2;
/// The longest body: a program's path (4096) and some. What is longer is cut into pieces.
const RECORD_MAX: usize = 8192;

/// Why a trace, or what was to become one, cannot be read. Offsets count from the start of the file, lines and columns from 1.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It does not begin like one.
    #[error("{name} is no trace: at byte 0: expected the mark of one")]
    Foreign {
        /// The file.
        name: String,
    },
    /// Written by a newer program.
    #[error("{name} is a trace of version {found}: expected at most {VERSION}")]
    Version {
        /// The file.
        name: String,
        /// Its version.
        found: u16,
    },
    /// Something is not as it was written.
    #[error("{name} is damaged: at byte {at}: expected {expected}")]
    Damaged {
        /// The file.
        name: String,
        /// Where.
        at: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// The system refused.
    #[error("{name} cannot be read: {error}")]
    Read {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// The system refused.
    #[error("{name} cannot be written: {error}")]
    Write {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// It was recorded with a predictor that this program does not have.
    #[error("{name} was recorded with a predictor that is not known here: {error}")]
    Predictor {
        /// The file.
        name: String,
        /// Which.
        error: ChoiceError,
    },
    /// It was recorded with streams made in a way that this program does not have.
    #[error("{name} was recorded with stream={scope}, which is not known here")]
    Scope {
        /// The file.
        name: String,
        /// Which.
        scope: String,
    },
    /// What the engine had learned before the recording cannot be taken up.
    #[error("{name}: what was learned before it began cannot be read: {error}")]
    Learned {
        /// The file.
        name: String,
        /// Why.
        error: LoadError,
    },
    /// A text that was to be imported has something else in this place.
    #[error("{name}: line {line}, column {column}: expected {expected}")]
    Text {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The byte in it.
        column: u64,
        /// What should be there.
        expected: String,
    },
}

#[cfg(test)]
mod tests;
