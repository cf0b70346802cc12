//! What is left in the foreground when the mount has gone to another process.
//!
//! A shell, a service manager or a container waits for the process that it started. So that one stays: nothing but a
//! small program that passes signals on to whoever serves the mount now, and ends with that process's verdict.
//!
//! What must stay true: it keeps the number of the process it replaces, and nothing else of it: no descriptor, no memory.

use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::MARK;
use crate::run::daemon::own_program;

/// Tells a process that it is an attendant, and the number of its successor.
const ATTENDANT: &str = "AUGURFS_ATTENDANT";

/// Turns this process into the attendant of its child `pid`. The error comes back if that is not possible.
pub(super) fn become_attendant(pid: u32, place: &std::path::Path) -> io::Error {
    let mut command = Command::new(own_program());
    command.arg0("augurfs-attendant").arg(place).env(ATTENDANT, pid.to_string()).env_remove(MARK).exec()
}

/// If this process is an attendant, it is one until the mount has ended; the exit code comes back.
pub fn serve_if_asked() -> Option<u8> {
    let pid = std::env::var(ATTENDANT).ok()?;
    // Without it the code of the first successor is the verdict.
    let _ = set_child_subreaper(Some(getpid()));
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]) {
        let interactive = io::stdin().is_terminal();
        std::thread::spawn(move || signals.forever().for_each(|signal| pass_on(signal, interactive)));
    }
    let mut verdict = 0;
    // Whoever has handed over has ended well, and so do guardians: any other code is of the one who served last.
    while let Some((child, code)) = next_end() {
        log::debug!("process {child} has ended, after {pid} had taken over");
        verdict = if code == 0 { verdict } else { code };
    }
    Some(verdict)
}

/// Waits for some child's end; `None` when there are no children.
fn next_end() -> Option<(i32, u8)> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((child, status))) => return Some((child.as_raw_nonzero().get(), code(status))),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn pass_on(signal: i32, interactive: bool) {
    // The end of the terminal is not the successor's to see.
    let signal = if signal == SIGHUP && interactive { SIGTERM } else { signal };
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    for child in children() {
        // It may have ended in this moment.
        let _ = kill_process(child, signal);
    }
}

fn children() -> Vec<Pid> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let words: Vec<String> =
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    words.iter().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}
