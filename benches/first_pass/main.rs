//! The first walk over a source that looks ahead of nobody: each of its operations takes 1 ms, however many are under
//! way, and an inode read brings no other.
//!
//! ```text
//! cargo bench --bench first_pass                      find, du and git status, 5 rounds
//! cargo bench --bench first_pass -- --rounds 1 --files 2400
//! ```
//!
//! What must stay true: every run has a source and a mount of its own, so nothing is in memory before it; the model is
//! empty; with and without (`inode_window=0`) take turns; the hot run is the second one of the same mount.
//!
//! Needs root, /dev/fuse, and git.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on the terminal")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with benches that need more of it")]
mod common;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::bail;
use augurfs::fuse::slow::SlowTree;
use clap::Parser;

use common::daemon::{Daemon, Program};
use common::mounts::{Scratch, enter_namespace, utf8};
use common::shell::{Interruption, run as run_command, tool};

/// What each operation of the source takes.
const LATENCY: Duration = Duration::from_millis(1);
/// No job takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Shell commands with the mount's place and a git repository's in them.
const JOBS: [&str; 3] =
    ["find {tree} -size +1k", "du -s {tree}", "git --git-dir={git} --work-tree={tree} status --porcelain"];

/// Measures first walks over a source with 1 ms for each operation.
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench first_pass --")]
struct Options {
    /// How often to measure
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Files in the tree, 24 in a directory
    #[arg(long, default_value_t = 2400)]
    files: usize,
    /// Only the jobs with this in their command
    #[arg(long, default_value = "")]
    job: String,
    /// More options for augurfs, as after -o
    #[arg(long, default_value = "model=none")]
    mount_options: String,
    /// The augurfs to measure
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_augurfs"))]
    binary: PathBuf,
}

/// Seconds and operations of the source, of one mount's first and second run.
#[derive(Clone, Copy)]
struct Sample {
    first: f64,
    hot: f64,
    operations: u64,
}

struct Place<'a> {
    scratch: &'a Scratch,
    tree: SlowTree,
    program: Program<'a>,
    interruption: Interruption,
}

fn main() -> ExitCode {
    common::obey("first_pass", run)
}

fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let options = Options::parse_from(arguments);
    enter_namespace(arguments)?;
    let scratch = Scratch::new()?;
    let place = Place {
        scratch: &scratch,
        tree: SlowTree::generate(1, options.files, options.files * 2048),
        program: Program { binary: &options.binary, options: &options.mount_options },
        interruption: Interruption::watch()?,
    };
    place.make_repository()?;
    println!("| job | off, s | first run, s | hot, s | gap closed | operations, off | first run |");
    println!("|---|---|---|---|---|---|---|");
    let chosen = JOBS.iter().filter(|job| job.contains(&options.job));
    chosen.into_iter().try_for_each(|job| place.measure(job, options.rounds))
}

impl Place<'_> {
    fn measure(&self, job: &str, rounds: usize) -> anyhow::Result<()> {
        let (mut off, mut on) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            off.push(self.sample(job, "inode_window=0")?);
            on.push(self.sample(job, "inode_window=auto")?);
        }
        let middle = |samples: &[Sample], of: fn(&Sample) -> f64| {
            common::median(samples.iter().map(of)).unwrap_or(f64::NAN)
        };
        let [cold, first] = [&off, &on].map(|samples| middle(samples, |sample| sample.first));
        let hot = middle(&off, |sample| sample.hot);
        let [before, after] = [&off, &on].map(|samples| middle(samples, |sample| sample.operations as f64));
        let gap = (cold - first) / (cold - hot) * 100.0;
        println!("| `{job}` | {cold:.3} | {first:.3} | {hot:.3} | {gap:.0} % | {before:.0} | {after:.0} |");
        Ok(())
    }

    fn sample(&self, job: &str, window: &str) -> anyhow::Result<Sample> {
        self.with_mount(LATENCY, window, |point, operations| {
            let before = operations();
            let first = self.time(job, point)?;
            let operations = operations() - before;
            Ok(Sample { first, hot: self.time(job, point)?, operations })
        })
    }

    /// The tree, served at `latency`, mirrored for as long as `work` takes.
    fn with_mount<T>(
        &self,
        latency: Duration,
        window: &str,
        work: impl FnOnce(&Path, &dyn Fn() -> u64) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let (source, point) = (self.scratch.directory("source")?, self.scratch.directory("mirror")?);
        let served = self.tree.mount(&source, latency)?;
        let daemon = Daemon::start(&self.program, &source, &point, &[window.to_owned()], &self.interruption)?;
        let done = work(&point, &|| served.requests());
        daemon.end()?;
        drop(served);
        done
    }

    fn time(&self, job: &str, point: &Path) -> anyhow::Result<f64> {
        let command = job.replace("{tree}", utf8(point)?).replace("{git}", utf8(&self.repository())?);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &command])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .env("GIT_OPTIONAL_LOCKS", "0");
        let ended = run_command(&mut shell, LIMIT, &self.interruption)?;
        if !ended.status.success() {
            bail!("{command}: {}", ended.status);
        }
        Ok(ended.elapsed.as_secs_f64())
    }

    fn repository(&self) -> PathBuf {
        self.scratch.path().join("repository")
    }

    /// All of the tree in git's index, with the attributes that a mount shows.
    fn make_repository(&self) -> anyhow::Result<()> {
        self.with_mount(Duration::ZERO, "inode_window=0", |point, _| {
            let (git, tree) = (format!("--git-dir={}", self.repository().display()), utf8(point)?);
            tool("git", &[&git, "init", "--quiet"])?;
            tool("git", &[&git, &format!("--work-tree={tree}"), "add", "--all"])?;
            tool("git", &[&git, &format!("--work-tree={tree}"), "status"]).map(drop)
        })
    }
}
