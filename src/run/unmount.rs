//! Ending a mount from outside, and waiting until its daemon has saved what it learned.

use super::check::fusermount;
use crate::live::control::{self, ControlError, Feed, Last, Request, Response};
use crate::sys::process;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Saving a large model to a slow disk takes about a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// Short against what a user notices.
const GLANCE: Duration = Duration::from_millis(10);
/// Working off the reports of a storm of opens takes no longer, even on a busy machine.
const REPORTS: Duration = Duration::from_millis(500);
/// Looking through all processes takes some milliseconds.
const LOOK: Duration = Duration::from_secs(1);
/// Names in the sentence about a busy mount.
const MOST_NAMES: usize = 3;

/// Why a mount is still there, or its daemon.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// It is not one of our mounts.
    #[error(transparent)]
    Place(#[from] ControlError),
    /// Something uses it.
    #[error("{} is busy{}; end them, or detach it with --lazy", path.display(), users(.holders))]
    Busy {
        /// The mountpoint.
        path: PathBuf,
        /// Who has something open on it, as far as we may look.
        holders: Vec<process::Holder>,
    },
    /// A user needs a set-ID program to unmount.
    #[error("a user needs fusermount3 to unmount, and it is not in PATH: install the package fuse3")]
    NoFusermount,
    /// The kernel, or `fusermount3`, refused.
    #[error("{} cannot be unmounted: {reason}", path.display())]
    Refused {
        /// The mountpoint.
        path: PathBuf,
        /// What was said.
        reason: String,
    },
    /// The mount has gone; the daemon has not.
    #[error("{} is unmounted, but its daemon (process {pid}) has not ended yet: it may still be saving", path.display())]
    Lingering {
        /// The mountpoint.
        path: PathBuf,
        /// The daemon.
        pid: u32,
    },
    /// The mount has gone, and with it what was learned.
    #[error("{} is unmounted, but what it learned is not saved: {reason}", path.display())]
    Unsaved {
        /// The mountpoint.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl UnmountError {
    /// Has it been unmounted all the same?
    pub fn is_unmounted(&self) -> bool {
        matches!(self, UnmountError::Lingering { .. } | UnmountError::Unsaved { .. })
    }
}

/// Unmounts what is mounted at `mountpoint` and waits until the daemon has ended. With `lazy` a busy mount is detached: it has no
/// place from then on, and those who use it lose it when the daemon ends, some seconds later; that is not waited for.
///
/// # Errors
/// It is not our mount, it is busy, or we may not.
pub fn unmount(mountpoint: &Path, lazy: bool) -> Result<(), UnmountError> {
    let (mount, socket) = control::find(mountpoint)?;
    // Asked before: afterwards the daemon may be too busy ending. One that does not answer is not waited for.
    let daemon = socket.and_then(|socket| Daemon::at(&socket));
    match detach(&mount.point) {
        Err(UnmountError::Busy { path, .. }) if lazy => {
            return super::check::detach(&path)
                .map_err(|error| UnmountError::Refused { path, reason: error.to_string() });
        }
        other => other?,
    }
    daemon.map_or(Ok(()), |daemon| daemon.farewell(mount.point))
}

/// The daemon of a mount that is about to be unmounted.
struct Daemon {
    pid: u32,
    /// Where it says how it ended; one from before an upgrade does not.
    last: Option<Feed>,
}

impl Daemon {
    fn at(socket: &Path) -> Option<Self> {
        match control::listen_at(socket, Request::Farewell) {
            Ok((Response::Stats { report }, feed)) => {
                Some(Daemon { pid: report.standing.pid, last: Some(feed) })
            }
            _ => daemon_at(socket).map(|pid| Daemon { pid, last: None }),
        }
    }

    /// Waits until it has ended, and hears what it says last.
    fn farewell(self, path: PathBuf) -> Result<(), UnmountError> {
        let last = self.last.and_then(last_word);
        if !ends(self.pid) {
            return Err(UnmountError::Lingering { path, pid: self.pid });
        }
        match last.and_then(|last| last.unsaved) {
            Some(reason) => Err(UnmountError::Unsaved { path, reason }),
            None => Ok(()),
        }
    }
}

/// What is said before the end of the line, or of our patience.
fn last_word(feed: Feed) -> Option<Last> {
    let Feed { begun: mut said, mut stream } = feed;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let read = stream.read_to_end(&mut said);
    match serde_json::from_slice(&said) {
        Ok(last) => Some(last),
        // Killed, or ended by a panic.
        Err(_) => read.is_ok().then(|| Last { unsaved: Some("the daemon ended without a word".into()) }),
    }
}

fn daemon_at(socket: &Path) -> Option<u32> {
    match control::ask_at(socket, Request::Stats) {
        Ok(Response::Stats { report }) => Some(report.standing.pid).filter(|pid| *pid != 0),
        _ => None,
    }
}

fn ends(pid: u32) -> bool {
    let start = Instant::now();
    while process::runs(pid) {
        if start.elapsed() > PATIENCE {
            return false;
        }
        sleep(GLANCE);
    }
    true
}

fn detach(path: &Path) -> Result<(), UnmountError> {
    if !rustix::process::geteuid().is_root() {
        return detach_as_user(path);
    }
    let deadline = Instant::now() + REPORTS;
    loop {
        match rustix::mount::unmount(path, UnmountFlags::NOFOLLOW) {
            // Reports of the last opens, which the daemon is about to read, keep the mount busy too.
            Err(Errno::BUSY) if Instant::now() < deadline => sleep(GLANCE),
            answer => return unmounted(path, answer),
        }
    }
}

fn unmounted(path: &Path, answer: rustix::io::Result<()>) -> Result<(), UnmountError> {
    match answer {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(busy(path)),
        Err(e) => {
            Err(UnmountError::Refused { path: path.to_owned(), reason: io::Error::from(e).to_string() })
        }
    }
}

fn detach_as_user(path: &Path) -> Result<(), UnmountError> {
    let program = fusermount().ok_or(UnmountError::NoFusermount)?;
    let refusal = |reason: String| UnmountError::Refused { path: path.to_owned(), reason };
    let said =
        Command::new(program).arg("-u").arg("--").arg(path).output().map_err(|e| refusal(e.to_string()))?;
    match last_line(&said.stderr) {
        _ if said.status.success() => Ok(()),
        line if line.contains("busy") => Err(busy(path)),
        line => Err(refusal(line)),
    }
}

fn busy(path: &Path) -> UnmountError {
    UnmountError::Busy { path: path.to_owned(), holders: holders(path) }
}

/// Who uses it, apart from its own daemon. Looking at a process may hang: then nobody is named.
fn holders(path: &Path) -> Vec<process::Holder> {
    let (to, from) = std::sync::mpsc::channel();
    let asked = path.to_owned();
    let daemon = control::find(path).ok().and_then(|(_, socket)| daemon_at(&socket?));
    std::thread::spawn(move || to.send(process::holders(&asked).unwrap_or_default()));
    let mut holders = from.recv_timeout(LOOK).unwrap_or_default();
    holders.retain(|holder| Some(holder.pid) != daemon);
    holders
}

/// Names come from anywhere: control characters do not reach a terminal.
fn told(holder: &process::Holder) -> String {
    let (name, what) = (holder.name.escape_debug(), holder.what.to_string_lossy());
    format!("{name} ({}) with {}", holder.pid, what.escape_debug())
}

fn users(holders: &[process::Holder]) -> String {
    let names: Vec<_> = holders.iter().take(MOST_NAMES).map(told).collect();
    match holders.len() {
        0 => String::new(),
        n if n > MOST_NAMES => format!(": used by {} and {} more", names.join(", "), n - MOST_NAMES),
        _ => format!(": used by {}", names.join(", ")),
    }
}

/// What a program said last, without a line break.
pub(super) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.trim().lines().last().unwrap_or("no reason was given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_with(count: u32) -> String {
        let holders = (1..=count)
            .map(|pid| process::Holder { pid, name: "cat".into(), what: "/mnt/a".into() })
            .collect();
        UnmountError::Busy { path: "/mnt".into(), holders }.to_string()
    }

    #[test]
    fn a_busy_mount_names_its_users() {
        assert_eq!(busy_with(0), "/mnt is busy; end them, or detach it with --lazy");
        assert_eq!(
            busy_with(2),
            "/mnt is busy: used by cat (1) with /mnt/a, cat (2) with /mnt/a; end them, or detach it with --lazy"
        );
        assert_eq!(
            busy_with(5),
            "/mnt is busy: used by cat (1) with /mnt/a, cat (2) with /mnt/a, cat (3) with /mnt/a and 2 more; end them, or detach it with --lazy"
        );
    }

    #[test]
    fn only_our_mounts_are_unmounted() {
        assert!(matches!(
            unmount(Path::new("/proc"), false),
            Err(UnmountError::Place(ControlError::NotOurs { .. }))
        ));
        assert!(Path::new("/proc/self").exists());
        assert!(unmount(Path::new("/no/such/place"), true).is_err());
    }

    #[test]
    fn the_last_line_is_what_counts() {
        assert_eq!(last_line(b"first\nfusermount3: entry not found\n"), "fusermount3: entry not found");
        assert_eq!(last_line(b""), "no reason was given");
    }

    #[test]
    fn a_process_that_has_ended_is_not_waited_for() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(ends(pid));
    }
}
