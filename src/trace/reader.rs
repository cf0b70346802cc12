//! A file into records.
//!
//! Must stay true: whatever the bytes say, no more than one record of them is held at a time.

use std::io::{self, BufReader, Read};

use super::coder::Coder;
use super::record::{Ending, Record};
use super::{MAGIC, RECORD_MAX, TraceError, VERSION};
use crate::codec;

/// Mark, version and room.
const HEAD: usize = 12;
/// Bytes of a check.
const CHECK: usize = 2;

/// How a trace that could be read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With the record that says so.
    Ended(Ending),
    /// Without: whoever wrote it had no time to end it. Everything before `at` is there.
    Torn {
        /// Where what is whole ends.
        at: u64,
        /// Bytes behind that: less than a record.
        lost: u64,
    },
}

/// Reads a trace: an iterator over its records, which ends after the first error.
#[derive(Debug)]
pub struct Reader<R> {
    input: BufReader<R>,
    name: String,
    at: u64,
    check: u32,
    coder: Coder,
    frame: Vec<u8>,
    tail: Option<Tail>,
    failed: bool,
}

impl<R: Read> Reader<R> {
    /// Begins to read what errors will call `name`.
    ///
    /// # Errors
    /// It is no trace, or one of a later version, or cannot be read.
    pub fn new(input: R, name: impl Into<String>) -> Result<Self, TraceError> {
        let mut reader = Reader {
            input: BufReader::new(input),
            name: name.into(),
            at: 0,
            check: 0,
            coder: Coder::new(),
            frame: Vec::new(),
            tail: None,
            failed: false,
        };
        reader.read_head()?;
        Ok(reader)
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the next record begins, in bytes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// How it ended, as soon as it has.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    fn read_head(&mut self) -> Result<(), TraceError> {
        let whole = self.fill(HEAD)?;
        let name = self.name.clone();
        if !self.frame.starts_with(MAGIC) {
            return Err(TraceError::Foreign { name });
        }
        let version = match self.frame.get(8..10) {
            Some(bytes) => u16::from_le_bytes([bytes[0], bytes[1]]),
            None => return Err(self.damaged(8, "a version")),
        };
        if version > VERSION {
            return Err(TraceError::Version { name, found: version });
        }
        if version == 0 {
            return Err(self.damaged(8, "a version from 1 on"));
        }
        if !whole || self.frame[10..] != [0, 0] {
            return Err(self.damaged(10, "two bytes of zero"));
        }
        self.check = crc32c::crc32c(&self.frame);
        self.at = HEAD as u64;
        Ok(())
    }

    /// The next record; `None` at the end, whole or torn.
    fn read(&mut self) -> Result<Option<Record>, TraceError> {
        self.frame.clear();
        let Some(length) = self.length()? else { return Ok(None) };
        let head = self.frame.len();
        if !self.fill(length + CHECK)? {
            return Ok(self.torn());
        }
        let (body, check) = (&self.frame[head..head + length], &self.frame[head + length..]);
        let sum = crc32c::crc32c_append(self.check, &self.frame[..head + length]);
        if (sum as u16).to_le_bytes() != check {
            return Err(self.damaged(self.at, "a record that fits its check"));
        }
        let record = match self.coder.get(&mut codec::Reader::new(body)) {
            Ok(record) => record,
            Err(error) => {
                return Err(self.damaged(self.at + (head + error.at) as u64, error.expected));
            }
        };
        self.check = sum;
        self.at += self.frame.len() as u64;
        if let Record::End(ending) = record {
            self.tail = Some(Tail::Ended(ending));
            self.frame.clear();
            if self.fill(1)? || !self.frame.is_empty() {
                return Err(self.damaged(self.at, "the end of the file"));
            }
        }
        Ok(Some(record))
    }

    /// The length of the next body, its bytes in the frame; `None` when the file ends before it does.
    fn length(&mut self) -> Result<Option<usize>, TraceError> {
        let mut length = 0;
        for shift in [0, 7] {
            if !self.fill(1)? {
                self.torn();
                return Ok(None);
            }
            let byte = self.frame[self.frame.len() - 1];
            length |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let overlong = self.frame.last().is_some_and(|byte| *byte >= 0x80);
        if length == 0 || length > RECORD_MAX || overlong {
            return Err(self.damaged(self.at, "the length of a record, 1 to 8192"));
        }
        Ok(Some(length))
    }

    /// Appends so many bytes to the frame; false when the file ends before.
    fn fill(&mut self, count: usize) -> Result<bool, TraceError> {
        let read = (&mut self.input).take(count as u64).read_to_end(&mut self.frame);
        match read {
            Ok(got) => Ok(got == count),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    fn torn(&mut self) -> Option<Record> {
        self.tail = Some(Tail::Torn { at: self.at, lost: self.frame.len() as u64 });
        None
    }

    /// The error that says what should have been there.
    pub(super) fn damaged(&self, at: u64, expected: &'static str) -> TraceError {
        TraceError::Damaged { name: self.name.clone(), at, expected }
    }

    fn unreadable(&self, error: io::Error) -> TraceError {
        TraceError::Read { name: self.name.clone(), error }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.tail.is_some() {
            return None;
        }
        let next = self.read().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
