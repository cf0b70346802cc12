//! Lines of a text that may be anything.

use std::io::{BufRead, Read};

use crate::trace::TraceError;

/// The longest line: several times the longest path, with every byte escaped.
const LINE_MAX: usize = 64 << 10;

/// Reads line by line and knows where it is.
pub(super) struct Lines<R> {
    input: R,
    name: String,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, name: &str) -> Self {
        Lines { input, name: name.to_owned(), number: 0, line: Vec::new() }
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, TraceError> {
        self.line.clear();
        let read = (&mut self.input).take(LINE_MAX as u64 + 1).read_until(b'\n', &mut self.line);
        let got = read.map_err(|error| TraceError::Read { name: self.name.clone(), error })?;
        if got == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if got > LINE_MAX {
            return Err(self.error(LINE_MAX, "the end of a line"));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some(std::mem::take(&mut self.line)))
    }

    /// The number of the last line.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The error at byte `at` of the last line.
    pub(super) fn error(&self, at: usize, expected: impl Into<String>) -> TraceError {
        self.error_at(self.number, at, expected)
    }

    pub(super) fn error_at(&self, line: u64, at: usize, expected: impl Into<String>) -> TraceError {
        TraceError::Text { name: self.name.clone(), line, column: at as u64 + 1, expected: expected.into() }
    }
}
