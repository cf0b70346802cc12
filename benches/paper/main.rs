//! The published measurements made again, as tables and figures: one job in every arm, cold, on a slow device.
//!
//! ```text
//! cargo bench --bench paper -- glimpse --device net --runs 20
//! cargo bench --bench paper -- summary > page.md
//! ```
//!
//! What must stay true: a sample is kept as it was measured, and a table is made of kept samples only; what is already
//! there is not run again; a figure that breaks a rule (`hygiene`) is not printed, and why stands in its place.
//!
//! Needs root, /dev/fuse, loop devices, and what each table says: an arm that cannot be run is named with the reason.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]
#![allow(dead_code, reason = "the shared parts have more than this bench uses")]

mod arms;
mod chart;
#[path = "../common/mod.rs"]
mod common;
mod hygiene;
mod jobs;
mod journal;
mod machine;
mod own_device;
mod published;
mod reads;
#[path = "../slow_device/server.rs"]
mod server;
#[path = "../slow_device/stage.rs"]
mod stage;
mod summary;
mod tables;
mod theatre;
mod workers;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser};
use indicatif::{ProgressBar, ProgressStyle};

use common::mounts::{Scratch, enter_namespace};
use common::shell::Interruption;
use jobs::Table;
use journal::{Journal, Key};
use theatre::Theatre;

/// Measures one of the published tables, or prints all that were measured.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench paper --")]
struct Options {
    /// glimpse, ld, andrew, ssh, dear, window, tiobench, dbench, pollution, adversary; or summary
    table: String,
    /// disk and net are models; own is this machine's own, below --work
    #[arg(long, default_value = "net")]
    device: String,
    /// Measured runs of every arm; 20 for a published table
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Runs a model learns from before it is measured
    #[arg(long, default_value_t = 3)]
    training: usize,
    /// How much of the full workload, 0..1: less is for trying out
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// For the device's rotations and everything drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these arms, as the table names them
    #[arg(long, value_delimiter = ',')]
    arms: Vec<String>,
    /// Raw samples; measuring goes on from what is there [default: below --work]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A figure; a PNG beside it
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Where raw samples and sources are kept
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/target/paper"))]
    work: PathBuf,
    /// The augurfs to measure
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_augurfs"))]
    binary: PathBuf,
}

fn main() -> ExitCode {
    common::obey("paper", run)
}

fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    match arguments {
        [_, serve, kind, image, mountpoint] if serve == "--serve" => {
            let kind = kind.to_str().and_then(|kind| kind.parse().ok()).context("which device?")?;
            return server::serve(kind, Path::new(image), Path::new(mountpoint));
        }
        [_, worker, rest @ ..] if worker == "--worker" => return workers::work(rest),
        // `cargo bench` without arguments runs every bench there is.
        [_] => return Ok(Options::command().print_help()?),
        _ => {}
    }
    let options = Options::parse_from(arguments);
    if options.table == "summary" {
        print!("{}", summary::page(&options.work)?);
        return Ok(());
    }
    let table = jobs::find(&options.table, options.scale)
        .with_context(|| format!("there is no table {:?}", options.table))?;
    std::fs::create_dir_all(&options.work)?;
    let kept = options
        .json
        .clone()
        .unwrap_or_else(|| options.work.join(format!("{}-{}.json", options.table, options.device)));
    let setting = journal::Setting::new(&options.table, &options.device, options.seed, options.scale);
    let mut journal = Journal::open(&kept, setting)?;
    let measured = enter_namespace(arguments).and_then(|()| measure(&options, &table, &mut journal));
    if let Err(error) = &measured {
        journal.skip("every arm", &format!("{error:#}"))?;
    }
    println!("{}", tables::render(&journal));
    if let Some(svg) = &options.svg {
        chart::draw(&journal, svg)?;
    }
    measured
}

/// Runs what is not in the journal yet.
fn measure(options: &Options, table: &Table, journal: &mut Journal) -> anyhow::Result<()> {
    if !options.binary.is_file() {
        bail!("{} is missing", options.binary.display());
    }
    journal.forget_skips()?;
    let interruption = Interruption::watch()?;
    let scratch = Scratch::new()?;
    let tree = scratch.directory("tree")?;
    (table.prepare)(
        &tree,
        &jobs::Making { scale: options.scale, work: &options.work, interruption: &interruption },
    )
    .with_context(|| format!("the files of {}", table.name))?;
    let mut theatre = Theatre::open(options, &scratch, &tree, &interruption)?;
    std::fs::remove_dir_all(&tree)?;
    journal.set_raw_rate(theatre.raw_rate())?;
    let plan = plan(options, table, journal)?;
    let bar = ProgressBar::new(plan.len() as u64);
    bar.set_style(ProgressStyle::with_template(
        "{elapsed_precise} {bar:30} {pos}/{len} {msg} (ends in {eta})",
    )?);
    for (key, job, arm) in plan {
        interruption.check()?;
        bar.set_message(format!("{} {} run {}", key.job, key.arm, key.run));
        if !journal.has(&key) && !journal.is_skipped(&format!("{} {}", key.job, key.arm)) {
            match theatre.perform(&key, job, arm) {
                Ok(sample) => journal.add(sample)?,
                Err(error) => {
                    interruption.check()?;
                    journal.skip(&format!("{} {}", key.job, key.arm), &format!("{error:#}"))?;
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

type Step<'a> = (Key, &'a jobs::Job, arms::Arm);

/// Arms take turns, every other run the other way round, so that a drift of the machine favours none.
fn plan<'a>(options: &Options, table: &'a Table, journal: &mut Journal) -> anyhow::Result<Vec<Step<'a>>> {
    let mut plan = Vec::new();
    for job in &table.jobs {
        if let Some(missing) = job.missing_program() {
            journal.skip(&format!("{}, every arm", job.name), &format!("there is no {missing}"))?;
            continue;
        }
        for run in 0..options.runs {
            let mut arms = table.arms.clone();
            if run % 2 == 1 {
                arms.reverse();
            }
            for arm in arms {
                let name = arm.name();
                if options.arms.is_empty() || options.arms.contains(&name) {
                    plan.push((Key { job: job.name.clone(), arm: name, run }, job, arm));
                }
            }
        }
    }
    Ok(plan)
}
