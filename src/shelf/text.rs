//! A model as lines of JSON: one for the model, one for each file, program and access of the history.
//!
//! Must stay true: what is written can be read, and gives the same model.

use std::io::{self, BufRead, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Parts, ShelfError, Shelved};
use crate::codec::text::{from_text, to_text};
use crate::engine::{FactTable, Facts};
use crate::id::{FileId, ProgramId};
use crate::names::{Listed, Names, Programs};
use crate::predict::{History, Kind, PastAccess, PredictorChoice};

/// Goes up when older programs could not read the text any more.
const FORM: u32 = 1;
/// More lines than any model has that fits into memory limits.
const NUMBER_MAX: u32 = 1 << 28;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    Model { form: u32, predictor: String, files: u32 },
    File(FileLine),
    Program { number: u32, identity: String },
    Access(AccessLine),
}

/// A name in its directory, and what is known of the file. The root is file 0 and has no line.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FileLine {
    file: u32,
    #[serde(rename = "in")]
    parent: u32,
    name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Known>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Known {
    inode: u64,
    size: u64,
    address: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    directory: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct AccessLine {
    run: u32,
    program: u32,
    #[serde(rename = "use")]
    how: How,
    /// `None` when it was forgotten.
    file: Option<u32>,
    life: u8,
    after: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    scan: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum How {
    Open,
    List,
    Lookup,
}

impl Shelved {
    /// Writes the model as text.
    ///
    /// # Errors
    /// It is damaged, or its history is one that only its predictor can read; or writing fails, for which the path is the model's.
    pub fn export(&self, out: &mut dyn Write) -> Result<(), ShelfError> {
        let parts = self.parts("exported")?;
        write_lines(&parts, out).map_err(|error| ShelfError::Io { path: self.path.clone(), error })
    }

    /// Reads what [`Shelved::export`] wrote: a model to be kept at `path`. `from` is for error messages.
    ///
    /// # Errors
    /// Which line is wrong, or that reading fails.
    pub fn import(text: &mut dyn BufRead, from: &Path, path: &Path) -> Result<Shelved, ShelfError> {
        let mut reading = Reading::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.map_err(|error| ShelfError::Io { path: from.into(), error })?;
            let wrong = |problem| ShelfError::Line { path: from.into(), line: number + 1, problem };
            let line = serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
            reading.take(line, number == 0).map_err(wrong)?;
        }
        let line = 1 + reading.listed.len();
        let wrong = |problem| ShelfError::Line { path: from.into(), line, problem };
        Ok(Shelved::of_parts(path, reading.finish().map_err(wrong)?))
    }
}

fn write_lines(parts: &Parts, out: &mut dyn Write) -> io::Result<()> {
    let mut put = |line: &Line| -> io::Result<()> {
        serde_json::to_writer(&mut *out, line)?;
        out.write_all(b"\n")
    };
    let files = parts.names.len() as u32;
    put(&Line::Model { form: FORM, predictor: parts.predictor.to_string(), files })?;
    for listed in parts.names.listing() {
        let known = parts.facts.get(listed.file).map(|facts| Known {
            inode: facts.inode,
            size: facts.size,
            address: facts.extent,
            directory: facts.directory,
        });
        let (file, parent, name) = (listed.file.0, listed.parent.0, to_text(&listed.name));
        put(&Line::File(FileLine { file, parent, name, removed: listed.gone, known }))?;
    }
    for number in 0..parts.programs.len() as u32 {
        let identity = parts.programs.identity(ProgramId(number)).unwrap_or_default().to_owned();
        put(&Line::Program { number, identity })?;
    }
    parts.history.0.iter().try_for_each(|past| put(&Line::Access(access_line(past))))
}

fn access_line(past: &PastAccess) -> AccessLine {
    let how = match past.kind {
        Kind::Open | Kind::Head => How::Open,
        Kind::List => How::List,
        // Siblings are expected, never seen.
        Kind::Lookup | Kind::Siblings => How::Lookup,
    };
    AccessLine {
        run: past.run,
        program: past.program.0,
        how,
        file: past.file.map(|file| file.0),
        life: past.life,
        after: past.after,
        repeated: past.repeated,
        scan: past.scan,
    }
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    predictor: PredictorChoice,
    files: u32,
    listed: Vec<Listed>,
    facts: FactTable,
    programs: Programs,
    history: Vec<PastAccess>,
}

impl Reading {
    fn take(&mut self, line: Line, first: bool) -> Result<(), String> {
        match line {
            Line::Model { form, .. } if form != FORM => Err(format!("form {form} is not known")),
            Line::Model { predictor, files, .. } if first && (1..NUMBER_MAX).contains(&files) => {
                self.files = files;
                self.predictor = match predictor.parse() {
                    Ok(known @ (PredictorChoice::Default | PredictorChoice::Match)) => known,
                    _ => return Err(format!("predictor {predictor} cannot be imported")),
                };
                Ok(())
            }
            Line::Model { .. } => Err("the model's line comes first, once, and counts its files".into()),
            _ if first => Err("the first line must be the model's".into()),
            Line::File(line) => self.file(line),
            Line::Program { number, identity } => match self.programs.intern(&identity).0 == number {
                true => Ok(()),
                false => Err("programs are numbered from 0, each once".into()),
            },
            Line::Access(line) => self.access(&line),
        }
    }

    fn file(&mut self, line: FileLine) -> Result<(), String> {
        let last = self.listed.last().map_or(0, |listed| listed.file.0);
        if line.file <= last || line.file >= self.files || line.parent >= self.files {
            return Err("files are numbered upwards, below the model's count".into());
        }
        let name = from_text(&line.name).ok_or("a name has a percent sign without two digits")?;
        let (file, parent) = (FileId(line.file), FileId(line.parent));
        if let Some(known) = line.known {
            let Known { inode, size, address: extent, directory } = known;
            self.facts.set(file, Facts { inode, size, extent, directory });
        }
        self.listed.push(Listed { file, parent, name, gone: line.removed });
        Ok(())
    }

    fn access(&mut self, line: &AccessLine) -> Result<(), String> {
        if line.file.is_some_and(|file| file >= self.files) || line.after as usize > self.history.len() {
            return Err("an access is of a file of the model, after an earlier access".into());
        }
        self.history.push(PastAccess {
            file: line.file.map(FileId),
            kind: match line.how {
                How::Open => Kind::Open,
                How::List => Kind::List,
                How::Lookup => Kind::Lookup,
            },
            run: line.run,
            program: ProgramId(line.program),
            life: line.life.min(3),
            after: line.after,
            repeated: line.repeated,
            scan: line.scan,
        });
        Ok(())
    }

    fn finish(self) -> Result<Parts, String> {
        if self.files == 0 {
            return Err("there is no model".into());
        }
        let names =
            Names::from_listing(self.files as usize, self.listed).map_err(|error| error.to_string())?;
        let (predictor, programs, facts) = (self.predictor, self.programs, self.facts);
        Ok(Parts { predictor, names, programs, facts, history: History(self.history) })
    }
}
