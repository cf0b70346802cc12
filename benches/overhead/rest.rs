//! A daemon with a large model: how soon it answers, what memory it holds, and whether it sleeps when nobody asks.
//!
//! What must stay true: the source is in a tmpfs of our own, so that nothing but us can wake the daemon.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::common::daemon::{Daemon, Program};
use crate::common::median;
use crate::common::mounts::{Scratch, utf8};
use crate::common::shell::{Interruption, tool};

const STARTS: usize = 5;
/// Loading a model behind the mount, and calming down, is over by then.
const SETTLING: Duration = Duration::from_secs(12);
const IDLE: Duration = Duration::from_secs(10);
/// Goals.
const ANSWER_MS: f64 = 50.0;
const MEMORY_MIB: f64 = 300.0;

/// Prints the figures beside their goals.
pub(crate) fn measure(
    scratch: &Scratch,
    binary: &Path,
    files: usize,
    interruption: &Interruption,
) -> anyhow::Result<()> {
    let (source, point) = (scratch.directory("source")?, scratch.directory("mirror")?);
    fs::write(source.join("file"), "text")?;
    let model = scratch.directory("model")?.join("model");
    write_model(scratch, binary, &model, files)?;
    println!("a model of {files} files, {:.1} MB", fs::metadata(&model)?.len() as f64 / 1e6);
    let program = Program { binary, options: "" };
    let mut starts = Vec::new();
    for last in (0..STARTS).rev() {
        let begun = Instant::now();
        let daemon =
            Daemon::start(&program, &source, &point, &[format!("model={}", model.display())], interruption)?;
        fs::read(point.join("file"))?;
        starts.push(begun.elapsed().as_secs_f64() * 1e3);
        if last == 0 {
            let pid = daemon.stats()?["pid"].as_u64().context("stats without a pid")?;
            thread::sleep(SETTLING);
            at_rest(pid)?;
        }
        daemon.end()?;
    }
    let middle = median(starts.iter().copied()).context("no start")?;
    println!(
        "start to first answer   {middle:>8.1} ms   (goal {ANSWER_MS}; {starts:.1?}; looked for every 5 ms)"
    );
    Ok(())
}

fn at_rest(pid: u64) -> anyhow::Result<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    println!("resident memory         {:>8.1} MiB  (goal {MEMORY_MIB})", kib.context("VmRSS")? / 1024.0);
    let before = switches(pid)?;
    thread::sleep(IDLE);
    let after = switches(pid)?;
    let woken: BTreeMap<_, _> = after
        .iter()
        .map(|(thread, count)| (thread, count - before.get(thread).copied().unwrap_or(0)))
        .filter(|(_, count)| *count > 0)
        .collect();
    println!("wake-ups in {IDLE:?}       {:>8}      (goal 0) {woken:?}", woken.values().sum::<u64>());
    Ok(())
}

/// Times each thread was scheduled.
fn switches(pid: u64) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut switches = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = entry?.path();
        let name = fs::read_to_string(path.join("comm"))?;
        let status = fs::read_to_string(path.join("status"))?;
        let count = status
            .lines()
            .filter(|line| line.contains("ctxt_switches"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum();
        let thread = path.file_name().context("a thread")?.to_string_lossy().into_owned();
        switches.insert(format!("{} {thread}", name.trim()), count);
    }
    Ok(switches)
}

/// A run of one program over all files, a hundred to a directory, by way of `augurfs model import`.
fn write_model(scratch: &Scratch, binary: &Path, model: &Path, files: usize) -> anyhow::Result<()> {
    let lines = scratch.path().join("lines");
    let directories = files.div_ceil(100);
    let mut out = std::io::BufWriter::new(fs::File::create(&lines)?);
    writeln!(
        out,
        r#"{{"line":"model","form":1,"predictor":"default","files":{}}}"#,
        files + directories + 1
    )?;
    for number in 1..=directories {
        writeln!(
            out,
            r#"{{"line":"file","file":{number},"in":0,"name":"dir{number}","known":{{"inode":{number},"size":4096,"address":0,"directory":true}}}}"#
        )?;
    }
    for number in 0..files {
        let (file, parent) = (directories + 1 + number, 1 + number / 100);
        writeln!(
            out,
            r#"{{"line":"file","file":{file},"in":{parent},"name":"file_{number}.c","known":{{"inode":{file},"size":4096,"address":{}}}}}"#,
            file * 4096
        )?;
    }
    writeln!(out, r#"{{"line":"program","number":0,"identity":""}}"#)?;
    writeln!(out, r#"{{"line":"program","number":1,"identity":"/usr/bin/tar"}}"#)?;
    for number in 0..files {
        let (file, life, after) =
            (directories + 1 + number, if number == 0 { 1 } else { 3 }, usize::from(number > 0));
        writeln!(
            out,
            r#"{{"line":"access","run":1,"program":1,"use":"open","file":{file},"life":{life},"after":{after}}}"#
        )?;
    }
    out.flush()?;
    drop(out);
    tool(utf8(binary)?, &["model", "import", "-o", utf8(model)?, utf8(&lines)?])?;
    Ok(fs::remove_file(lines)?)
}
