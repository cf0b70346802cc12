//! `augurfs model`: what can be done with model files outside of a mount.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use std::ffi::OsString;

use super::say;
use crate::config::{PathMap, show_bytes, show_count};
use crate::shelf::{self, ShelfError, Shelved, Survey};

/// Programs shown; the JSON has them all.
const MOST_ROWS: usize = 10;

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Show what a model is and holds
    Show(Show),
    /// Read all of a model as a mount would, and say what is wrong with it
    Check(Several),
    /// Print a model as lines of JSON
    Export(One),
    /// Make a model from lines that export printed
    Import(Import),
    /// Make one model of several of the same tree
    Merge(Merge),
    /// Make a model for a tree in which what was learned lies elsewhere
    Relocate(Relocate),
    /// Take a file, a directory with all below it, or a program out of a model
    Forget(Forget),
}

#[derive(Debug, Args)]
pub(super) struct One {
    /// The model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Several {
    /// The model files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    one: One,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// What export printed; - is standard input
    #[arg(value_name = "LINES")]
    lines: PathBuf,
    /// The model file to write
    #[arg(short = 'o', value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Merge {
    /// The models; where they contradict each other, the one that was saved later wins
    #[arg(value_name = "FILE", num_args = 2.., required = true)]
    files: Vec<PathBuf>,
    /// The model file to write; may be one of them
    #[arg(short = 'o', value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Relocate {
    #[command(flatten)]
    one: One,
    /// What of it is taken, and where that lies in the other tree: doc: takes what was learned below doc, :share/doc puts
    /// all below share/doc
    #[arg(value_name = "FROM:TO")]
    map: PathMap,
    /// The model file to write
    #[arg(short = 'o', value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Forget {
    #[command(flatten)]
    one: One,
    /// A path below the source, or a program: its path, as show names it, or its name
    #[arg(value_name = "PATH|PROGRAM")]
    what: OsString,
}

pub(super) fn run(command: &ModelCommand) -> anyhow::Result<u8> {
    match command {
        ModelCommand::Show(words) => show(words).context("cannot show the model")?,
        ModelCommand::Check(words) => return Ok(check_each(&words.files)),
        ModelCommand::Export(words) => export(&words.file).context("cannot export the model")?,
        ModelCommand::Import(words) => import(words).context("cannot import a model")?,
        ModelCommand::Merge(words) => merge(words).context("cannot merge the models")?,
        ModelCommand::Relocate(words) => relocate(words).context("cannot relocate the model")?,
        ModelCommand::Forget(words) => forget(words).context("cannot forget")?,
    }
    Ok(0)
}

fn show(words: &Show) -> anyhow::Result<()> {
    let survey = Shelved::open(&words.one.file)?.survey()?;
    if words.json {
        return say(&format!("{}\n", serde_json::to_string(&survey)?));
    }
    say(&told(&survey))
}

fn told(survey: &Survey) -> String {
    let Survey { predictor, version, names, facts, accesses, runs, repeated, scanned, .. } = survey;
    let mut out = format!("Predictor {predictor}, format {version}, {} bytes.\n", show_bytes(survey.bytes));
    if let Some(at) = survey.saved_at {
        let past = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs().saturating_sub(at);
        let ago = crate::config::show_duration(std::time::Duration::from_secs(past));
        out += &format!("Saved {ago} ago.\n");
    }
    let (names, accesses) = (
        show_count(*names, "name"),
        if *accesses == 1 { "1 access".to_owned() } else { format!("{accesses} accesses") },
    );
    out += &format!("{names}; of {facts} the size is known.\n");
    out += &format!(
        "{accesses} in {}; {repeated} were repeated later, {scanned} belong to scans.\n",
        show_count(*runs, "run")
    );
    if let (Some(oldest), Some(newest)) = (&survey.oldest, &survey.newest) {
        out += &format!("From {} (the oldest) to {} (the newest).\n", place(oldest), place(newest));
    }
    if !survey.programs.is_empty() {
        out += &format!("\n  {:>8} {:>8}  program\n", "opens", "files");
    }
    for row in survey.programs.iter().take(MOST_ROWS) {
        let program = if row.program.is_empty() { "(unknown)" } else { &row.program };
        out += &format!("  {:>8} {:>8}  {program}\n", row.opens, row.files);
    }
    if survey.programs.len() > MOST_ROWS {
        out += &format!("  and {} more\n", survey.programs.len() - MOST_ROWS);
    }
    out
}

/// The source itself has no name.
fn place(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Checks them all, whatever is wrong with some.
fn check_each(files: &[PathBuf]) -> u8 {
    let unsound = files.iter().filter(|file| {
        let checked = check(file).context("not a sound model");
        checked.inspect_err(|error| super::complain(&format!("{error:#}"))).is_err()
    });
    if unsound.count() == 0 { 0 } else { super::FAILURE }
}

fn check(file: &Path) -> anyhow::Result<()> {
    let shelved = Shelved::open(file)?;
    let knows = shelved.engine()?.snapshot();
    shelved.survey()?;
    say(&format!("{}: sound: predictor {}, {} entries\n", file.display(), knows.predictor, knows.nodes))
}

fn export(file: &Path) -> anyhow::Result<()> {
    let shelved = Shelved::open(file)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    match shelved
        .export(&mut out)
        .and_then(|()| out.flush().map_err(|error| ShelfError::Io { path: "standard output".into(), error }))
    {
        // Whoever stops listening early (`| head`) has heard enough.
        Err(ShelfError::Io { error, .. }) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn import(words: &Import) -> anyhow::Result<()> {
    let shelved = if words.lines == Path::new("-") {
        Shelved::import(&mut std::io::stdin().lock(), Path::new("standard input"), &words.output)?
    } else {
        let file = File::open(&words.lines).with_context(|| words.lines.display().to_string())?;
        Shelved::import(&mut BufReader::new(file), &words.lines, &words.output)?
    };
    shelved.engine()?;
    Ok(shelved.store()?)
}

fn merge(words: &Merge) -> anyhow::Result<()> {
    let _lock = shelf::lock(&words.output)?;
    let mut models = Vec::new();
    for file in &words.files {
        let model = Shelved::open(file)?;
        models.push((model.survey()?.saved_at, model));
    }
    models.sort_by_key(|(saved_at, _)| *saved_at);
    let mut models = models.into_iter().map(|(_, model)| model);
    let mut all = models.next().context("nothing to merge")?;
    for newer in models {
        all = Shelved::unite(&all, &newer, &words.output)?;
    }
    Ok(all.write()?)
}

fn relocate(words: &Relocate) -> anyhow::Result<()> {
    let _lock = shelf::lock(&words.output)?;
    Ok(Shelved::open(&words.one.file)?.relocate(&words.map, &words.output)?.write()?)
}

fn forget(words: &Forget) -> anyhow::Result<()> {
    let _lock = shelf::lock(&words.one.file)?;
    let mut shelved = Shelved::open(&words.one.file)?;
    let gone = shelved.forget(words.what.as_bytes())?;
    shelved.write()?;
    let names = (gone.names > 0).then(|| show_count(gone.names as u64, "name"));
    let programs = gone.programs.into_iter().map(|program| format!("{program} and what it did"));
    let gone: Vec<_> = names.into_iter().chain(programs).collect();
    say(&format!("{}: forgotten: {}\n", words.one.file.display(), gone.join(", ")))
}
