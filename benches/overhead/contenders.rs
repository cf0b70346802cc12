//! What stands between a program and the source: augurfs with its options, or another file system of its kind.
//!
//! What must stay true: dropping it leaves neither the process nor its mount behind.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::common::daemon::{Daemon, Program, cpu_seconds};
use crate::common::mounts::{unmount, utf8};
use crate::common::shell::{Interruption, end_within};

const PATIENCE: Duration = Duration::from_secs(10);

/// One that is mounted.
pub(crate) enum Mount<'a> {
    Augurfs(Daemon<'a>),
    Other(Other),
}

impl<'a> Mount<'a> {
    pub(crate) fn of(
        contender: &str,
        program: &'a Program<'a>,
        source: &Path,
        at: &Path,
        model: &Path,
        interruption: &Interruption,
    ) -> anyhow::Result<Mount<'a>> {
        let (source_text, at_text) = (utf8(source)?, utf8(at)?);
        let arguments: Vec<&str> = match contender {
            "bindfs" => vec!["-f", source_text, at_text],
            "mergerfs" => vec!["-f", source_text, at_text],
            "passthrough_hp" => vec!["--foreground", source_text, at_text],
            options => {
                let options = [options.to_owned(), format!("model={}", model.display())];
                return Ok(Mount::Augurfs(Daemon::start(program, source, at, &options, interruption)?));
            }
        };
        Other::start(contender, &arguments, at).map(Mount::Other)
    }

    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        match self {
            Mount::Augurfs(daemon) => daemon.cpu_seconds(),
            Mount::Other(other) => cpu_seconds(other.child.id()),
        }
    }

    /// Which path data takes, in words; empty for others.
    pub(crate) fn path(&self) -> anyhow::Result<String> {
        let Mount::Augurfs(daemon) = self else { return Ok(String::new()) };
        let stats = daemon.stats()?;
        let text =
            |pointer| stats.pointer(pointer).and_then(|value| value.as_str()).unwrap_or("?").to_owned();
        Ok(format!(": path {} ({})", text("/path/active"), text("/path/reason")))
    }

    /// Microseconds of every kind of request, and processor time for each request.
    pub(crate) fn tell_requests(&self) -> anyhow::Result<()> {
        let Mount::Augurfs(daemon) = self else { return Ok(()) };
        let stats = daemon.stats()?;
        let Some(requests) = stats["requests"].as_object() else { return Ok(()) };
        println!("{:<12} {:>10} {:>9} {:>9}", "request", "count", "p50 us", "p99 us");
        let mut all = 0;
        for (name, times) in requests {
            println!("{name:<12} {:>10} {:>9} {:>9}", times["count"], times["p50"], times["p99"]);
            all += times["count"].as_u64().unwrap_or(0);
        }
        let cpu = daemon.cpu_seconds()?;
        println!("{cpu:.2} s of processor time, {:.1} us a request", cpu * 1e6 / all.max(1) as f64);
        Ok(())
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        match self {
            Mount::Augurfs(daemon) => daemon.end(),
            Mount::Other(_) => Ok(()),
        }
    }
}

/// Another file system.
pub(crate) struct Other {
    child: Child,
    at: PathBuf,
}

impl Other {
    fn start(program: &str, arguments: &[&str], at: &Path) -> anyhow::Result<Other> {
        let outside = std::fs::metadata(at)?.dev();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("there is no {program}"))?;
        let other = Other { child, at: at.to_owned() };
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if std::fs::metadata(at).is_ok_and(|inside| inside.dev() != outside) {
                return Ok(other);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("{program} did not mount")
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        unmount(&self.at);
        let _ = end_within(&mut self.child, PATIENCE);
    }
}
