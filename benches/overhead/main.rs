//! What augurfs costs when everything is in memory: the same work natively and through the mount.
//!
//! ```text
//! cargo bench --bench overhead -- --rounds 5
//! cargo bench --bench overhead -- --contenders path=passthrough,bindfs --only sequential,random --below tmpfs
//! cargo bench --bench overhead -- --daemon 1000000
//! cargo bench --bench overhead -- --instructions
//! ```
//!
//! What must stay true: both sides see the same files of one file system in memory (where a trial writes, each has a copy);
//! they take turns; everything has been run before it is timed; one contender is mounted at a time, for what one of them
//! writes would be a change from below to the others.
//!
//! Needs root, /dev/fuse, loop devices; a trial or contender whose program is missing is named and left out.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]

#[path = "../common/mod.rs"]
mod common;
mod contenders;
mod instructions;
mod material;
mod rest;
mod trials;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{CommandFactory, Parser};
use serde::Serialize;

use common::daemon::Program;
use common::median;
use common::mounts::{Loop, Mounted, Scratch, enter_namespace, make_ext4};
use common::shell::Interruption;
use contenders::Mount;
use trials::{Goal, Side, Trial};

/// Room for the small things beside the big file.
const SPARE: u64 = 1 << 30;

/// Compares hot work through augurfs with the same work on the native file system.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench overhead --")]
struct Options {
    /// How often each side is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only these trials, comma separated: small, stat, open, grep, tar, git, make, cargo, sqlite, sequential, random, mmap,
    /// readers, write64k, write4k, randwrite, create, untar
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// What is compared with the file system itself, comma separated: options for augurfs, or bindfs, mergerfs, passthrough_hp
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "path=auto,path=resident,path=passthrough,path=plain,cache=own,bindfs,mergerfs,passthrough_hp"
    )]
    contenders: Vec<String>,
    /// The file system below: ext4 or tmpfs
    #[arg(long, default_value = "ext4", value_parser = ["ext4", "tmpfs"])]
    below: String,
    /// Instead: start, memory and rest of a daemon whose model knows so many files
    #[arg(long, value_name = "FILES")]
    daemon: Option<usize>,
    /// Instead: instructions of the hot paths, counted by callgrind
    #[arg(long)]
    instructions: bool,
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
    contender: String,
    trial: &'static str,
    unit: &'static str,
    goal: Goal,
    native: Vec<f64>,
    mounted: Vec<f64>,
    /// Processor time of augurfs in each mounted run, seconds.
    daemon_cpu: Vec<f64>,
}

fn main() -> ExitCode {
    common::obey("overhead", run)
}

fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    if let [_, work, what, times] = arguments
        && work == "--work"
    {
        return instructions::work(what, times);
    }
    if arguments.len() < 2 {
        // `cargo bench` without arguments runs every bench there is.
        return Ok(Options::command().print_help()?);
    }
    let options = Options::parse_from(arguments);
    if options.instructions {
        return instructions::count();
    }
    let trials = chosen(&options.only)?;
    enter_namespace(arguments)?;
    if !options.binary.is_file() {
        bail!("{} is missing", options.binary.display());
    }
    let interruption = Interruption::watch()?;
    let scratch = Scratch::new()?;
    if let Some(files) = options.daemon {
        return rest::measure(&scratch, &options.binary, files, &interruption);
    }
    let source = native_file_system(&scratch, &options.below, options.big << 20)?;
    let trials = prepared(trials, source.path(), options.big << 20);
    let mut outcomes = Vec::new();
    for contender in &options.contenders {
        match compare(&scratch, source.path(), contender, &options, &trials, &interruption) {
            Ok(more) => outcomes.extend(more),
            Err(error) => {
                interruption.check()?;
                println!("{contender}: left out, {error:#}");
            }
        }
    }
    let Some(path) = &options.json else { return Ok(()) };
    Ok(std::fs::write(path, serde_json::to_string_pretty(&outcomes)? + "\n")?)
}

/// Makes what the trials need; those that cannot be had are named.
fn prepared(trials: Vec<Trial>, root: &Path, big: u64) -> Vec<Trial> {
    let can = |trial: &Trial| {
        let made = (trial.prepare)(root, big);
        made.inspect_err(|error| println!("{}: left out, {error:#}", trial.name)).is_ok()
    };
    trials.into_iter().filter(can).collect()
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

fn native_file_system(scratch: &Scratch, kind: &str, big: u64) -> anyhow::Result<Mounted> {
    let at = scratch.directory("source")?;
    if kind == "tmpfs" {
        return Mounted::new("tmpfs", &at, "tmpfs", "size=90%");
    }
    let image = scratch.path().join("image");
    make_ext4(&image, big + SPARE)?;
    Loop::attach(&image, false)?.mount(&at, "")
}

fn compare(
    scratch: &Scratch,
    source: &Path,
    contender: &str,
    options: &Options,
    trials: &[Trial],
    interruption: &Interruption,
) -> anyhow::Result<Vec<Outcome>> {
    let mountpoint = scratch.directory("mirror")?;
    let model = scratch.directory("model")?.join("model");
    let program = Program { binary: &options.binary, options: "" };
    let mount = Mount::of(contender, &program, source, &mountpoint, &model, interruption)?;
    println!("\n{contender} on {}{}", options.below, mount.path()?);
    println!(
        "{:<12} {:>6} {:>12} {:>12} {:>8} {:>10} {:>9}",
        "", "", "native", "mounted", "ratio", "goal", "its CPU"
    );
    let mut outcomes = Vec::new();
    for trial in trials {
        let native = Side { root: source, mounted: false, interruption };
        let mounted = Side { root: &mountpoint, mounted: true, interruption };
        match measure(trial, contender, &native, &mounted, &mount, options.rounds) {
            Ok(outcome) => {
                println!("{}", line(&outcome));
                outcomes.push(outcome);
            }
            Err(error) => {
                interruption.check()?;
                println!("{:<12} left out, {error:#}", trial.name);
            }
        }
    }
    mount.tell_requests()?;
    mount.end()?;
    Ok(outcomes)
}

fn measure(
    trial: &Trial,
    contender: &str,
    native: &Side<'_>,
    mounted: &Side<'_>,
    mount: &Mount<'_>,
    rounds: usize,
) -> anyhow::Result<Outcome> {
    let Trial { name, unit, goal, .. } = *trial;
    let mut outcome = Outcome {
        contender: contender.into(),
        trial: name,
        unit,
        goal,
        native: vec![],
        mounted: vec![],
        daemon_cpu: vec![],
    };
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
                let before = mount.cpu_seconds()?;
                outcome.mounted.push((trial.run)(mounted)?);
                outcome.daemon_cpu.push(mount.cpu_seconds()? - before);
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
