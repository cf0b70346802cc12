//! Real programs on a small cache of our own: blocks read, by replacement policy, beside the published figures of DEAR.
//!
//! ```text
//! cargo bench --bench dear
//! cargo bench --bench dear -- --sizes 2M,4M,6M,8M,10M --policies lru,dear --only cscope,sort,cscope+sort
//! cargo bench --bench dear -- --record DIRECTORY
//! augurfs blocks DIRECTORY/*.trace --cache 2M,4M,6M,8M,10M
//! ```
//!
//! With `--record` each combination is run once, and what it refers to is written to a trace: then `augurfs blocks`
//! counts for all policies and sizes what they make of the very same references.
//!
//! What must stay true: every run starts from an empty cache and the same files; nothing is fetched ahead; programs of
//! a pair start together, and the run ends with the last of them.
//!
//! Needs root, /dev/fuse, and cscope, glimpse, sort, ld, gcc, gnuplot, sqlite3 and wc for the jobs of those names
//! (Debian packages cscope, glimpse, coreutils, binutils, gcc, gnuplot-nox, sqlite3). A job whose program is missing is
//! left out.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]
#![allow(dead_code, reason = "the shared part has more than this bench uses")]

#[path = "../common/mod.rs"]
mod common;
mod jobs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser};

use common::daemon::{Daemon, Program};
use common::mounts::{Scratch, enter_namespace, unmount};
use common::shell::{Interruption, run};
use jobs::Job;

/// No job takes longer, on any machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The combinations of the published measurements, and their response times with LRU and DEAR where there are any.
const PUBLISHED: &[(&str, Option<(f64, f64)>)] = &[
    ("cscope", Some((19.77, 12.87))),
    ("glimpse", Some((39.55, 33.73))),
    ("sort", Some((16.59, 13.60))),
    ("link", Some((23.35, 23.38))),
    ("cpp", Some((93.39, 91.61))),
    ("gnuplot", Some((44.30, 41.39))),
    ("join", None),
    ("cscope+sort", Some((70.96, 66.61))),
    ("glimpse+link", Some((89.87, 74.29))),
    ("cscope+wc", Some((81.27, 62.88))),
    ("glimpse+wc", Some((89.97, 82.36))),
    ("cscope+sort+link", None),
];

/// Measures how many blocks real programs have read through an own cache.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench dear --")]
struct Options {
    /// Policies to compare
    #[arg(long, value_delimiter = ',', default_value = "lru,lru-seq,dear,arc,s3fifo,sieve,default")]
    policies: Vec<String>,
    /// Sizes of the cache
    #[arg(long, value_delimiter = ',', default_value = "6M")]
    sizes: Vec<String>,
    /// Only these jobs or combinations
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Write the references of each combination to a trace in this directory instead of comparing policies
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
    /// The augurfs to measure
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_augurfs"))]
    binary: PathBuf,
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
struct Measured {
    misses: u64,
    references: u64,
    seconds: f64,
}

fn main() -> ExitCode {
    let all: Vec<OsString> = std::env::args_os().collect();
    match enter_namespace(&all).and_then(|()| bench(&all)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dear: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(all: &[OsString]) -> anyhow::Result<()> {
    let words = all.iter().filter(|word| *word != "--bench");
    let options = Options::try_parse_from(words).unwrap_or_else(|error| error.exit());
    Options::command().debug_assert();
    let interruption = Interruption::watch()?;
    let stage = Stage::new(&options, &interruption)?;
    for (name, published) in PUBLISHED {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let jobs: Vec<&Job> = name.split('+').filter_map(jobs::find).collect();
        if let Some(missing) = jobs.iter().find(|job| !job.can_run()) {
            println!("{name}: left out, there is no {}", missing.program);
            continue;
        }
        if let Some(directory) = &options.record {
            let trace = std::path::absolute(directory)?.join(format!("{name}.trace"));
            let record = format!("policy=lru,cache_size=6M,record={}", trace.display());
            let measured = stage.run(&jobs, &record).with_context(|| (*name).to_owned())?;
            println!("{name:<18} {:>7} references", measured.references);
            continue;
        }
        for size in &options.sizes {
            let mut first = None;
            for policy in &options.policies {
                let measured = stage
                    .run(&jobs, &format!("policy={policy},cache_size={size}"))
                    .with_context(|| format!("{name} with {policy} at {size}"))?;
                let lru = *first.get_or_insert(measured);
                let change = 100.0 * (measured.misses as f64 / lru.misses.max(1) as f64 - 1.0);
                println!(
                    "{name:<18} {size:>4} {policy:<8} {:>7} of {:>7} blocks read {change:>6.1} %  {:>6.2} s",
                    measured.misses, measured.references, measured.seconds
                );
            }
        }
        if let Some((lru, dear)) = published {
            println!(
                "{name:<18} published at 6M: LRU {lru} s, DEAR {dear} s ({:.1} %)",
                100.0 * (dear / lru - 1.0)
            );
        }
    }
    Ok(())
}

/// A directory that is somewhere else too, until this is dropped.
struct Bound<'a>(&'a Path);

impl<'a> Bound<'a> {
    fn new(source: &Path, at: &'a Path) -> anyhow::Result<Self> {
        rustix::mount::mount_bind(source, at).with_context(|| at.display().to_string())?;
        Ok(Bound(at))
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        unmount(self.0);
    }
}

/// Where programs run.
struct Stage<'a> {
    options: &'a Options,
    interruption: &'a Interruption,
    scratch: Scratch,
    /// The jobs' files as they were made, a directory each.
    material: PathBuf,
    /// Where the files are when they are made and when they are used: an index may have their paths in it.
    point: PathBuf,
}

impl<'a> Stage<'a> {
    fn new(options: &'a Options, interruption: &'a Interruption) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let (material, point) = (scratch.directory("material")?, scratch.directory("mount")?);
        Ok(Stage { options, interruption, scratch, material, point })
    }

    /// Has a job's files made, unless they are there.
    fn prepare(&self, job: &Job) -> anyhow::Result<()> {
        let at = self.material.join(job.name);
        if at.exists() {
            return Ok(());
        }
        let _bound = Bound::new(&self.material, &self.point)?;
        std::fs::create_dir(&at)?;
        let made = shell(&self.point.join(job.name), job.material, self.interruption);
        made.map(drop).with_context(|| format!("the files of {}", job.name))
    }

    /// One run, on files as they were made.
    fn run(&self, jobs: &[&Job], settings: &str) -> anyhow::Result<Measured> {
        let source = self.scratch.directory("source")?;
        for job in jobs {
            self.prepare(job)?;
            let copy = format!("cp -a {} .", self.material.join(job.name).display());
            shell(&source, &copy, self.interruption)?;
        }
        let settings = format!("cache=own,block_size=8K,predictor=none,model=none,{settings}");
        let program = Program { binary: &self.options.binary, options: "" };
        let daemon = Daemon::start(&program, &source, &self.point, &[settings], self.interruption)?;
        let script: String =
            jobs.iter().map(|job| format!("(cd {} && {{ {}; }}) & ", job.name, job.work)).collect();
        let seconds = shell(&self.point, &format!("{script} wait"), self.interruption)?;
        let stats = daemon.stats()?;
        daemon.end()?;
        let figure = |name: &str| stats["own_cache"][name].as_u64().context("stats without an own cache");
        let (hits, misses) = (figure("hits")?, figure("misses")?);
        if misses == 0 {
            bail!("the job has read nothing");
        }
        if stats["events"]["lost"] != 0 && self.options.record.is_some() {
            bail!("the trace is not whole: events were lost");
        }
        Ok(Measured { misses, references: hits + misses, seconds })
    }
}

/// Runs a script in a directory; how long it took, in seconds.
fn shell(directory: &Path, script: &str, interruption: &Interruption) -> anyhow::Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = run(&mut command, LIMIT, interruption)?;
    if !ended.status.success() {
        bail!("it ended with {}: {script}", ended.status);
    }
    Ok(ended.elapsed.as_secs_f64())
}
