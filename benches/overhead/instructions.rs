//! Instructions of the hot paths, counted by callgrind: a regression is seen without a quiet machine.
//!
//! What must stay true: each figure is the difference of two runs that differ in nothing but how often the work is done.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use augurfs::clock::Micros;
use augurfs::config::Scope;
use augurfs::engine::{Engine, Settings};
use augurfs::event::{AccessEvent, Op, Origin, Residency};
use augurfs::id::{FileId, GroupId, ProgramId, SessionId, StreamId};
use augurfs::live::Live;
use augurfs::mirror::{How, Mirror, Requester};
use augurfs::predict::PredictorChoice;

/// Files of the job that is learned.
const FILES: u32 = 1000;
/// How often the work is done, less and more.
const TIMES: [usize; 2] = [2_000, 12_000];

/// Prints instructions for one event noted, one event with what is expected after it, one lookup answered from memory.
pub(crate) fn count() -> anyhow::Result<()> {
    for what in ["note", "predict", "lookup"] {
        let [less, more] = TIMES;
        let each = (callgrind(what, more)? - callgrind(what, less)?) / (more - less) as f64;
        println!("{what:<8} {each:>9.0} instructions");
    }
    Ok(())
}

fn callgrind(what: &str, times: usize) -> anyhow::Result<f64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
    command.args(["--work", what, &times.to_string()]).stdin(Stdio::null());
    let output = command.output().context("there is no valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{what}: {said}");
    }
    let line =
        said.lines().find_map(|line| line.split_once("Collected : ")).context("no count of instructions")?;
    Ok(line.1.trim().parse()?)
}

/// The work itself, under callgrind.
pub(crate) fn work(what: &OsStr, times: &OsStr) -> anyhow::Result<()> {
    let times: usize = times.to_str().and_then(|times| times.parse().ok()).context("how often?")?;
    match what.to_str() {
        // Nothing is expected of a predictor that predicts nothing: what is left is the noting.
        Some("note") => events(PredictorChoice::None, times),
        Some("predict") => events("default".parse().ok().context("the default predictor")?, times),
        Some("lookup") => lookups(times),
        _ => bail!("no such work"),
    }
}

fn events(predictor: PredictorChoice, times: usize) -> anyhow::Result<()> {
    let mut engine = Engine::new(Settings { predictor, scope: Scope::Job, budget: 64 << 20 });
    let mut effects = Vec::new();
    let (group, session) = (GroupId(1), SessionId(1));
    engine.begin(StreamId(1), Origin { parent: None, program: ProgramId(1), group, session });
    for number in 0..times as u32 {
        let at = Micros(u64::from(number) * 100);
        let file = FileId(1 + number % FILES);
        let event = AccessEvent { at, stream: StreamId(1), file, op: Op::Open, residency: Residency::Hit };
        engine.observe(&event, &mut effects);
        effects.clear();
    }
    Ok(())
}

fn lookups(times: usize) -> anyhow::Result<()> {
    let root = std::fs::File::open(env!("CARGO_MANIFEST_DIR"))?;
    let (live, names) = (Arc::new(Live::default()), Arc::default());
    let mirror = Mirror::new(Arc::new(root.into()), names, live, Duration::from_secs(1), true)?;
    let who = Requester { tid: std::process::id(), uid: 0, gid: 0 };
    let name = Path::new("Cargo.toml").as_os_str();
    for _ in 0..times {
        mirror.lookup(who, 1, name, How::MayBlock)?;
    }
    Ok(())
}
