//! Real mounts for tests: started in the foreground as a child, watched, and taken down again whatever happens.
//!
//! Needs root and /dev/fuse; without them the tests fail, they never skip.
//!
//! What must stay true: nothing mounted or started here outlives its guard; every wait has a limit, and a request that would
//! hang is ended by killing the daemon (which makes the kernel answer for it), so that a hang is a failed test and not a
//! hanging one; time never decides whether a test passes, only how long it may take.
#![allow(dead_code, reason = "each test file that includes this uses a part of it")]
#![allow(unreachable_pub, reason = "shared between test files, each its own crate")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends at the first surprise, and says what it can"
)]

pub mod image;
pub mod map;
pub mod process;
pub mod scratch;
pub mod stage;
pub mod watchdog;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use augurfs::sys::mountinfo;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use process::{output_within, try_output};
use watchdog::Watchdog;

/// Nothing that is waited for takes longer than this, even on a loaded machine; what does has hung.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// No usual test needs a mount for longer. After that its daemon is killed, and whoever waits for it gets an error.
const LIFE: Duration = Duration::from_secs(100);
/// Short against what is waited for, long against the cost of looking.
const GLANCE: Duration = Duration::from_millis(10);
/// How often the guard tries to unmount before it tears the mount off.
const TRIES: usize = 20;

/// The paths data can take, for tests that hold on each of them.
pub const PATHS: [&str; 3] = ["resident", "passthrough", "plain"];

/// Looks again and again until `look` finds something.
///
/// # Panics
/// After `PATIENCE`: then what was waited for does not come.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    wait_up_to(PATIENCE, what, &mut look)
}

/// As `wait_for`, with a limit of its own.
pub fn wait_up_to<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(GLANCE);
    }
}

/// The program under test.
pub fn augurfs() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_augurfs"));
    command.env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// What shall be mounted, and how.
#[derive(Clone, Debug)]
pub struct Recipe {
    source: PathBuf,
    point: PathBuf,
    options: Vec<OsString>,
    model: OsString,
    descriptors: Option<u32>,
    life: Duration,
}

impl Recipe {
    /// The data path.
    pub fn path(self, path: &str) -> Self {
        self.option(&format!("path={path}"))
    }

    /// One more `-o` argument.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.into());
        self
    }

    /// Where the model is kept. Without this it is in memory only, so that tests leave nothing in the user's state.
    pub fn model(mut self, path: &Path) -> Self {
        self.model = path.into();
        self
    }

    /// The daemon may have so many descriptors.
    pub fn descriptors(mut self, most: u32) -> Self {
        self.descriptors = Some(most);
        self
    }

    /// A test that is long on purpose needs it for so long.
    pub fn life(self, life: Duration) -> Self {
        Recipe { life: life.max(LIFE), ..self }
    }

    /// Mounts.
    ///
    /// # Panics
    /// When it does not come about; with what the daemon said.
    pub fn start(self) -> Mount {
        match self.try_start() {
            Ok(mount) => mount,
            Err(refusal) => panic!("not mounted: {refusal:?}"),
        }
    }

    /// Mounts, or tells how the daemon ended instead.
    pub fn try_start(self) -> Result<Mount, Refusal> {
        let (complaints, log) = complaints();
        let child = self.command().stderr(log).spawn().expect("the daemon cannot be started");
        let watchdog = Watchdog::over(child.id(), self.life);
        let mut mount = Mount { point: self.point, device: (0, 0), child, complaints, watchdog, ended: None };
        wait_for("the mount", || {
            mount.ended = mount.child.try_wait().expect("our own child");
            (mount.ended.is_some() || mount.answers()).then_some(())
        });
        match mount.ended {
            Some(status) => Err(Refusal { code: status.code(), said: mount.said() }),
            None => {
                mount.device = device_at(&mount.point).expect("who answers is mounted");
                Ok(mount)
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = match self.descriptors {
            None => augurfs(),
            Some(most) => {
                let mut shell = Command::new("sh");
                let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_augurfs")]);
                shell.env_remove("RUST_LOG").stdin(Stdio::null());
                shell
            }
        };
        command.arg(&self.source).arg(&self.point).arg("-f");
        let mut model = OsString::from("model=");
        model.push(&self.model);
        command.arg("-o").arg(model);
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        command.stdout(Stdio::null());
        command
    }
}

/// A mount that did not come about.
#[derive(Debug)]
pub struct Refusal {
    /// Exit code of the daemon.
    pub code: Option<i32>,
    /// What it said.
    pub said: String,
}

/// A mount that is up.
#[derive(Debug)]
pub struct Mount {
    point: PathBuf,
    device: (u32, u32),
    child: Child,
    complaints: PathBuf,
    watchdog: Watchdog,
    ended: Option<ExitStatus>,
}

impl Mount {
    /// A mount of `source` at `point`; both may be the same.
    pub fn of(source: &Path, point: &Path) -> Recipe {
        Recipe {
            source: source.to_owned(),
            point: fs::canonicalize(point).unwrap_or_else(|_| point.to_owned()),
            options: Vec::new(),
            model: "none".into(),
            descriptors: None,
            life: LIFE,
        }
    }

    /// Where it is.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// A path in it.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.point.join(path)
    }

    /// The daemon's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Major and minor number of files on it.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// What the daemon has said so far.
    pub fn said(&self) -> String {
        text(&self.complaints)
    }

    /// Is it still to be seen? Device numbers are used again, but not at the same place: the test has that for itself.
    pub fn is_mounted(&self) -> bool {
        let mounts = mountinfo::read().expect("/proc is there");
        mounts.iter().any(|mount| mount.device == self.device && mount.point == self.point)
    }

    /// What `augurfs stats --json` tells.
    ///
    /// # Panics
    /// When it tells nothing.
    pub fn stats(&self) -> Value {
        let output = output_within(augurfs().arg("stats").arg(&self.point).arg("--json"), PATIENCE);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}; the daemon: {}", self.said());
        serde_json::from_slice(&output.stdout).expect("stats --json prints JSON")
    }

    /// One number of the statistics, by its path, like `/opens/total`.
    ///
    /// # Panics
    /// When there is no such number.
    pub fn count(&self, path: &str) -> u64 {
        let stats = self.stats();
        let number = stats.pointer(path).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number at {path} in {stats}"))
    }

    /// What `augurfs unmount` says and gives.
    pub fn try_unmount(&self) -> Output {
        output_within(augurfs().arg("unmount").arg(&self.point), PATIENCE)
    }

    /// Unmounts it and waits for its daemon's end.
    ///
    /// # Panics
    /// When either does not go well.
    pub fn unmount(&mut self) -> ExitStatus {
        let output = self.try_unmount();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "unmount: {said}; the daemon: {}", self.said());
        assert!(!self.is_mounted(), "unmount said yes, and it is still there");
        self.wait_for_end()
    }

    /// Sends the daemon a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("not zero");
        kill_process(pid, signal).expect("the daemon runs");
    }

    /// Waits until the daemon has ended.
    ///
    /// # Panics
    /// When it does not.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        let child = &mut self.child;
        let status = wait_for("the daemon's end", || child.try_wait().expect("our own child"));
        self.watchdog.stand_down();
        self.ended = Some(status);
        status
    }

    /// Does this daemon, and not an earlier one, answer for the mountpoint? The control socket comes last: then everything is
    /// set up.
    fn answers(&self) -> bool {
        let asked = try_output(augurfs().arg("stats").arg(&self.point).arg("--json"), PATIENCE);
        let told = asked.and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
        told.is_some_and(|stats| stats["pid"] == self.child.id())
    }

    /// Takes down what is left, gently first.
    fn take_down(&mut self) {
        for _ in 0..TRIES {
            if self.ended.is_some() || !self.is_mounted() {
                break;
            }
            let ended = try_output(augurfs().arg("unmount").arg(&self.point), Duration::from_secs(10));
            if ended.is_none_or(|output| output.status.success()) {
                break;
            }
            std::thread::sleep(GLANCE);
        }
        // Only ever ours: another mount at that place has another device number.
        while mountinfo::at(&self.point).ok().flatten().is_some_and(|mount| mount.device == self.device) {
            if rustix::mount::unmount(&self.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).is_err() {
                break;
            }
        }
        let start = Instant::now();
        while self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
            if start.elapsed() > Duration::from_secs(8) {
                let _ = self.child.kill();
                self.ended = self.child.wait().ok();
            }
            std::thread::sleep(GLANCE);
        }
        self.watchdog.stand_down();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.take_down();
        let said = self.said();
        if std::thread::panicking() && !said.is_empty() {
            eprintln!("the daemon of {} said:\n{said}", self.point.display());
        }
        let _ = fs::remove_file(&self.complaints);
    }
}

fn device_at(point: &Path) -> Option<(u32, u32)> {
    mountinfo::at(point).expect("/proc is there").map(|mount| mount.device)
}

/// A file for the daemon's standard error. Not below the source or the mountpoint: they may be the same.
fn complaints() -> (PathBuf, File) {
    let (file, path) = tempfile::Builder::new()
        .prefix("augurfs-said-")
        .tempfile()
        .expect("a temporary file")
        .keep()
        .expect("kept");
    (path, file)
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
