//! Records into a file.

use std::io::{self, Write};

use super::coder::Coder;
use super::record::{Ending, Record};
use super::{MAGIC, RECORD_MAX, VERSION};
use crate::codec::put_varint;

/// Records into bytes: bodies, their lengths, and the check behind each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framer {
    coder: Coder,
    check: u32,
}

impl Framer {
    /// Appends the head of a trace.
    pub(super) fn start(out: &mut Vec<u8>) -> Self {
        let from = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        Framer { coder: Coder::new(), check: crc32c::crc32c(&out[from..]) }
    }

    /// Appends a record, which must be one that can follow.
    pub(super) fn put(&mut self, record: &Record, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(16);
        self.coder.put(record, &mut body);
        let from = out.len();
        put_varint(out, body.len() as u64);
        out.append(&mut body);
        self.check = crc32c::crc32c_append(self.check, &out[from..]);
        out.extend_from_slice(&(self.check as u16).to_le_bytes());
    }

    /// Numbers introduced so far: all files below the first, all programs below the second.
    pub(super) fn introduced(&self) -> (u32, u32) {
        (self.coder.files, self.coder.programs)
    }

    /// Does the record introduce its number in the order of numbers, and is it short enough?
    fn can_follow(&self, record: &Record) -> bool {
        let (files, programs) = self.introduced();
        match record {
            Record::Name { file, place } => {
                let short = place.as_ref().is_none_or(|place| place.component.len() < RECORD_MAX / 2);
                file.0 <= files && short
            }
            Record::Program { program, identity } => program.0 == programs && identity.len() < RECORD_MAX / 2,
            Record::Learned { bytes, .. } => bytes.len() <= super::Part::PIECE,
            Record::Setting(setting) => setting.predictor.len() + setting.scope.len() < RECORD_MAX / 2,
            _ => true,
        }
    }
}

/// Writes a trace. Give it something with a buffer.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    framer: Framer,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins one.
    ///
    /// # Errors
    /// What writing says.
    pub fn new(mut out: W) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let framer = Framer::start(&mut bytes);
        out.write_all(&bytes)?;
        Ok(Writer { out, framer, bytes })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// What writing says; `InvalidInput` for a record that introduces a number out of order, or is too long.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        if !self.framer.can_follow(record) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a record that no trace can have here"));
        }
        self.bytes.clear();
        self.framer.put(record, &mut self.bytes);
        self.out.write_all(&self.bytes)
    }

    /// Has what was written reach its place.
    ///
    /// # Errors
    /// What writing says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the end and gives back what was written to, flushed.
    ///
    /// # Errors
    /// What writing says.
    pub fn finish(mut self, ending: Ending) -> io::Result<W> {
        self.write(&Record::End(ending))?;
        self.out.flush()?;
        Ok(self.out)
    }
}
