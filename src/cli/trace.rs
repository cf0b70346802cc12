//! `augurfs trace ...`: words and deeds.

mod check;

use super::{FAILURE, complain, say};
use crate::config::{DURATION_FORM, duration};
use crate::live::control::{self, Feed, Request, Response};
use crate::trace::{self, Ending, Format, Reading, Summary, Tail, Teller};
use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use crossbeam_channel::{Receiver, bounded};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a daemon that was told to stop recording may take to send the rest.
const LAST_WORDS: Duration = Duration::from_secs(10);

#[derive(Debug, Subcommand)]
pub(super) enum Trace {
    /// Record what a mount sees until Ctrl-C, or for some time
    Record(Record),
    /// Show a trace, a line for each record
    Show(Show),
    /// Replay a trace and see whether an engine asks for the same again; exit code 1 if it does not, or if the trace has no end
    Check(Input),
    /// Make a trace from what another program saw
    Import(Import),
    /// Copy a trace with hashes for names; the key is thrown away. Sizes, times and order stay
    Anonymise(Anonymise),
}

#[derive(Debug, Args)]
pub(super) struct Record {
    /// Where augurfs is mounted
    #[arg(value_name = "MOUNTPOINT")]
    mountpoint: PathBuf,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Stop after this time, as in 30s or 5min
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    time: Option<Duration>,
    /// Write hashes for names, with a key that is thrown away
    #[arg(long)]
    hash_names: bool,
}

#[derive(Debug, Args)]
pub(super) struct Input {
    /// The trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    input: Input,
    /// As JSON, an object a line
    #[arg(long)]
    json: bool,
    /// Only counts by program and operation
    #[arg(long)]
    summary: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// What FILE is: output of strace -f; a table with a header that names columns (time, pid, ppid, program, path, op, size);
    /// or process, program and path separated by tabs
    #[arg(long, value_name = "FORMAT")]
    from: From,
    /// Keep only paths below DIR, and make them relative to it; strace is taken to have been started there
    #[arg(long, value_name = "DIR")]
    below: Option<PathBuf>,
    /// What to read; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Where a trace goes.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Output {
    /// The trace to write
    #[arg(short = 'o', value_name = "OUT")]
    output: Option<PathBuf>,
    /// The same, as it was once written.
    #[arg(value_name = "OUT", hide = true)]
    old: Option<PathBuf>,
}

impl Output {
    fn path(&self) -> &Path {
        self.output.as_deref().or(self.old.as_deref()).unwrap_or(Path::new(""))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum From {
    Strace,
    Csv,
    Tsv,
}

#[derive(Debug, Args)]
pub(super) struct Anonymise {
    /// The trace
    #[arg(value_name = "IN")]
    file: PathBuf,
    #[command(flatten)]
    output: Output,
}

pub(super) fn obey(words: Trace) -> anyhow::Result<u8> {
    match words {
        Trace::Record(record) => self::record(&record).context("cannot record"),
        Trace::Show(show) => self::show(&show).context("cannot show the trace"),
        Trace::Check(input) => check::check(&input.file).context("cannot check the trace"),
        Trace::Import(import) => self::import(&import).context("cannot import"),
        Trace::Anonymise(words) => anonymise(&words).context("cannot anonymise"),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| format!("write {DURATION_FORM}"))
}

fn record(words: &Record) -> anyhow::Result<u8> {
    let name = || words.file.display();
    // What is written there would be seen, recorded, and written there.
    let mount = control::find(&words.mountpoint)?.0;
    anyhow::ensure!(
        !lies_on(&words.file, mount.device),
        "{} lies on the mount that is to be recorded",
        name()
    );
    // From here on a signal ends the recording, and not us before the daemon has told the rest.
    let stop = stop(words.time)?;
    let asked = control::listen(&words.mountpoint, Request::Record { hash_names: words.hash_names })?;
    let (Response::Recording, feed) = asked else { anyhow::bail!("the daemon answered another question") };
    let file = trace::create(&words.file).with_context(|| format!("{} cannot be written", name()))?;
    let bytes = receive(feed, &file, stop).with_context(|| format!("{} cannot be written", name()))?;
    say(&format!("recorded {bytes} bytes\n"))?;
    match last_of(&words.file)? {
        Some(Tail::Ended(Ending::Complete)) => Ok(0),
        Some(Tail::Ended(Ending::Behind)) => {
            complain("the recording fell behind: what came after its end is missing");
            Ok(FAILURE)
        }
        _ => {
            complain("the daemon has gone before the end of the recording");
            Ok(FAILURE)
        }
    }
}

/// Is the file, or would it be, on the file system of this device?
fn lies_on(file: &Path, device: (u32, u32)) -> bool {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = directory.metadata().map(|found| found.dev());
    found.is_ok_and(|found| (rustix::fs::major(found), rustix::fs::minor(found)) == device)
}

/// Tells once when to stop, and once more when to wait no longer.
fn stop(time: Option<Duration>) -> io::Result<Receiver<()>> {
    let (to, stop) = bounded(2);
    if let Some(time) = time {
        let to = to.clone();
        std::thread::Builder::new().name("timer".into()).spawn(move || {
            std::thread::sleep(time);
            let _ = to.send(());
        })?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            let _ = to.try_send(());
        }
    })?;
    Ok(stop)
}

/// Writes what the daemon sends, to its end.
fn receive(feed: Feed, file: &File, stop: Receiver<()>) -> io::Result<u64> {
    let Feed { begun, mut stream } = feed;
    file.set_len(0)?;
    let mut out = file;
    out.write_all(&begun)?;
    let line = stream.try_clone()?;
    std::thread::Builder::new().name("stop".into()).spawn(move || hang_up(&line, &stop))?;
    let more = io::copy(&mut stream, &mut out)?;
    file.sync_all()?;
    Ok(begun.len() as u64 + more)
}

fn hang_up(line: &UnixStream, stop: &Receiver<()>) {
    // The daemon ends the recording and sends the rest; one that does not is left alone.
    if stop.recv().is_ok() && line.shutdown(Shutdown::Write).is_ok() {
        let _ = stop.recv_timeout(LAST_WORDS);
        let _ = line.shutdown(Shutdown::Both);
    }
}

fn last_of(path: &Path) -> anyhow::Result<Option<Tail>> {
    let mut reader = trace::open(path)?;
    reader.by_ref().try_for_each(|record| record.map(drop))?;
    Ok(reader.tail())
}

fn show(words: &Show) -> anyhow::Result<u8> {
    let mut reader = trace::open(&words.input.file)?;
    if words.summary {
        return summarise(&mut reader, words.json);
    }
    let (mut page, mut teller) = (Page::new(), Teller::default());
    for record in reader.by_ref() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                page.finish()?;
                return Err(error.into());
            }
        };
        if let Some(shown) = teller.tell(&record) {
            page.line(&shown, words.json)?;
        }
        if page.closed {
            return Ok(0);
        }
    }
    if let Some(torn) = teller.tail(reader.tail()) {
        page.line(&torn, words.json)?;
    }
    page.finish()?;
    Ok(0)
}

fn summarise(reader: &mut trace::Reader<File>, json: bool) -> anyhow::Result<u8> {
    let mut summary = Summary::default();
    for record in reader.by_ref() {
        summary.hear(&record?);
    }
    say(&if json { format!("{}\n", serde_json::to_string(&summary)?) } else { summary.to_string() })?;
    if let Some(torn) = Teller::default().tail(reader.tail()) {
        complain(&torn.detail.unwrap_or_default());
    }
    Ok(0)
}

/// Standard output, until nobody reads it any more.
struct Page {
    out: BufWriter<io::StdoutLock<'static>>,
    closed: bool,
}

impl Page {
    fn new() -> Self {
        Page { out: BufWriter::new(io::stdout().lock()), closed: false }
    }

    fn line<T: Serialize + std::fmt::Display>(&mut self, line: &T, json: bool) -> anyhow::Result<()> {
        let text = if json { serde_json::to_string(line)? } else { line.to_string() };
        let written = writeln!(self.out, "{text}");
        self.heard(written)
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        let written = self.out.flush();
        self.heard(written)
    }

    fn heard(&mut self, written: io::Result<()>) -> anyhow::Result<()> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.context("cannot print"),
        }
    }
}

/// Opens what is to be read. Opening a fifo would wait until somebody writes to it, perhaps for ever.
fn input(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.file_type().is_fifo() {
        return Err(io::Error::other("it is a fifo: write < in front of it, and - for FILE"));
    }
    File::open(path)
}

fn import(words: &Import) -> anyhow::Result<u8> {
    let name = words.file.display().to_string();
    let input: Box<dyn BufRead> = match words.file.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(input(&words.file).with_context(|| format!("{name} cannot be read"))?)),
    };
    let below = words.below.as_deref().map(std::path::absolute).transpose()?;
    let reading = Reading { below: below.map(|path| path.as_os_str().as_bytes().to_vec()) };
    let format = match words.from {
        From::Strace => Format::Strace,
        From::Csv => Format::Csv,
        From::Tsv => Format::Tsv,
    };
    let counts =
        trace::replace(words.output.path(), |out| trace::import(format, input, &name, &reading, out))?;
    let trace::Imported { accesses, streams, files, left_out, .. } = counts;
    say(&format!("{accesses} accesses by {streams} processes, {files} names; {left_out} left out\n"))?;
    if let Some(first) = counts.first_unreadable {
        let count = counts.unreadable;
        complain(&format!("{name}: {count} lines are none of strace's, the first is line {first}"));
    }
    Ok(0)
}

fn anonymise(words: &Anonymise) -> anyhow::Result<u8> {
    let mut reader = trace::open(&words.file)?;
    let out = words.output.path();
    let name = out.display().to_string();
    let tail = trace::replace(out, |out| trace::anonymise(&mut reader, out, &name))?;
    if let Some(torn) = Teller::default().tail(tail) {
        complain(&torn.detail.unwrap_or_default());
    }
    Ok(0)
}
