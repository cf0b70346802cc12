//! Commands that talk to a daemon, against a real mount whose daemon is this test.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod hand;

use augurfs::live::control::{self, Request, Response};
use augurfs::stats::{Explanation, Report};
use augurfs::sys::mountinfo;
use hand::HandMount;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// A mount with an ear, and a process that is said to be its daemon.
struct Daemon {
    point: PathBuf,
    process: Child,
    _ear: control::ControlGuard,
    _mount: HandMount,
    _dir: tempfile::TempDir,
}

impl Daemon {
    fn start(seconds: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let point = fs::canonicalize(dir.path()).unwrap().join("mnt");
        fs::create_dir(&point).unwrap();
        let mount = HandMount::new(&point);
        let process = Command::new("sleep").arg(seconds).spawn().unwrap();
        let device = mountinfo::at(&point).unwrap().unwrap().device;
        let pid = process.id();
        let answer = move |request| match request {
            Request::Stats => Response::Stats { report: Box::new(report(pid)) },
            Request::Explain { path } => {
                let explanation = Explanation { file: path, ..Explanation::default() };
                Response::Explain { explanation: Box::new(explanation) }
            }
            other => Response::Error { message: format!("{other:?} is not for a test") },
        };
        let ear = control::serve(&control::own_socket(device).unwrap(), answer).unwrap();
        Daemon { point, process, _ear: ear, _mount: mount, _dir: dir }
    }

    fn augurfs(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_augurfs")).args(arguments).arg(&self.point).output().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn report(pid: u32) -> Report {
    let mut report = Report::default();
    report.standing.pid = pid;
    report.standing.path.active = "plain".into();
    report.standing.path.reason = "a test says so".into();
    report.opens.total = 3;
    report
}

#[test]
fn statistics_come_from_the_daemon() {
    let daemon = Daemon::start("60");
    let told = daemon.augurfs(&["stats"]);
    assert!(told.status.success(), "{told:?}");
    assert!(String::from_utf8_lossy(&told.stdout).contains("Data path: plain, because a test says so.\n"));
    let json = daemon.augurfs(&["stats", "--json"]);
    let read: Report = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(read, report(daemon.process.id()));
}

#[test]
fn an_explanation_comes_from_the_daemon() {
    let daemon = Daemon::start("60");
    let explain = |arguments: &[&str]| {
        let words = [&["explain", daemon.point.to_str().unwrap()], arguments].concat();
        Command::new(env!("CARGO_BIN_EXE_augurfs")).args(words).output().unwrap()
    };
    let told = explain(&["a/b 100%.c"]);
    assert!(told.status.success(), "{told:?}");
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("a/b 100%25.c is not known"), "{told:?}");
    let json = explain(&["--json", daemon.point.join("a").to_str().unwrap()]);
    let read: Explanation = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((read.file.as_str(), read.known), ("a", false));
    let outside = explain(&["/etc/passwd"]);
    assert_eq!(outside.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&outside.stderr).contains("/etc/passwd is not below"), "{outside:?}");
}

#[test]
fn unmount_waits_for_the_daemon_to_end() {
    let daemon = Daemon::start("0.5");
    let start = Instant::now();
    let output = daemon.augurfs(&["unmount"]);
    assert!(output.status.success(), "{output:?}");
    assert!(start.elapsed() > Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!(mountinfo::at(&daemon.point).unwrap(), None);
}

#[test]
fn unmount_says_if_the_daemon_does_not_end() {
    let daemon = Daemon::start("60");
    let output = daemon.augurfs(&["unmount"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains(&format!("its daemon (process {}) has not ended yet", daemon.process.id())),
        "{said}"
    );
    assert_eq!(mountinfo::at(&daemon.point).unwrap(), None);
}

#[test]
fn a_busy_mount_stays_and_its_user_is_named() {
    let daemon = Daemon::start("60");
    let user = Holding::directory(&daemon.point);
    let output = daemon.augurfs(&["unmount"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("is busy: used by sleep ({})", user.0.id())), "{said}");
    assert!(mountinfo::at(&daemon.point).unwrap().is_some());
}

#[test]
fn a_second_mount_is_refused_without_touching_the_first() {
    let daemon = Daemon::start("60");
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_augurfs")).arg("/usr").arg(&daemon.point).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(32), "{said}");
    assert!(said.contains("augurfs is mounted on") && said.contains("already"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A process whose standard input is a directory.
struct Holding(Child);

impl Holding {
    /// Opened as a path only: nothing is asked of the file system.
    fn directory(path: &Path) -> Self {
        use rustix::fs::{Mode, OFlags, open};
        let held = open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        Holding(Command::new("sleep").arg("60").stdin(held).spawn().unwrap())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
