//! augurfs as the bench sees it: a process to start, to ask for its figures, and to end.
//!
//! What must stay true: dropping it leaves neither the process nor its mount behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::mounts::{unmount, utf8};
use super::shell::{Interruption, cpu_of, end_within, tool};

/// How long mounting, and saving the model and ending, may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program and what it is told in every arm.
pub(crate) struct Program<'a> {
    pub(crate) binary: &'a Path,
    /// More `-o` options, comma separated; may be empty.
    pub(crate) options: &'a str,
}

/// augurfs, mounted.
pub(crate) struct Daemon<'a> {
    program: &'a Program<'a>,
    child: Child,
    mountpoint: PathBuf,
    log: PathBuf,
}

impl<'a> Daemon<'a> {
    /// Mounts `source` at `mountpoint`; returns when the mount is there.
    pub(crate) fn start(
        program: &'a Program<'a>,
        source: &Path,
        mountpoint: &Path,
        options: &[String],
        interruption: &Interruption,
    ) -> anyhow::Result<Daemon<'a>> {
        let mut all = options.join(",");
        if !program.options.is_empty() {
            all = if all.is_empty() { program.options.into() } else { format!("{all},{}", program.options) };
        }
        let log = mountpoint.with_extension("log");
        let mut command = Command::new(program.binary);
        command.arg(source).arg(mountpoint).arg("-f").args(["-o", &all]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        let child = command.spawn().with_context(|| program.binary.display().to_string())?;
        let mut daemon = Daemon { program, child, mountpoint: mountpoint.to_owned(), log };
        daemon.wait_for_mount(interruption)?;
        Ok(daemon)
    }

    fn wait_for_mount(&mut self, interruption: &Interruption) -> anyhow::Result<()> {
        let parent = self.mountpoint.parent().context("a mountpoint below something")?;
        let outside = fs::metadata(parent)?.dev();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            interruption.check()?;
            if let Some(status) = self.child.try_wait()? {
                bail!("augurfs ended before it had mounted: {status}\n{}", self.complaints());
            }
            if fs::metadata(&self.mountpoint).is_ok_and(|inside| inside.dev() != outside) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("augurfs did not mount within {PATIENCE:?}\n{}", self.complaints())
    }

    fn complaints(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Processor time used so far, by user and system together, seconds.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        cpu_seconds(self.child.id())
    }

    /// What `augurfs stats --json` says.
    pub(crate) fn stats(&self) -> anyhow::Result<Value> {
        let text = tool(utf8(self.program.binary)?, &["stats", utf8(&self.mountpoint)?, "--json"])?;
        serde_json::from_str(&text).context("stats --json")
    }

    /// Unmounts and waits for the model to be saved.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        tool(utf8(self.program.binary)?, &["unmount", utf8(&self.mountpoint)?])?;
        let status = end_within(&mut self.child, PATIENCE)?;
        if status.success() { Ok(()) } else { bail!("augurfs ended with {status}\n{}", self.complaints()) }
    }
}

/// Processor time a process has used so far, seconds.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    // Fields 14 and 15.
    cpu_of(&format!("/proc/{pid}/stat"), 11)
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        unmount(&self.mountpoint);
        if let Err(error) = end_within(&mut self.child, PATIENCE) {
            eprintln!("ending augurfs: {error}");
        }
    }
}
