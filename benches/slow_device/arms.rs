//! One round: the job in every arm, each as cold or as hot as its name says.
//!
//! What must stay true (else the figures mean nothing): every cold arm starts from the golden image
//! on a new loop device, caches are dropped after mounting and right before the job, and that this
//! worked is looked up (fincore) and not believed; the job's own programs are in memory in every arm;
//! output goes to memory.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::common::daemon::{Daemon, Program};
use crate::common::mounts::utf8;
use crate::common::shell::{Interruption, cpu_of, run, tool};
use crate::jobs::Steps;
use crate::server::Counts;
use crate::stage::{Stage, shell};

/// Files looked at to see whether the caches are empty.
const SAMPLE: usize = 200;
/// More than this share of the sample in memory is not cold.
const COLD: f64 = 0.01;

/// Attempts at a hot run that does not touch the device, as long as they take less than this together.
const HOT_TRIES: usize = 5;
const HOT_TIME: f64 = 20.0;

/// What differs between the measurements of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Arm {
    /// The slow file system itself, nothing in memory.
    NativeCold,
    /// The same again, everything in memory.
    NativeHot,
    /// Through augurfs with an empty model.
    First,
    /// Through augurfs, freshly mounted, with the model the first run left.
    Second,
    /// The second run again, everything in memory.
    MountHot,
    /// As the second run, but with `predictor=none` and `inode_window=0`.
    Off,
}

/// Arms that have to follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Cold and hot without augurfs
    Native,
    /// First and second run, and hot, with augurfs
    Learning,
    /// With augurfs, prefetching off
    Control,
}

impl Group {
    pub(crate) const ALL: [Group; 3] = [Group::Native, Group::Learning, Group::Control];
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

/// What one run of the job showed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) arm: Arm,
    pub(crate) round: usize,
    /// Elapsed time of the job.
    pub(crate) seconds: f64,
    /// What the device was asked while it ran.
    pub(crate) device: Counts,
    /// Processor time of the job, seconds.
    pub(crate) job_cpu: f64,
    /// Processor time of augurfs while it ran, seconds.
    pub(crate) daemon_cpu: Option<f64>,
    /// `augurfs stats --json` right after it.
    pub(crate) stats: Option<Value>,
}

/// The job and how it is to be run.
pub(crate) struct Job<'a> {
    pub(crate) steps: Steps<'a>,
    /// The tree as it was before it was copied onto the device.
    pub(crate) prepared: &'a Path,
    pub(crate) limit: Duration,
}

/// Everything a round needs.
pub(crate) struct Theatre<'a, 'b> {
    pub(crate) stage: &'b mut Stage<'a>,
    pub(crate) job: Job<'b>,
    pub(crate) program: Option<Program<'b>>,
    pub(crate) interruption: &'b Interruption,
}

impl Theatre<'_, '_> {
    /// All arms once. Every other round goes the other way round, so that a drift of the machine
    /// does not favour one arm.
    pub(crate) fn round(&mut self, round: usize, arms: &[Group]) -> anyhow::Result<Vec<Sample>> {
        let mut samples = Vec::new();
        let mut groups = arms.to_vec();
        groups.retain(|&group| group == Group::Native || self.program.is_some());
        if round % 2 == 1 {
            groups.reverse();
        }
        for group in groups {
            match group {
                Group::Native => self.native(round, &mut samples)?,
                Group::Learning => self.learn(round, &mut samples)?,
                Group::Control => self.control(round, &mut samples)?,
            }
        }
        Ok(samples)
    }

    fn native(&mut self, round: usize, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let slow = self.stage.mount()?;
        let tree = slow.path().join("tree");
        self.make_cold(&tree)?;
        samples.push(self.measure(Arm::NativeCold, round, &tree, None)?);
        samples.push(self.measure_hot(Arm::NativeHot, round, &tree, None)?);
        Ok(())
    }

    /// First and second run, with a model that lives for this round only.
    fn learn(&mut self, round: usize, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let model = self.stage.scratch().directory("model")?.join("model");
        let model = format!("model={}", model.display());
        self.through_mount(round, std::slice::from_ref(&model), (Arm::First, None), samples)?;
        self.through_mount(round, &[model], (Arm::Second, Some(Arm::MountHot)), samples)
    }

    fn control(&mut self, round: usize, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let model = self.stage.scratch().directory("model-off")?.join("model");
        let options =
            [format!("model={}", model.display()), "predictor=none".into(), "inode_window=0".into()];
        self.through_mount(round, &options, (Arm::Off, None), samples)
    }

    /// One mount: a cold arm, and perhaps a hot one after it.
    fn through_mount(
        &mut self,
        round: usize,
        options: &[String],
        (cold, hot): (Arm, Option<Arm>),
        samples: &mut Vec<Sample>,
    ) -> anyhow::Result<()> {
        let Some(program) = self.program.take() else { bail!("no program to mount with") };
        let outcome = self.with_daemon(&program, round, options, (cold, hot), samples);
        self.program = Some(program);
        outcome
    }

    fn with_daemon(
        &mut self,
        program: &Program<'_>,
        round: usize,
        options: &[String],
        (cold, hot): (Arm, Option<Arm>),
        samples: &mut Vec<Sample>,
    ) -> anyhow::Result<()> {
        let slow = self.stage.mount()?;
        let source = slow.path().join("tree");
        let mountpoint = self.stage.scratch().directory("mirror")?;
        let daemon = Daemon::start(program, &source, &mountpoint, options, self.interruption)?;
        self.make_cold(&source)?;
        samples.push(self.measure(cold, round, &mountpoint, Some(&daemon))?);
        if let Some(hot) = hot {
            samples.push(self.measure_hot(hot, round, &mountpoint, Some(&daemon))?);
        }
        daemon.end()
    }

    /// Nothing of the tree in memory, but all of the job's programs.
    fn make_cold(&mut self, source: &Path) -> anyhow::Result<()> {
        drop_caches(source)?;
        let resident = resident_share(source)?;
        if resident > COLD {
            bail!("{:.1} % of the tree is still in memory after dropping caches", resident * 100.0);
        }
        // The look itself has read names and inodes.
        drop_caches(source)?;
        if !self.job.steps.rehearsal.is_empty() {
            return self.aside(self.job.steps.rehearsal, self.job.prepared);
        }
        let empty = self.stage.scratch().directory("empty")?;
        // A rehearsal on an empty tree loads the programs; whether it likes the tree does not matter.
        let _ = self.run_job(&empty, 0)?;
        Ok(())
    }

    /// Does what must succeed and is not measured.
    fn aside(&self, command: &str, tree: &Path) -> anyhow::Result<()> {
        let output = self.stage.scratch().directory("output")?;
        let command = command.replace("{tree}", utf8(tree)?).replace("{scratch}", utf8(&output)?);
        shell(&["-c", &command], self.interruption)
    }

    /// Hot means that the device was not asked. Some machines take cached pages away all the time, so
    /// the run that asked least, of a few, counts.
    fn measure_hot(
        &mut self,
        arm: Arm,
        round: usize,
        tree: &Path,
        daemon: Option<&Daemon<'_>>,
    ) -> anyhow::Result<Sample> {
        self.aside(self.job.steps.again, tree)?;
        let mut best = self.measure(arm, round, tree, daemon)?;
        let mut time = best.seconds;
        for _ in 1..HOT_TRIES {
            if best.device.reads == 0 || time > HOT_TIME {
                break;
            }
            self.aside(self.job.steps.again, tree)?;
            let again = self.measure(arm, round, tree, daemon)?;
            time += again.seconds;
            if again.device.reads < best.device.reads {
                best = again;
            }
        }
        Ok(best)
    }

    fn measure(
        &mut self,
        arm: Arm,
        round: usize,
        tree: &Path,
        daemon: Option<&Daemon<'_>>,
    ) -> anyhow::Result<Sample> {
        let before = self.stage.counts()?;
        let cpu_before = daemon.map(Daemon::cpu_seconds).transpose()?;
        let job_before = children_cpu()?;
        // The first run has an order of its own; what is compared with each other has the same.
        let draw = 2 * round + usize::from(arm != Arm::First);
        let (seconds, failed) = self.run_job(tree, draw)?;
        if let Some(complaints) = failed {
            bail!("the job failed: {complaints}");
        }
        let job_cpu = children_cpu()? - job_before;
        let cpu_after = daemon.map(Daemon::cpu_seconds).transpose()?;
        let device = self.stage.counts()?.since(before);
        let stats = daemon.map(Daemon::stats).transpose()?;
        let daemon_cpu = cpu_before.zip(cpu_after).map(|(before, after)| after - before);
        Ok(Sample { arm, round, seconds, device, job_cpu, daemon_cpu, stats })
    }

    /// Seconds, and what the job had to say if it failed.
    fn run_job(&self, tree: &Path, draw: usize) -> anyhow::Result<(f64, Option<String>)> {
        let output = self.stage.scratch().directory("output")?;
        let log = self.stage.scratch().path().join("job.log");
        let command = self.job.steps.command.replace("{tree}", utf8(tree)?);
        let command = command.replace("{scratch}", utf8(&output)?).replace("{draw}", &draw.to_string());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &command])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?);
        let ended = run(&mut shell, self.job.limit, self.interruption)?;
        let complaints = || format!("{}\n{}", ended.status, fs::read_to_string(&log).unwrap_or_default());
        Ok((ended.elapsed.as_secs_f64(), (!ended.status.success()).then(complaints)))
    }
}

/// Writes back what is dirty on the file system of `path` and empties all caches of the machine.
pub(crate) fn drop_caches(path: &Path) -> anyhow::Result<()> {
    rustix::fs::syncfs(fs::File::open(path)?)?;
    fs::write("/proc/sys/vm/drop_caches", "3").context("dropping caches (are you root?)")
}

/// The share of the bytes of some files below `tree` that is in memory, 0..1.
pub(crate) fn resident_share(tree: &Path) -> anyhow::Result<f64> {
    let mut files = Vec::new();
    collect_files(tree, SAMPLE, &mut files)?;
    let mut arguments = vec!["--bytes", "--raw", "--noheadings", "--output", "RES,SIZE"];
    for file in &files {
        arguments.push(utf8(file)?);
    }
    let (mut resident, mut size) = (0.0, 0.0);
    for line in tool("fincore", &arguments)?.lines() {
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        if let (Some(Ok(r)), Some(Ok(s))) = (numbers.next(), numbers.next()) {
            resident += r.min(s);
            size += s;
        }
    }
    Ok(if size > 0.0 { resident / size } else { 0.0 })
}

/// The first `limit` regular files with UTF-8 names below a directory.
pub(crate) fn collect_files(directory: &Path, limit: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if files.len() >= limit {
            return Ok(());
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_files(&entry.path(), limit, files)?;
        } else if kind.is_file() && entry.path().to_str().is_some() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Processor time of all children that have ended, seconds.
fn children_cpu() -> anyhow::Result<f64> {
    // Fields 16 and 17.
    cpu_of("/proc/self/stat", 13)
}
