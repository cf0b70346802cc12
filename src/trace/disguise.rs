//! Names that tell nothing: each part of a path replaced by a keyed hash.
//!
//! What stays: which files are the same, which directory each is in, sizes, places, times and order. Who knows a tree may know it
//! again by those; the names themselves cannot be had back, as the key is gone with the process.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};

use super::record::{Place, Record};
use super::{Reader, Tail, TraceError, Writer};

/// A key of its own, drawn at random and never written down: the same name gets the same hash, here and nowhere else.
#[derive(Debug, Default)]
pub struct Disguise(RandomState);

impl Disguise {
    /// A new key.
    pub fn new() -> Self {
        Disguise::default()
    }

    /// The record with hashes for names.
    pub fn record(&self, record: Record) -> Record {
        match record {
            Record::Name { file, place: Some(Place { parent, component }) } => {
                let component = self.component(&component);
                Record::Name { file, place: Some(Place { parent, component }) }
            }
            Record::Program { program, identity } => {
                Record::Program { program, identity: self.program(&identity) }
            }
            other => other,
        }
    }

    fn component(&self, name: &[u8]) -> Vec<u8> {
        let mut hasher = self.0.build_hasher();
        hasher.write(name);
        format!("{:016x}", hasher.finish()).into_bytes()
    }

    /// Part by part, so that the directories of programs can be told apart too; the unknown stays unknown.
    fn program(&self, identity: &str) -> String {
        let parts = identity.split('/').map(|part| match part {
            "" => String::new(),
            part => String::from_utf8_lossy(&self.component(part.as_bytes())).into_owned(),
        });
        // A path of very many parts grows longer by its hashes.
        parts.take(PARTS_MAX).collect::<Vec<_>>().join("/")
    }
}

/// So many hashes fit a record.
const PARTS_MAX: usize = 200;

/// Copies a trace with hashes for names. Returns how it ended.
///
/// # Errors
/// The trace cannot be read to its end, or the copy not be written.
pub fn anonymise<R: Read, W: Write>(
    from: &mut Reader<R>,
    to: W,
    name: &str,
) -> Result<Option<Tail>, TraceError> {
    let unwritten = |error| TraceError::Write { name: name.to_owned(), error };
    let disguise = Disguise::new();
    let mut writer = Writer::new(to).map_err(unwritten)?;
    for record in from.by_ref() {
        writer.write(&disguise.record(record?)).map_err(unwritten)?;
    }
    writer.flush().map_err(unwritten)?;
    Ok(from.tail())
}
