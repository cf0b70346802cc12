//! What augurfs costs when everything is in memory: the same work natively and through the mount.
//!
//! ```text
//! cargo bench --bench hot -- --mount-options path=resident --rounds 5
//! cargo bench --bench hot -- --mount-options path=passthrough --only sequential,random
//! ```
//!
//! What must stay true: both sides see the same files of one ext4 in memory (git has a copy for each,
//! because it remembers inode numbers); they take turns; everything has been run before it is timed.
//!
//! Needs root, /dev/fuse, loop devices; grep, git, make and gcc for the trials of those names.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]

#[path = "../common/mod.rs"]
mod common;
mod material;
mod trials;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser};
use serde::Serialize;

use common::daemon::{Daemon, Program};
use common::median;
use common::mounts::{Loop, Mounted, Scratch, enter_namespace, make_ext4};
use common::shell::Interruption;
use trials::{Goal, Side, Trial};

/// Room for the small things beside the big file.
const SPARE: u64 = 1 << 30;

/// Compares hot work through augurfs with the same work on the native file system.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench hot --")]
struct Options {
    /// How often each side is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only these trials, comma separated: small, grep, make, git, sequential, random
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Options for augurfs, as after -o
    #[arg(long, default_value = "path=resident")]
    mount_options: String,
    /// The size of the big file, in MiB
    #[arg(long, default_value_t = 1024)]
    big: u64,
    /// Also write everything here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The augurfs to measure
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_augurfs"))]
    binary: PathBuf,
}

/// All measurements of one trial.
#[derive(Serialize)]
struct Outcome {
    trial: &'static str,
    unit: &'static str,
    goal: Goal,
    native: Vec<f64>,
    mounted: Vec<f64>,
    /// Processor time of augurfs in each mounted run, seconds.
    daemon_cpu: Vec<f64>,
}

fn main() -> ExitCode {
    common::obey("hot", run)
}

fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    if arguments.len() < 2 {
        // `cargo bench` without arguments runs every bench there is.
        return Ok(Options::command().print_help()?);
    }
    let options = Options::parse_from(arguments);
    let trials = chosen(&options.only)?;
    enter_namespace(arguments)?;
    if !options.binary.is_file() {
        bail!("{} is missing", options.binary.display());
    }
    let interruption = Interruption::watch()?;
    let scratch = Scratch::new()?;
    let source = native_file_system(&scratch, options.big << 20)?;
    for trial in &trials {
        (trial.prepare)(source.path(), options.big << 20).with_context(|| trial.name)?;
    }
    let program = Program { binary: &options.binary, options: &options.mount_options };
    let outcomes = compare(&scratch, source.path(), &program, &trials, options.rounds, &interruption)?;
    let Some(path) = &options.json else { return Ok(()) };
    Ok(std::fs::write(path, serde_json::to_string_pretty(&outcomes)? + "\n")?)
}

fn chosen(only: &[String]) -> anyhow::Result<Vec<Trial>> {
    let mut trials = trials::all();
    for name in only {
        if !trials.iter().any(|trial| trial.name == name) {
            bail!("there is no trial {name:?}");
        }
    }
    trials.retain(|trial| only.is_empty() || only.iter().any(|name| trial.name == name));
    Ok(trials)
}

fn native_file_system(scratch: &Scratch, big: u64) -> anyhow::Result<Mounted> {
    let image = scratch.path().join("image");
    make_ext4(&image, big + SPARE)?;
    Loop::attach(&image, false)?.mount(&scratch.directory("source")?, "")
}

fn compare(
    scratch: &Scratch,
    source: &Path,
    program: &Program<'_>,
    trials: &[Trial],
    rounds: usize,
    interruption: &Interruption,
) -> anyhow::Result<Vec<Outcome>> {
    let mountpoint = scratch.directory("mirror")?;
    let model = scratch.directory("model")?.join("model");
    let options = [format!("model={}", model.display())];
    let daemon = Daemon::start(program, source, &mountpoint, &options, interruption)?;
    println!("{}", active_path(&daemon)?);
    println!(
        "{:<12} {:>6} {:>12} {:>12} {:>8} {:>10} {:>9}",
        "", "", "native", "mounted", "ratio", "goal", "our CPU"
    );
    let mut outcomes = Vec::new();
    for trial in trials {
        let native = Side { root: source, mounted: false, interruption };
        let mounted = Side { root: &mountpoint, mounted: true, interruption };
        let outcome = measure(trial, &native, &mounted, &daemon, rounds).with_context(|| trial.name)?;
        println!("{}", line(&outcome));
        outcomes.push(outcome);
    }
    daemon.end()?;
    Ok(outcomes)
}

fn active_path(daemon: &Daemon<'_>) -> anyhow::Result<String> {
    let stats = daemon.stats()?;
    let text = |pointer| stats.pointer(pointer).and_then(|value| value.as_str()).unwrap_or("?").to_owned();
    Ok(format!("path {} ({})", text("/path/active"), text("/path/reason")))
}

fn measure(
    trial: &Trial,
    native: &Side<'_>,
    mounted: &Side<'_>,
    daemon: &Daemon<'_>,
    rounds: usize,
) -> anyhow::Result<Outcome> {
    let Trial { name, unit, goal, .. } = *trial;
    let mut outcome =
        Outcome { trial: name, unit, goal, native: vec![], mounted: vec![], daemon_cpu: vec![] };
    // Twice, because the second time may find what the first has left to be written or learned.
    for side in [native, mounted, native, mounted] {
        (trial.run)(side)?;
    }
    for round in 0..rounds {
        native.interruption.check()?;
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                outcome.native.push((trial.run)(native)?);
            } else {
                let before = daemon.cpu_seconds()?;
                outcome.mounted.push((trial.run)(mounted)?);
                outcome.daemon_cpu.push(daemon.cpu_seconds()? - before);
            }
        }
    }
    Ok(outcome)
}

fn line(outcome: &Outcome) -> String {
    let middle = |values: &[f64]| median(values.iter().copied()).unwrap_or(f64::NAN);
    let (native, mounted) = (middle(&outcome.native), middle(&outcome.mounted));
    let ratio = mounted / native;
    let verdict = if outcome.goal.reached(ratio) { "" } else { "  missed" };
    format!(
        "{:<12} {:>6} {native:>12.3} {mounted:>12.3} {ratio:>8.3} {:>10} {:>9.2}{verdict}",
        outcome.trial,
        outcome.unit,
        outcome.goal.to_string(),
        middle(&outcome.daemon_cpu),
    )
}
