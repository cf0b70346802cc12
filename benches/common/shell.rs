//! Running other programs: with a limit of time, ended together with their children when the user
//! interrupts us.
//!
//! What must stay true: no wait in here is without end, and every wait notices an interruption.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use crossbeam_channel::{RecvTimeoutError, bounded};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long any of the small tools (mkfs, losetup, mount) may take.
const TOOL_LIMIT: Duration = Duration::from_secs(120);
/// How often a wait looks for an interruption.
const GLANCE: Duration = Duration::from_millis(50);

/// Set once SIGINT, SIGTERM or SIGHUP has come.
#[derive(Clone)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// From now on these signals no longer end the process; they are found here.
    pub(crate) fn watch() -> io::Result<Interruption> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interruption(flag))
    }

    /// Fails once a signal has come.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.0.load(Ordering::Relaxed) { bail!("interrupted") } else { Ok(()) }
    }
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) elapsed: Duration,
}

/// Runs a command to its end in a process group of its own. Past `limit`, and when interrupted, the
/// group is killed.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    interruption: &Interruption,
) -> anyhow::Result<Ended> {
    let begun = Instant::now();
    let mut child =
        command.process_group(0).spawn().with_context(|| format!("{:?}", command.get_program()))?;
    let group = group_of(&child);
    let (ended, end) = bounded(1);
    // Another thread waits, so that the end is stamped when it comes and not at our next glance.
    let waiter = thread::spawn(move || {
        let _ = ended.send(child.wait().map(|status| (status, Instant::now())));
    });
    let verdict = loop {
        match end.recv_timeout(GLANCE) {
            Ok(outcome) => break outcome.context("waiting for a command"),
            Err(RecvTimeoutError::Timeout) if begun.elapsed() > limit => {
                break Err(anyhow::anyhow!("no end after {limit:?}: {command:?}"));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupted) = interruption.check() {
                    break Err(interrupted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break Err(anyhow::anyhow!("the waiter died")),
        }
    };
    if verdict.is_err() {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = waiter.join();
    verdict.map(|(status, at)| Ended { status, elapsed: at - begun })
}

/// Runs a small tool that must succeed; its output.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("timeout");
    command.arg(TOOL_LIMIT.as_secs().to_string()).arg(program).args(arguments).process_group(0);
    let output = command.stdin(Stdio::null()).output().with_context(|| program.to_owned())?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Processor time of a process, seconds: the field `first` after the name, and the one behind it.
pub(crate) fn cpu_of(stat: &str, first: usize) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(stat)?;
    // The name, field 2, may hold spaces but ends at the last bracket.
    let after_name = stat.rsplit_once(')').context("an unknown format of stat")?.1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |index: usize| -> anyhow::Result<u64> {
        Ok(fields.get(index).context("a short line in stat")?.parse()?)
    };
    Ok((ticks(first)? + ticks(first + 1)?) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The process group of a child that was started in its own.
pub(crate) fn group_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Waits for a child to end by itself, and kills it when it does not.
pub(crate) fn end_within(child: &mut Child, limit: Duration) -> io::Result<ExitStatus> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()
}
