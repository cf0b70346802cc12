//! Jobs of our own: this program again, as a process that reads and writes as it is told and says what it measured.
//!
//! What must stay true: what is drawn at random depends on a seed in the arguments, or, for the adversary, on the time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use augurfs::device::SplitMix;

const BLOCK: usize = 4096;
/// Random accesses of each thread.
const ACCESSES: u64 = 200;

/// Does what `arguments` say: a name, a tree, a number, and perhaps one more.
pub(crate) fn work(arguments: &[OsString]) -> anyhow::Result<()> {
    let [name, tree, number, more @ ..] = arguments else {
        bail!("a worker needs a name, a tree and a number")
    };
    let (name, tree) = (name.to_str().context("a name")?, Path::new(tree));
    let number: usize = number.to_str().and_then(|number| number.parse().ok()).context("a number")?;
    match name {
        "seqread" | "randread" | "seqwrite" | "randwrite" => threads(name, tree, number),
        "stat" => stat(tree, number),
        "adversary" => adversary(tree, number),
        "pollution" => pollution(tree, number),
        "clients" => {
            let seconds = more.first().and_then(|more| more.to_str()).context("how long?")?;
            clients(tree, number, seconds)
        }
        _ => bail!("there is no worker {name}"),
    }
}

/// Adds a line to what the job measures itself.
fn tell(name: &str, value: f64) -> anyhow::Result<()> {
    let path = std::env::var_os("OWN").context("where to say it")?;
    let mut file = File::options().append(true).create(true).open(path)?;
    Ok(writeln!(file, "{name} {value}")?)
}

fn threads(phase: &str, tree: &Path, count: usize) -> anyhow::Result<()> {
    let path = tree.join("big");
    let size = fs::metadata(&path)?.len();
    let begun = Instant::now();
    let outcomes = thread::scope(|scope| {
        let hands: Vec<_> = (0..count)
            .map(|thread| {
                let path = &path;
                scope.spawn(move || one_thread(phase, path, size, thread as u64, count as u64))
            })
            .collect();
        hands
            .into_iter()
            .map(|hand| hand.join().ok().context("a thread panicked")?)
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    let elapsed = begun.elapsed().as_secs_f64();
    let bytes: u64 = outcomes.iter().map(|(bytes, _)| bytes).sum();
    let slowest = outcomes.iter().map(|(_, slowest)| *slowest).fold(0.0, f64::max);
    tell("MB/s", bytes as f64 / 1e6 / elapsed)?;
    tell("max ms", slowest * 1e3)
}

/// Bytes, and the longest single access in seconds.
fn one_thread(phase: &str, path: &Path, size: u64, thread: u64, count: u64) -> anyhow::Result<(u64, f64)> {
    let file = File::options().read(true).write(phase.ends_with("write")).open(path)?;
    let (share, mut draws) = (size / count, SplitMix(thread));
    let random = phase.starts_with("rand");
    let piece = if random { BLOCK } else { 64 << 10 };
    let mut buffer = vec![0x5a; piece];
    let accesses = if random { ACCESSES } else { share / piece as u64 };
    let (mut bytes, mut slowest) = (0, 0.0f64);
    for index in 0..accesses {
        let at = if random {
            draws.next() % (size / BLOCK as u64) * BLOCK as u64
        } else {
            thread * share + index * piece as u64
        };
        let begun = Instant::now();
        if phase.ends_with("write") {
            file.write_all_at(&buffer, at)?;
        } else {
            file.read_exact_at(&mut buffer, at)?;
        }
        slowest = slowest.max(begun.elapsed().as_secs_f64());
        bytes += piece as u64;
    }
    if phase.ends_with("write") {
        file.sync_data()?;
    }
    Ok((bytes, slowest))
}

/// Paths of small files, known without asking the tree for them.
fn drawn(tree: &Path, count: usize, seed: u64) -> anyhow::Result<Vec<PathBuf>> {
    let mut directories: Vec<PathBuf> =
        fs::read_dir(tree)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    directories.sort();
    if directories.is_empty() {
        bail!("nothing to draw from");
    }
    let mut draws = SplitMix(seed);
    let draw = |_| {
        let directory = draws.next() % directories.len() as u64;
        let number = directory * 100 + draws.next() % 100;
        directories[directory as usize].join(format!("f{number:05}"))
    };
    Ok((0..count).map(draw).collect())
}

fn stat(tree: &Path, count: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    for path in drawn(tree, count, 7)? {
        fs::symlink_metadata(&path).with_context(|| path.display().to_string())?;
    }
    tell("ms an inode", begun.elapsed().as_secs_f64() * 1e3 / count as f64)
}

/// No run is like another: the right answer is to do nothing.
fn adversary(tree: &Path, count: usize) -> anyhow::Result<()> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    for path in drawn(tree, count, seed)? {
        fs::read(&path).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Reads the working set, scans, and reads the set again, in `mib` MiB of memory.
fn pollution(tree: &Path, mib: usize) -> anyhow::Result<()> {
    let group = confine(mib as u64)?;
    let outcome = reread(tree);
    leave(&group);
    outcome
}

fn reread(tree: &Path) -> anyhow::Result<()> {
    for (name, part) in [("set, first", "set"), ("scan", "scan"), ("set, again", "set")] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(tree.join(part))?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        files.sort();
        let begun = Instant::now();
        for file in &files {
            fs::read(file)?;
        }
        tell(&format!("{name} s"), begun.elapsed().as_secs_f64())?;
    }
    Ok(())
}

/// Goes into a control group with so much memory; version 1 or 2, whichever is there.
fn confine(mib: u64) -> anyhow::Result<PathBuf> {
    for (root, limit) in
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
    {
        let group = Path::new(root).join(format!("augurfs-bench-{}", std::process::id()));
        if !Path::new(root).join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
            continue;
        }
        if fs::write(group.join(limit), (mib << 20).to_string()).is_ok()
            && fs::write(group.join("cgroup.procs"), std::process::id().to_string()).is_ok()
        {
            return Ok(group);
        }
        let _ = fs::remove_dir(&group);
    }
    bail!("no control group for memory")
}

fn leave(group: &Path) {
    if let Some(parent) = group.parent() {
        let _ = fs::write(parent.join("cgroup.procs"), std::process::id().to_string());
    }
    let _ = fs::remove_dir(group);
}

/// So many dbench clients, each a process of its own with a directory of its own, so that each one's end is its own.
fn clients(tree: &Path, count: usize, seconds: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut children = Vec::new();
    for client in 0..count {
        let directory = tree.join(format!("client{client}"));
        fs::create_dir_all(&directory)?;
        let mut command = Command::new("dbench");
        command
            .args(["-t", seconds, "-D"])
            .arg(&directory)
            .arg("1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        children.push(command.spawn().context("dbench")?);
    }
    let mut sum = 0.0;
    let waiting: Vec<_> = children
        .into_iter()
        .map(|child| thread::spawn(move || (child.wait_with_output(), Instant::now())))
        .collect();
    for (client, waiter) in waiting.into_iter().enumerate() {
        let (output, at) = waiter.join().ok().context("a waiter panicked")?;
        let text = String::from_utf8_lossy(&output?.stdout).into_owned();
        let rate = text
            .lines()
            .find_map(|line| line.strip_prefix("Throughput "))
            .context("dbench says no throughput")?;
        let rate: f64 =
            rate.split_whitespace().next().and_then(|rate| rate.parse().ok()).context("a rate")?;
        sum += rate;
        tell(&format!("client {client} MB/s"), rate)?;
        tell(&format!("client {client} done after s"), (at - begun).as_secs_f64())?;
    }
    tell("MB/s", sum)
}
