//! The trials: what is done on each side, what it is measured in, and what ratio is good enough.
//!
//! What must stay true: a trial does the same on both sides and leaves the tree as it found it.

mod builds;
mod bulk;
mod many;

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use augurfs::device::SplitMix;
use serde::Serialize;

use crate::common::shell::{Interruption, run, tool};
use crate::material::{self, below};

/// How long one command may take.
const LIMIT: Duration = Duration::from_secs(300);
/// Passes over the small files in one measurement: a quarter of a second natively.
const PASSES: usize = 20;
/// Random reads in one measurement.
const RANDOM_READS: usize = 200_000;

/// The ratio, mounted by native, that is good enough.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    pub(crate) fn reached(self, ratio: f64) -> bool {
        match self {
            Goal::AtMost(limit) => ratio <= limit,
            Goal::AtLeast(limit) => ratio >= limit,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtMost(limit) => write!(f, "<= {limit}"),
            Goal::AtLeast(limit) => write!(f, ">= {limit}"),
        }
    }
}

/// Where a trial is run.
pub(crate) struct Side<'a> {
    pub(crate) root: &'a Path,
    pub(crate) mounted: bool,
    pub(crate) interruption: &'a Interruption,
}

/// One comparison.
pub(crate) struct Trial {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    /// Makes what it needs below the native root; the second argument is the big file's size, bytes.
    pub(crate) prepare: fn(&Path, u64) -> anyhow::Result<()>,
    /// Does it once; the figure, in `unit`.
    pub(crate) run: fn(&Side<'_>) -> anyhow::Result<f64>,
}

/// Every trial, with the ratios the project set itself.
pub(crate) fn all() -> Vec<Trial> {
    let trial = |name, unit, goal, prepare, run| Trial { name, unit, goal, prepare, run };
    let most = Goal::AtMost;
    let least = Goal::AtLeast;
    vec![
        trial("small", "us", most(1.8), |root, _| material::small_files(&root.join("small"), 2000), small),
        trial("stat", "s", most(1.05), many_files, many::stat),
        trial("open", "us", most(1.8), many_files, many::open),
        trial("grep", "s", most(1.3), many_files, grep),
        trial("tar", "s", most(1.3), many_files, many::tar),
        trial("git", "s", most(1.05), |root, _| repositories(root), git),
        trial("make", "s", most(1.02), |root, _| projects(root), make),
        trial("cargo", "s", most(1.05), builds::crates, builds::cargo),
        trial("sqlite", "s", most(1.3), builds::nothing, builds::sqlite),
        trial("sequential", "MB/s", least(0.98), big_file, sequential),
        trial("random", "MB/s", least(0.98), big_file, random),
        trial("mmap", "MB/s", least(0.98), big_file, bulk::mapped),
        trial("readers", "MB/s", least(0.95), big_file, bulk::readers),
        trial("write64k", "s", most(1.1), builds::nothing, bulk::write_64k),
        trial("write4k", "s", most(1.25), builds::nothing, bulk::write_4k),
        trial("randwrite", "s", most(1.25), big_file, bulk::write_random),
        trial("create", "us", most(8.0), builds::nothing, many::create),
        trial("untar", "s", most(8.0), many::archive, many::untar),
    ]
}

fn many_files(root: &Path, _: u64) -> anyhow::Result<()> {
    let place = root.join("grep");
    if place.exists() { Ok(()) } else { material::small_files(&place, material::MANY) }
}

/// Open, read and close of one small file, microseconds.
fn small(side: &Side<'_>) -> anyhow::Result<f64> {
    let files: Vec<PathBuf> = material::small_paths(&side.root.join("small"), 2000).collect();
    let mut buffer = [0; 8192];
    let begun = Instant::now();
    for _ in 0..PASSES {
        for file in &files {
            let read = File::open(file)?.read(&mut buffer)?;
            if read == 0 {
                bail!("{} is empty", file.display());
            }
        }
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / (PASSES * files.len()) as f64)
}

fn grep(side: &Side<'_>) -> anyhow::Result<f64> {
    let mut command = Command::new("grep");
    command.args(["-r", "nowhere to be found"]).arg(side.root.join("grep"));
    // 1 is "not found", which is what it should say.
    timed(command, side, 1)
}

/// A build writes: on one tree, each side's build would be a change from below to the other, and the
/// tree never hot.
fn projects(root: &Path) -> anyhow::Result<()> {
    ["make-native", "make-mounted"].into_iter().try_for_each(|side| material::c_project(&root.join(side)))
}

fn make(side: &Side<'_>) -> anyhow::Result<f64> {
    let project = side.root.join(if side.mounted { "make-mounted" } else { "make-native" });
    let mut clean = Command::new("make");
    clean.arg("-s").arg("-C").arg(&project).arg("clean");
    timed(clean, side, 0)?;
    let mut build = Command::new("make");
    build.args(["-s", "-j2", "-C"]).arg(&project);
    timed(build, side, 0)
}

/// git remembers inode numbers and times of change, which differ between the sides: each has its own
/// repository, else they would undo each other's index.
fn repositories(root: &Path) -> anyhow::Result<()> {
    for side in ["git-native", "git-mounted"] {
        let tree = root.join(side);
        material::small_files(&tree, 5000)?;
        let path = tree.to_str().context("a path in UTF-8")?;
        tool("git", &["-C", path, "init", "-q"])?;
        tool("git", &["-C", path, "add", "."])?;
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        tool("git", &[&["-C", path], &identity[..], &["commit", "-q", "-m", "All files"]].concat())?;
    }
    Ok(())
}

fn git(side: &Side<'_>) -> anyhow::Result<f64> {
    let tree = side.root.join(if side.mounted { "git-mounted" } else { "git-native" });
    let mut command = Command::new("git");
    command.arg("-C").arg(tree).args(["status", "--short"]);
    timed(command, side, 0)
}

pub(crate) fn timed(mut command: Command, side: &Side<'_>, expected: i32) -> anyhow::Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let ended = run(&mut command, LIMIT, side.interruption)?;
    if ended.status.code() != Some(expected) {
        bail!("{command:?}: {}", ended.status);
    }
    Ok(ended.elapsed.as_secs_f64())
}

fn big_file(root: &Path, size: u64) -> anyhow::Result<()> {
    let path = root.join("big");
    if path.exists() { Ok(()) } else { material::big_file(&path, size) }
}

/// One pass over the big file, MB/s.
fn sequential(side: &Side<'_>) -> anyhow::Result<f64> {
    let mut file = File::open(side.root.join("big"))?;
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    let begun = Instant::now();
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(bytes as f64 / 1e6 / begun.elapsed().as_secs_f64());
        }
        bytes += read;
    }
}

/// 4 KiB here and there in the big file, MB/s.
fn random(side: &Side<'_>) -> anyhow::Result<f64> {
    let path = side.root.join("big");
    let blocks = fs::metadata(&path)?.len() / 4096;
    let file = File::open(path)?;
    let mut buffer = [0; 4096];
    let mut draws = SplitMix(1);
    let begun = Instant::now();
    for _ in 0..RANDOM_READS {
        file.read_exact_at(&mut buffer, below(&mut draws, blocks) * 4096)?;
    }
    Ok((RANDOM_READS * buffer.len()) as f64 / 1e6 / begun.elapsed().as_secs_f64())
}
