//! The model file: what was learned, kept from mount to mount.
//!
//! ```text
//! "AUGURFS\n"  version u16  number of sections u16
//! per section: kind u16, 0 u16, length u64, crc32c of the content u32, content
//! ```
//! All numbers little endian. Sections: 1 names, 2 programs, 3 facts, 4 predictor (its option, then its
//! history); each once. Unknown kinds are skipped, so that an older program reads what it knows.
//!
//! What must stay true: any bytes at all can be decoded without panic or allocation beyond a small
//! multiple of their length; what is not exactly as it was written is an error that says where.

use thiserror::Error;

use crate::codec::{CodecError, Reader, put_bytes};
use crate::names::{Names, Programs};

mod file;
mod lock;
mod programs;

pub use file::{load, set_aside, store};
pub use lock::ModelLock;
pub use programs::programs_of;

const MAGIC: &[u8; 8] = b"AUGURFS\n";
/// Goes up when older programs could not read the file any more.
pub const VERSION: u16 = 1;
const NAMES: u16 = 1;
const PROGRAMS: u16 = 2;
const FACTS: u16 = 3;
const PREDICTOR: u16 = 4;
/// Sections a file may have: room for growth, and a check on nonsense.
const SECTIONS_MAX: u16 = 64;

/// What is worth keeping from mount to mount.
#[derive(Debug, Default)]
pub struct Model {
    /// Every path.
    pub names: Names,
    /// Every program.
    pub programs: Programs,
    /// What the engine learned about them.
    pub learned: Learned,
}

/// What the engine learned, as bytes only it understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// What is known of files.
    pub facts: Vec<u8>,
    /// Which predictor `history` belongs to, with its parameters, as its option spells it.
    pub predictor: String,
    /// What it learned.
    pub history: Vec<u8>,
}

/// Bytes that are no model. Offsets count from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// It does not begin like one.
    #[error("not a model file: at byte 0: expected the mark of one")]
    Foreign,
    /// Written by a newer program.
    #[error("a model of version {found}: expected at most {VERSION}")]
    Version {
        /// Its version.
        found: u16,
    },
    /// A section's content does not have its checksum.
    #[error("at byte {at}: expected a {section} section with checksum {expected:08x}, found {found:08x}")]
    Checksum {
        /// Where the content starts.
        at: usize,
        /// Which section.
        section: &'static str,
        /// Written beside it.
        expected: u32,
        /// Of what is there.
        found: u32,
    },
    /// Something else is not as it should be.
    #[error("in the {section}: at byte {at}: expected {expected}")]
    Damaged {
        /// Where.
        at: usize,
        /// In which part.
        section: &'static str,
        /// What should be there.
        expected: &'static str,
    },
}

/// The whole file, from what [`Names::save`] and [`Programs::save`] wrote and what was learned about them.
pub fn encode(names: &[u8], programs: &[u8], learned: &Learned) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&4u16.to_le_bytes());
    put_section(&mut out, NAMES, |out| out.extend_from_slice(names));
    put_section(&mut out, PROGRAMS, |out| out.extend_from_slice(programs));
    put_section(&mut out, FACTS, |out| out.extend_from_slice(&learned.facts));
    put_section(&mut out, PREDICTOR, |out| {
        put_bytes(out, learned.predictor.as_bytes());
        out.extend_from_slice(&learned.history);
    });
    out
}

/// The inverse of [`encode`]. What the engine learned is checked by the engine when it takes it up.
///
/// # Errors
/// Where and why the bytes are not a model.
pub fn decode(bytes: &[u8]) -> Result<Model, ModelError> {
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(ModelError::Foreign);
    }
    let mut reader = Reader::new(bytes);
    let head = |error| damaged("head", 0, error);
    reader.take(MAGIC.len(), "the mark").map_err(head)?;
    let version = u16_of(&mut reader, "a version").map_err(head)?;
    if version == 0 || version > VERSION {
        return Err(ModelError::Version { found: version });
    }
    let wrong = reader.error("a number of sections");
    let count = u16_of(&mut reader, "a number of sections").map_err(head)?;
    if count > SECTIONS_MAX {
        return Err(head(wrong));
    }
    let mut seen = Vec::new();
    let mut model = Model::default();
    for _ in 0..count {
        read_section(&mut reader, &mut model, &mut seen)?;
    }
    reader.finish("the end of the file").map_err(head)?;
    match [NAMES, PROGRAMS, FACTS, PREDICTOR].into_iter().find(|kind| !seen.contains(kind)) {
        Some(missing) => Err(damaged(name(missing), 0, reader.error("the section itself"))),
        None => Ok(model),
    }
}

fn put_section(out: &mut Vec<u8>, kind: u16, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 14]);
    let start = out.len();
    content(out);
    let length = (out.len() - start) as u64;
    let checksum = crc32c::crc32c(&out[start..]);
    out[start - 12..start - 4].copy_from_slice(&length.to_le_bytes());
    out[start - 4..start].copy_from_slice(&checksum.to_le_bytes());
}

fn read_section(reader: &mut Reader<'_>, model: &mut Model, seen: &mut Vec<u16>) -> Result<(), ModelError> {
    let head = |error| damaged("head of a section", 0, error);
    let fresh = reader.error("a section of a kind that was not there before");
    let kind = u16_of(reader, "the kind of a section").map_err(head)?;
    let zero = reader.error("two bytes of zero");
    if u16_of(reader, "two bytes of zero").map_err(head)? != 0 {
        return Err(head(zero));
    }
    let (low, high) = (reader.u32("a length").map_err(head)?, reader.u32("a length").map_err(head)?);
    let length = usize::try_from(u64::from(high) << 32 | u64::from(low)).unwrap_or(usize::MAX);
    let expected = reader.u32("a checksum").map_err(head)?;
    let at = reader.at();
    let content = reader.take(length, "as many bytes as the section's length says").map_err(head)?;
    let found = crc32c::crc32c(content);
    if found != expected {
        return Err(ModelError::Checksum { at, section: name(kind), expected, found });
    }
    if seen.contains(&kind) {
        return Err(head(fresh));
    }
    seen.push(kind);
    take_in(kind, content, model).map_err(|error| damaged(name(kind), at, error))
}

fn take_in(kind: u16, content: &[u8], model: &mut Model) -> Result<(), CodecError> {
    match kind {
        NAMES => model.names = Names::load(content)?,
        PROGRAMS => model.programs = Programs::load(content)?,
        FACTS => model.learned.facts = content.to_vec(),
        PREDICTOR => {
            let mut reader = Reader::new(content);
            let wrong = reader.error("a predictor's name in UTF-8");
            let predictor = reader.bytes("a predictor's name")?.to_vec();
            model.learned.predictor = String::from_utf8(predictor).map_err(|_| wrong)?;
            model.learned.history = reader.take(reader.left(), "its history")?.to_vec();
        }
        _ => {}
    }
    Ok(())
}

fn u16_of(reader: &mut Reader<'_>, expected: &'static str) -> Result<u16, CodecError> {
    let bytes = reader.take(2, expected)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn damaged(section: &'static str, base: usize, error: CodecError) -> ModelError {
    ModelError::Damaged { at: base + error.at, section, expected: error.expected }
}

fn name(kind: u16) -> &'static str {
    match kind {
        NAMES => "names",
        PROGRAMS => "programs",
        FACTS => "facts",
        PREDICTOR => "predictor",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests;
