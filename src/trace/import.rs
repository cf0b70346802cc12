//! Traces from what other programs saw: the output of strace, or a table of accesses.
//!
//! Must stay true: what cannot be read is told with its line and column, or counted; memory grows with files and processes, not
//! with what a line claims.

use std::io::{BufRead, Write};

use super::TraceError;
use super::record::{Setting, Start};
use crate::config::Scope;
use crate::engine::Settings;
use crate::predict::PredictorChoice;

mod book;
mod call;
mod csv;
mod lines;
mod paths;
mod strace;
mod tsv;

use book::Book;
use lines::Lines;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Output of `strace -f`, with or without times.
    Strace,
    /// A table with a header line.
    Csv,
    /// Process, program and path, separated by tabs; no header.
    Tsv,
}

/// How it is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Only paths below this directory count, and become relative to it. For strace it is also where the first process is
    /// believed to have started.
    pub below: Option<Vec<u8>>,
}

/// What an import came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Accesses written.
    pub accesses: u64,
    /// Processes seen.
    pub streams: u64,
    /// Files and directories named.
    pub files: u64,
    /// Accesses left out: they failed, or lie elsewhere.
    pub left_out: u64,
    /// Lines that could not be understood (strace only: programs write between its lines).
    pub unreadable: u64,
    /// The first of them, from 1.
    pub first_unreadable: Option<u64>,
}

/// Reads `from`, which errors call `name`, and writes a trace to `to`.
///
/// # Errors
/// Where the text is not what it should be, or what reading or writing says.
pub fn import(
    format: Format,
    from: impl BufRead,
    name: &str,
    reading: &Reading,
    to: &mut dyn Write,
) -> Result<Imported, TraceError> {
    // A replay needs some settings; the defaults of a mount do, with the least of memories.
    let settings =
        Settings { predictor: PredictorChoice::Default, scope: Scope::default(), budget: 64 << 20 };
    let setting = Setting::new(settings, Start::Imported);
    let mut book = Book::new(&setting, reading.below.as_deref(), to);
    let mut lines = Lines::new(from, name);
    match format {
        Format::Strace => strace::read(&mut lines, &mut book)?,
        Format::Csv => csv::read(&mut lines, &mut book)?,
        Format::Tsv => tsv::read(&mut lines, &mut book)?,
    }
    book.finish()
}

#[cfg(test)]
mod tests;
