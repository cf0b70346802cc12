//! The stage: a scratch directory in memory, the image with the tree in it, the process that serves
//! it, and the file system mounted from it.
//!
//! What must stay true: every arm meets the same image, bit for bit (it is copied afresh from the
//! golden one), on a loop device that has just been made, so nothing an earlier arm read is still in
//! memory; and everything is undone in reverse order, on every way out. The whole bench lives in a
//! mount namespace of its own: nobody else sees its mounts, and none outlives it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::common::mounts::{Loop, Mounted, Scratch, make_ext4, utf8};
use crate::common::shell::{Interruption, end_within, run, tool};
use crate::server::Counts;
use augurfs::device::Kind;

/// Where below the scratch directory the served image appears.
const DEVICE: &str = "device";
/// Preparing may take this long: OpenSSH is configured and built once.
const PREPARING: Duration = Duration::from_secs(600);
/// How long the server may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// All mountpoints at or below a directory, the latest first.
pub(crate) fn mounts_below(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let mut below: Vec<_> = points.filter(|point| point.starts_with(directory)).collect();
    below.reverse();
    Ok(below)
}

/// Which device and what is on it.
pub(crate) struct Plan<'a> {
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
    /// Of the whole device, bytes.
    pub(crate) size: u64,
    /// Copied to `tree` in the root of the file system.
    pub(crate) tree: &'a Path,
    /// A shell command for the copy, `{tree}`; may be empty.
    pub(crate) settle: &'a str,
}

/// A device that is being served.
pub(crate) struct Stage<'a> {
    scratch: &'a Scratch,
    seed: u64,
    device: Server,
}

impl<'a> Stage<'a> {
    /// Makes the image, at full speed, and starts serving it.
    pub(crate) fn build(
        scratch: &'a Scratch,
        plan: &Plan<'_>,
        interruption: &Interruption,
    ) -> anyhow::Result<Stage<'a>> {
        let golden = scratch.path().join("golden");
        make_golden(&golden, scratch, plan, interruption)?;
        refresh(&golden, &scratch.path().join("image"))?;
        let device = Server::start(scratch, plan.kind)?;
        Ok(Stage { scratch, seed: plan.seed, device })
    }

    /// The golden image on a new loop device.
    pub(crate) fn attach(&mut self) -> anyhow::Result<Loop> {
        refresh(&self.scratch.path().join("golden"), &self.scratch.path().join("image"))?;
        self.device.reset(self.seed)?;
        Loop::attach(&self.scratch.path().join(DEVICE).join("image"), true)
    }

    /// The golden image, mounted; nothing of it is in memory but what mounting reads.
    pub(crate) fn mount(&mut self) -> anyhow::Result<Mounted> {
        let device = self.attach()?;
        let at = self.scratch.path().join("slow");
        fs::create_dir_all(&at)?;
        device.mount(&at, "")
    }

    /// What the device was asked so far.
    pub(crate) fn counts(&mut self) -> anyhow::Result<Counts> {
        self.device.counts()
    }

    pub(crate) fn scratch(&self) -> &'a Scratch {
        self.scratch
    }
}

fn make_golden(
    golden: &Path,
    scratch: &Scratch,
    plan: &Plan<'_>,
    interruption: &Interruption,
) -> anyhow::Result<()> {
    make_ext4(golden, plan.size)?;
    let at = scratch.directory("build")?;
    // Without delayed allocation blocks are laid out in the order in which they are copied, and so the
    // same way every time.
    let mounted = Loop::attach(golden, false)?.mount(&at, "nodelalloc")?;
    let source = format!("{}/.", utf8(plan.tree)?);
    let target = mounted.path().join("tree");
    fs::create_dir(&target)?;
    tool("cp", &["-a", &source, utf8(&target)?])?;
    shell(&["-c", &plan.settle.replace("{tree}", utf8(&target)?)], interruption)
}

/// Overwrites the served image in place: the server keeps it open.
fn refresh(golden: &Path, image: &Path) -> anyhow::Result<()> {
    tool("cp", &["--sparse=always", utf8(golden)?, utf8(image)?]).map(drop)
}

/// The process that serves the image, and the pipe to it.
struct Server {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    fn start(scratch: &Scratch, kind: Kind) -> anyhow::Result<Server> {
        let at = scratch.directory(DEVICE)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--serve")
            .arg(kind.as_str())
            .arg(scratch.path().join("image"))
            .arg(&at)
            // Not in our group: Ctrl-C is for us, and the device must live until all is unmounted.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("the server's output")?);
        let mut server = Server { child, orders, answers };
        server.expect_ok()?;
        Ok(server)
    }

    fn reset(&mut self, seed: u64) -> anyhow::Result<()> {
        self.order(&format!("reset {seed}"))?;
        self.expect_ok()
    }

    fn counts(&mut self) -> anyhow::Result<Counts> {
        self.order("counts")?;
        Ok(serde_json::from_str(&self.answer()?)?)
    }

    fn order(&mut self, line: &str) -> anyhow::Result<()> {
        let orders = self.orders.as_mut().context("the server has been told to end")?;
        Ok(writeln!(orders, "{line}")?)
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the device's server ended unexpectedly");
        }
        Ok(line.trim().to_owned())
    }

    fn expect_ok(&mut self) -> anyhow::Result<()> {
        match self.answer()?.as_str() {
            "ok" => Ok(()),
            other => bail!("the device's server says {other:?}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.order("quit");
        drop(self.orders.take());
        if let Err(error) = end_within(&mut self.child, PATIENCE) {
            eprintln!("ending the device's server: {error}");
        }
    }
}

/// Runs a shell, for what must succeed and is not measured.
///
/// # Errors
/// It fails, or is interrupted.
pub(crate) fn shell(arguments: &[&str], interruption: &Interruption) -> anyhow::Result<()> {
    let mut shell = Command::new("sh");
    shell.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = run(&mut shell, PREPARING, interruption)?;
    if ended.status.success() { Ok(()) } else { bail!("{}: sh {}", ended.status, arguments.join(" ")) }
}
