//! A trace for people: one line a record, or one JSON object.

use std::fmt;

use serde::Serialize;

use super::record::{Ending, Record, Setting, Start};
use super::{KnownNames, Tail};
use crate::clock::Micros;
use crate::engine::{Effect, Outcome, Step, Target, Window};
use crate::event::{AccessEvent, Op, Origin, Residency};
use crate::id::{FileId, IdMap, JobId, ProgramId, StreamId};

/// One record as it is shown. What does not apply is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The time of the last record that told one, in microseconds.
    pub time_us: u64,
    /// What happened: `open`, `begin`, `prefetch` and so on.
    pub event: &'static str,
    /// What the process runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Which process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// Which file, by its path below the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What an access found: `hit`, `partial`, `miss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<&'static str>,
    /// Which job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The rest, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.time_us / 1_000_000, self.time_us % 1_000_000);
        write!(f, "{seconds:>5}.{micros:06}  ")?;
        match (&self.program, self.stream) {
            (Some(program), Some(stream)) => {
                let name = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("?");
                write!(f, "{}[{stream}]  ", printable(name))?;
            }
            (None, Some(stream)) => write!(f, "?[{stream}]  ")?,
            _ => {}
        }
        f.write_str(self.event)?;
        if let Some(job) = self.job {
            write!(f, " job {job}")?;
        }
        if let Some(path) = &self.path {
            write!(f, "  {}", printable(if path.is_empty() { "." } else { path }))?;
        }
        for word in self.found.iter().copied().chain(self.detail.as_deref()) {
            write!(f, "  {}", printable(word))?;
        }
        Ok(())
    }
}

/// Without what would move a terminal's cursor.
fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Follows a trace and tells of each record.
#[derive(Debug, Default)]
pub struct Teller {
    names: KnownNames,
    running: IdMap<StreamId, ProgramId>,
    now: Micros,
}

impl Teller {
    /// What there is to say of the next record; nothing of those that only explain numbers.
    pub fn tell(&mut self, record: &Record) -> Option<Shown> {
        self.names.hear(record);
        match record {
            Record::Setting(setting) => Some(self.plain("trace", Some(made_with(setting)))),
            Record::Name { .. } | Record::Program { .. } | Record::Learned { .. } => None,
            Record::Facts { file, facts } => {
                Some(self.about("facts", *file, Some(format!("{} bytes", facts.size))))
            }
            Record::Step(step) => Some(self.step(step)),
            Record::Effect(effect) => Some(self.effect(effect)),
            Record::End(Ending::Complete) => Some(self.plain("end", None)),
            Record::End(Ending::Behind) => Some(
                self.plain("end", Some("the recording fell behind: what came after this is missing".into())),
            ),
        }
    }

    /// What there is to say when no more records come.
    pub fn tail(&self, tail: Option<Tail>) -> Option<Shown> {
        let Some(Tail::Torn { at, lost }) = tail else { return None };
        let detail = format!("the trace is torn off at byte {at}; {lost} bytes behind that are no record");
        Some(self.plain("torn", Some(detail)))
    }

    /// The program a stream runs, as far as the trace has told.
    pub fn program_of(&self, stream: StreamId) -> Option<&str> {
        self.names.program(*self.running.get(&stream)?)
    }

    pub(super) fn now(&self) -> Micros {
        self.now
    }

    fn step(&mut self, step: &Step) -> Shown {
        match *step {
            Step::Begin(stream, origin) => self.begin(stream, origin),
            Step::Exec(stream, program) => {
                self.running.insert(stream, program);
                let path = self.names.program(program).map(str::to_owned);
                self.by("exec", stream, path)
            }
            Step::End(stream) => {
                let shown = self.by("exit", stream, None);
                self.running.remove(&stream);
                shown
            }
            Step::Access(event) => self.access(&event),
            Step::Judge(at, stream, file, residency) => {
                self.now = at;
                let (path, found) = (self.path(file), found(residency));
                Shown { path, found, ..self.by("judged", stream, None) }
            }
            Step::Started(job) => self.job("started", job, None),
            Step::Settled(at, job, outcome) => {
                self.now = at;
                self.job("settled", job, Some(told(outcome)))
            }
            Step::Tick(at) => {
                self.now = at;
                self.plain("tick", None)
            }
            Step::Window(window) => self.plain("window", Some(width(window))),
            Step::Budget(bytes) => self.plain("budget", Some(format!("{bytes} bytes"))),
            Step::Forget(file) => self.about("forget", file, None),
            Step::Listed(ref listing) => {
                let (from, count) = (listing.at, listing.entries.len());
                self.about("listed", listing.dir, Some(format!("{count} entries after {from}")))
            }
            Step::InodeWindow(window) => self.plain("inode window", Some(window.to_string())),
        }
    }

    fn begin(&mut self, stream: StreamId, origin: Origin) -> Shown {
        self.running.insert(stream, origin.program);
        let parent = origin.parent.map_or(String::new(), |parent| format!(", child of {}", parent.0));
        self.by("begin", stream, Some(format!("group {}{parent}", origin.group.0)))
    }

    fn access(&mut self, event: &AccessEvent) -> Shown {
        self.now = event.at;
        let detail = match event.op {
            Op::Read(span) => Some(format!("{} bytes at {}", span.len, span.offset)),
            _ => None,
        };
        let (path, found) = (self.path(event.file), found(event.residency));
        Shown { path, found, ..self.by(op_name(event.op), event.stream, detail) }
    }

    fn effect(&self, effect: &Effect) -> Shown {
        match *effect {
            Effect::Withdraw(job) => self.job("withdraw", job, None),
            Effect::Prefetch(job) => {
                let target = match job.target {
                    Target::Attributes => "attributes",
                    Target::Data => "data",
                    Target::Facts => "facts",
                    Target::Siblings => "siblings",
                };
                Shown { path: self.path(job.file), ..self.job("prefetch", job.id, Some(target.into())) }
            }
        }
    }

    fn plain(&self, event: &'static str, detail: Option<String>) -> Shown {
        Shown { time_us: self.now.0, event, detail, ..Shown::default() }
    }

    fn by(&self, event: &'static str, stream: StreamId, detail: Option<String>) -> Shown {
        let program = self.program_of(stream).map(str::to_owned);
        Shown { program, stream: Some(stream.0), ..self.plain(event, detail) }
    }

    fn job(&self, event: &'static str, job: JobId, detail: Option<String>) -> Shown {
        Shown { job: Some(job.0), ..self.plain(event, detail) }
    }

    fn about(&self, event: &'static str, file: FileId, detail: Option<String>) -> Shown {
        Shown { path: self.path(file), ..self.plain(event, detail) }
    }

    fn path(&self, file: FileId) -> Option<String> {
        match self.names.path(file) {
            Some(path) => Some(String::from_utf8_lossy(&path).into_owned()),
            None => Some(format!("(nameless {})", file.0)),
        }
    }
}

/// The word for an operation, here and in imports.
pub(super) fn op_name(op: Op) -> &'static str {
    match op {
        Op::Lookup => "lookup",
        Op::List => "list",
        Op::Open => "open",
        Op::Read(_) => "read",
        Op::Write => "write",
        Op::Close => "close",
        Op::Remove => "remove",
    }
}

fn found(residency: Residency) -> Option<&'static str> {
    match residency {
        Residency::Unknown => None,
        Residency::Hit => Some("hit"),
        Residency::Partial => Some("partial"),
        Residency::Miss => Some("miss"),
    }
}

fn made_with(setting: &Setting) -> String {
    let start = match setting.start {
        Start::Birth => "from the start of a mount",
        Start::Midlife => "of a mount that was running",
        Start::Imported => "imported",
    };
    format!(
        "{start}, predictor {}, stream {}, budget {} bytes",
        setting.predictor, setting.scope, setting.budget
    )
}

fn width(window: Window) -> String {
    let first = if window.names_first { ", names first" } else { "" };
    format!("{} files, {} bytes{first}", window.files, window.bytes)
}

fn told(outcome: Outcome) -> String {
    match outcome {
        Outcome::Warmed { bytes, .. } => format!("warmed, {bytes} bytes"),
        Outcome::Resident { .. } => "in memory already".into(),
        Outcome::Withdrawn => "withdrawn".into(),
        Outcome::Failed => "failed".into(),
    }
}
