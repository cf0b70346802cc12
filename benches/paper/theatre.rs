//! One run of one job in one arm, from a fresh image to a sample.
//!
//! What must stay true: every run begins with the same image on a new loop device, caches dropped and looked at; a model is
//! made once for each job and arm by earlier runs, and every measured run begins with a copy of it; the job's own programs
//! are in memory; everything is undone on every way out.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::Options;
use crate::arms::Arm;
use crate::common::daemon::{Daemon, Program};
use crate::common::mounts::{Mounted, Scratch, unmount, utf8};
use crate::common::shell::{Interruption, end_within, run, tool};
use crate::jobs::Job;
use crate::journal::{Key, Sample};
use crate::own_device::OwnDevice;
use crate::reads::{Reads, Trace};
use crate::server::Counts;
use crate::stage::{Plan, Stage};
use augurfs::device::Kind;

/// No job takes longer.
const LIMIT: Duration = Duration::from_secs(1800);
/// Files looked at to see whether the caches are empty.
const SAMPLE: usize = 200;
/// Room on the device beside the tree, for what jobs write.
const SPARE: u64 = 512 << 20;
/// Attempts at a hot run that does not touch the device: some machines take cached pages away all the time.
const HOT_TRIES: usize = 3;
/// The models' own limits (see `augurfs::device`), bytes a second.
const DISK_RATE: f64 = 150e6;
const NET_RATE: f64 = 64.0 * 200e6;

enum Device<'a> {
    Model(Stage<'a>, f64),
    Own(OwnDevice),
}

/// Where runs are performed.
pub(crate) struct Theatre<'a> {
    device: Device<'a>,
    scratch: &'a Scratch,
    interruption: &'a Interruption,
    binary: &'a Path,
    training: usize,
}

/// What a job found and used.
struct Run {
    elapsed: f64,
    compute: f64,
    own: BTreeMap<String, f64>,
    reads: Option<Reads>,
}

impl<'a> Theatre<'a> {
    pub(crate) fn open(
        options: &'a Options,
        scratch: &'a Scratch,
        tree: &Path,
        interruption: &'a Interruption,
    ) -> anyhow::Result<Theatre<'a>> {
        let used = tool("du", &["-s", "--block-size=1", utf8(tree)?])?;
        let used: u64 = used.split_whitespace().next().and_then(|size| size.parse().ok()).context("du")?;
        let size = (used * 3 / 2 + SPARE).next_multiple_of(1 << 20);
        let device = match options.device.parse::<Kind>() {
            Ok(kind) => {
                let rate = if kind == Kind::Disk { DISK_RATE } else { NET_RATE };
                let plan = Plan { kind, seed: options.seed, size, tree, settle: "" };
                Device::Model(Stage::build(scratch, &plan, interruption)?, rate)
            }
            Err(_) if options.device == "own" => {
                Device::Own(OwnDevice::build(&options.work, scratch.path(), tree, size)?)
            }
            Err(unknown) => bail!("{unknown}, and own"),
        };
        Ok(Theatre { device, scratch, interruption, binary: &options.binary, training: options.training })
    }

    /// Bytes a second that the device gives at most.
    pub(crate) fn raw_rate(&self) -> f64 {
        match &self.device {
            Device::Model(_, rate) => *rate,
            Device::Own(own) => own.raw_rate(),
        }
    }

    fn mount(&mut self) -> anyhow::Result<Mounted> {
        match &mut self.device {
            Device::Model(stage, _) => stage.mount(),
            Device::Own(own) => {
                let at = self.scratch.path().join("slow");
                fs::create_dir_all(&at)?;
                own.mount(&at)
            }
        }
    }

    fn counts(&mut self) -> anyhow::Result<Counts> {
        match &mut self.device {
            Device::Model(stage, _) => stage.counts(),
            Device::Own(own) => own.counts(),
        }
    }

    /// One measured run.
    pub(crate) fn perform(&mut self, key: &Key, job: &Job, arm: Arm) -> anyhow::Result<Sample> {
        let model = self.model_for(job, &arm)?;
        let slow = self.mount()?;
        let source = slow.path().join("tree");
        match &arm {
            Arm::Native | Arm::NativeAgain | Arm::NativeHot | Arm::Vmtouch => {
                self.measure(key, job, &arm, &source, &source, None)
            }
            Arm::Bindfs => {
                let bound = Bindfs::mount(&source, &self.scratch.directory("mirror")?)?;
                self.measure(key, job, &arm, &source, &bound.at, None)
            }
            Arm::Off | Arm::Untrained(_) | Arm::Trained(_) | Arm::Hot => {
                let options = options_of(&arm, &model);
                let mirror = self.scratch.directory("mirror")?;
                let program = Program { binary: self.binary, options: "" };
                let daemon = Daemon::start(&program, &source, &mirror, &options, self.interruption)?;
                let sample = self.measure(key, job, &arm, &source, &mirror, Some(&daemon))?;
                daemon.end()?;
                Ok(sample)
            }
        }
    }

    /// A model for one run: what earlier runs left, or nothing.
    fn model_for(&mut self, job: &Job, arm: &Arm) -> anyhow::Result<PathBuf> {
        let directory = self.scratch.directory("model")?;
        if let Arm::Trained(predictor) = arm {
            let kept =
                self.scratch.path().join(format!("trained-{}-{}", job.name, predictor).replace('/', "-"));
            if !kept.exists() {
                let making = self.scratch.directory("training")?;
                self.train(job, arm, &making.join("model")).context("training")?;
                fs::rename(making, &kept)?;
            }
            for entry in fs::read_dir(&kept)? {
                let entry = entry?;
                fs::copy(entry.path(), directory.join(entry.file_name()))?;
            }
        }
        Ok(directory.join("model"))
    }

    /// The runs a model learns from, each on a fresh image: jobs write.
    fn train(&mut self, job: &Job, arm: &Arm, model: &Path) -> anyhow::Result<()> {
        for _ in 0..self.training {
            let slow = self.mount()?;
            let mirror = self.scratch.directory("mirror")?;
            let options = options_of(arm, model);
            let program = Program { binary: self.binary, options: "" };
            let source = slow.path().join("tree");
            let daemon = Daemon::start(&program, &source, &mirror, &options, self.interruption)?;
            self.run(job, &mirror, None)?;
            daemon.end()?;
        }
        Ok(())
    }

    fn measure(
        &mut self,
        key: &Key,
        job: &Job,
        arm: &Arm,
        source: &Path,
        tree: &Path,
        daemon: Option<&Daemon<'_>>,
    ) -> anyhow::Result<Sample> {
        let resident_before = self.make_cold(job, source)?;
        let mut beforehand = None;
        if *arm == Arm::Vmtouch {
            let begun = Instant::now();
            tool("vmtouch", &["-t", "-q", utf8(source)?])?;
            beforehand = Some(begun.elapsed().as_secs_f64());
        }
        let tries = if matches!(arm, Arm::Hot | Arm::NativeHot) { HOT_TRIES } else { 0 };
        let mut best = self.once(key, job, tree, daemon)?;
        for _ in 0..tries {
            // A job that writes would find its own work done: it says how to undo it.
            if let Some(undo) = &job.undo {
                self.shell(undo, tree)?;
            }
            let again = self.once(key, job, tree, daemon)?;
            // The first one was cold.
            best = again;
            if best.device.reads == 0 {
                break;
            }
        }
        Ok(Sample { resident_before, beforehand, ..best })
    }

    fn once(
        &mut self,
        key: &Key,
        job: &Job,
        tree: &Path,
        daemon: Option<&Daemon<'_>>,
    ) -> anyhow::Result<Sample> {
        let before = self.counts()?;
        let cpu_before = daemon.map(Daemon::cpu_seconds).transpose()?;
        let number = fs::metadata(tree)?.dev();
        let trace = Trace::start().inspect_err(log_once).ok();
        let run = self.run(job, tree, trace.map(|trace| (trace, number)))?;
        let cpu_after = daemon.map(Daemon::cpu_seconds).transpose()?;
        Ok(Sample {
            key: key.clone(),
            elapsed: run.elapsed,
            compute: run.compute,
            daemon_cpu: cpu_before.zip(cpu_after).map(|(before, after)| after - before),
            device: self.counts()?.since(before),
            resident_before: 0.0,
            beforehand: None,
            reads: run.reads,
            own: run.own,
            stats: daemon.map(Daemon::stats).transpose()?,
        })
    }

    /// Nothing of the tree in memory, but all of the job's programs; the share that was, before it was dropped again.
    fn make_cold(&mut self, job: &Job, source: &Path) -> anyhow::Result<f64> {
        drop_caches(source)?;
        let resident = resident_share(source)?;
        // A rehearsal on an empty tree loads the programs; whether it likes the tree does not matter.
        let empty = self.scratch.directory("empty")?;
        let _ = self.shell(&job.command, &empty);
        for program in &job.programs {
            let _ = Command::new("sh")
                .args(["-c", &format!("cat \"$(command -v {program})\"")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        Ok(resident)
    }

    fn run(&self, job: &Job, tree: &Path, trace: Option<(Trace, u64)>) -> anyhow::Result<Run> {
        let before = children_seconds()?;
        let elapsed = self.shell(&job.command, tree)?;
        let compute = children_seconds()? - before;
        let reads = match trace {
            Some((trace, number)) => {
                let device = (rustix::fs::major(number), rustix::fs::minor(number));
                trace.end(device).inspect_err(log_once).ok()
            }
            None => None,
        };
        let own = fs::read_to_string(self.scratch.path().join("output/own")).unwrap_or_default();
        let own = own.lines().filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Ok(Run { elapsed, compute, own: own.collect(), reads })
    }

    /// Seconds. A job finds its tree, a place to write in memory, a file for what it measures itself, and us.
    fn shell(&self, command: &str, tree: &Path) -> anyhow::Result<f64> {
        let output = self.scratch.directory("output")?;
        let log = self.scratch.path().join("job.log");
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", command])
            .current_dir(tree)
            .env("TREE", tree)
            .env("OUT", &output)
            .env("OWN", output.join("own"))
            .env("WORKER", std::env::current_exe()?)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?);
        let ended = run(&mut shell, LIMIT, self.interruption)?;
        if !ended.status.success() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            bail!("the job ended with {}: {}", ended.status, last.join(" / "));
        }
        Ok(ended.elapsed.as_secs_f64())
    }
}

fn log_once(error: &anyhow::Error) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| eprintln!("reads are not timed: {error:#}"));
}

fn options_of(arm: &Arm, model: &Path) -> Vec<String> {
    let mut options = vec![format!("model={}", model.display())];
    match arm {
        Arm::Off => options.extend(["predictor=none".into(), "inode_window=0".into()]),
        Arm::Untrained(more) if !more.is_empty() => options.push(more.clone()),
        Arm::Trained(predictor) => options.push(format!("predictor={predictor}")),
        _ => {}
    }
    options
}

/// Processor time of all children that have ended, seconds, to a hundredth.
fn children_seconds() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("stat")?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|word| word.parse::<f64>().ok()).context("stat");
    Ok((ticks(13)? + ticks(14)?) / rustix::param::clock_ticks_per_second() as f64)
}

/// Writes back what is dirty and empties all caches of the machine.
fn drop_caches(path: &Path) -> anyhow::Result<()> {
    rustix::fs::syncfs(fs::File::open(path)?)?;
    fs::write("/proc/sys/vm/drop_caches", "3").context("dropping caches (are you root?)")
}

/// The share of the bytes of some files below `tree` in memory, 0..1. Leaves the caches empty again.
fn resident_share(tree: &Path) -> anyhow::Result<f64> {
    let found = tool("find", &[utf8(tree)?, "-type", "f", "-size", "+0"])?;
    let files: Vec<&str> = found.lines().take(SAMPLE).collect();
    if files.is_empty() {
        return Ok(0.0);
    }
    let arguments = [&["--bytes", "--raw", "--noheadings", "--output", "RES,SIZE"][..], &files[..]].concat();
    let (mut resident, mut size) = (0.0, 0.0);
    for line in tool("fincore", &arguments)?.lines() {
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        if let (Some(Ok(r)), Some(Ok(s))) = (numbers.next(), numbers.next()) {
            resident += r.min(s);
            size += s;
        }
    }
    // The look itself has read names and inodes.
    drop_caches(tree)?;
    Ok(if size > 0.0 { resident / size } else { 0.0 })
}

/// bindfs, mounted; gone when dropped.
struct Bindfs {
    at: PathBuf,
    child: Child,
}

impl Bindfs {
    fn mount(source: &Path, at: &Path) -> anyhow::Result<Bindfs> {
        let outside = fs::metadata(at)?.dev();
        let child = Command::new("bindfs")
            .arg("-f")
            .args([source, at])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("bindfs")?;
        let bound = Bindfs { at: at.to_owned(), child };
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if fs::metadata(at).is_ok_and(|inside| inside.dev() != outside) {
                return Ok(bound);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("bindfs did not mount")
    }
}

impl Drop for Bindfs {
    fn drop(&mut self) {
        unmount(&self.at);
        let _ = end_within(&mut self.child, Duration::from_secs(5));
    }
}
