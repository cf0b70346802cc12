//! A slow device for measuring, and the command that measures on it: one job, cold and hot, without
//! augurfs, the first time with it and the second time.
//!
//! ```text
//! cargo bench --bench slow_device -- --device net --tree /usr/share/doc -- 'tar cf - {tree} | cat > /dev/null'
//! cargo bench --bench slow_device -- --device disk --job git
//! cargo bench --bench slow_device -- --device net --tree /usr/share/doc --parallel 64
//! cargo bench --bench slow_device -- --device net --tree /usr/share/doc --check
//! ```
//!
//! Needs root, /dev/fuse, loop devices, and mkfs.ext4, losetup, unshare and fincore (e2fsprogs and
//! util-linux). The image lives in memory: about twice the size of the tree.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]

mod arms;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod jobs;
mod parallel;
mod report;
mod server;
mod stage;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use augurfs::device::Kind;
use clap::{CommandFactory, Parser, ValueEnum};

use arms::{Arm, Group, Job, Theatre};
use common::daemon::Program;
use common::mounts::{Scratch, enter_namespace};
use common::shell::Interruption;
use jobs::{Named, Steps};
use report::Report;
use stage::{Plan, Stage};

/// Measures a job on a slow device: cold, first and second run through augurfs, hot.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench slow_device --")]
struct Options {
    /// Which device model
    #[arg(long)]
    device: Kind,
    /// The tree to copy onto the device; some of the jobs with names bring their own
    #[arg(long, required_unless_present = "job")]
    tree: Option<PathBuf>,
    /// A job that is known by name, instead of a command
    #[arg(long, conflicts_with = "command")]
    job: Option<Named>,
    /// Keep here what a job has to prepare, for the next time
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// What to measure
    #[arg(long, value_delimiter = ',', default_values_t = Group::ALL)]
    arms: Vec<Group>,
    /// How often to measure every arm
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// For the device's rotations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of the device, in MiB
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// More options for augurfs, as after -o
    #[arg(long, default_value = "")]
    mount_options: String,
    /// Only the arms without augurfs
    #[arg(long)]
    native_only: bool,
    /// Instead of a job: this many readers of cold files against one
    #[arg(long, value_name = "READERS")]
    parallel: Option<usize>,
    /// Instead of a job: is the device what it claims to be?
    #[arg(long)]
    check: bool,
    /// Also write everything here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The augurfs to measure
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_augurfs"))]
    binary: PathBuf,
    /// A job that takes longer than this has failed, in seconds
    #[arg(long, default_value_t = 300)]
    limit: u64,
    /// A shell command; {tree} and {scratch} are replaced by paths
    #[arg(last = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    common::obey("slow_device", run)
}

fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    if let [_, serve, kind, image, mountpoint] = arguments
        && serve == "--serve"
    {
        let kind = kind.to_str().and_then(|kind| kind.parse().ok()).context("which device?")?;
        return server::serve(kind, Path::new(image), Path::new(mountpoint));
    }
    if arguments.len() < 2 {
        // `cargo bench` without arguments runs every bench there is.
        return Ok(Options::command().print_help()?);
    }
    let options = Options::parse_from(arguments);
    enter_namespace(arguments)?;
    measure(&options)
}

fn measure(options: &Options) -> anyhow::Result<()> {
    let interruption = Interruption::watch()?;
    if !options.native_only && !options.check && !options.binary.is_file() {
        bail!("{} is missing", options.binary.display());
    }
    let (size, scratch) = (options.size << 20, Scratch::new()?);
    let given = options.tree.as_ref().map(|tree| tree.canonicalize()).transpose().context("--tree")?;
    let words = options.command.join(" ");
    let steps = match options.job {
        Some(job) => job.steps(),
        None => Steps::of_command(&words),
    };
    let name = options.job.and_then(|job| job.to_possible_value());
    let at = match (&options.keep, &name) {
        (Some(keep), Some(name)) => keep.join(name.get_name()),
        _ => scratch.directory("prepared")?,
    };
    let tree = jobs::prepare(&steps, &at, given.as_deref(), &interruption)?;
    let plan = Plan { kind: options.device, seed: options.seed, size, tree: &tree, settle: steps.settle };
    let mut stage = Stage::build(&scratch, &plan, &interruption)?;
    let program = Program { binary: &options.binary, options: &options.mount_options };
    let program = (!options.native_only).then_some(program);
    if options.check {
        return check::check(&mut stage, size);
    }
    if let Some(readers) = options.parallel {
        return parallel::compare(&mut stage, readers, program.as_ref(), &interruption);
    }
    if steps.command.is_empty() {
        bail!("which job? Give its name, or a shell command after --");
    }
    let job = Job { steps, prepared: &tree, limit: Duration::from_secs(options.limit) };
    let title = name.as_ref().map_or(steps.command, |name| name.get_name());
    run_rounds(options, Theatre { stage: &mut stage, job, program, interruption: &interruption }, title)
}

fn run_rounds(options: &Options, mut theatre: Theatre<'_, '_>, command: &str) -> anyhow::Result<()> {
    let device = options.device.as_str();
    println!("{device}, {} MiB, {} round(s): {command}", options.size, options.rounds);
    let mut samples = Vec::new();
    for round in 0..options.rounds {
        samples.extend(theatre.round(round, &options.arms)?);
    }
    print!("{}", report::table(&samples));
    println!("{}", report::row(command, device, &samples));
    let Some(path) = &options.json else { return Ok(()) };
    let report = Report {
        device,
        job: command,
        seed: options.seed,
        size_bytes: options.size << 20,
        rounds: options.rounds,
        gap_closed_first: report::gap_closed(&samples, Arm::First),
        gap_closed_second: report::gap_closed(&samples, Arm::Second),
        samples: &samples,
    };
    report::write_json(&report, path)
}
