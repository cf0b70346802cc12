//! What every read of a file of the tree took: the kernel's own trace of system calls, in an instance of our own.
//!
//! What must stay true: only reads are counted in which the page cache of the tree's file system was asked (so no pipes, no
//! libraries); a trace that lost events counts for nothing; the trace is read after the job, not while it runs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

const ROOM: &str = "/sys/kernel/tracing/instances/augurfs-bench";
/// For each processor: some 500,000 reads.
const BUFFER_KIB: &str = "65536";
/// read, pread64, readv and preadv of x86-64.
const CALLS: [u64; 4] = [0, 17, 19, 295];
/// Nothing a device does is quicker: the read found all in memory, seconds.
const MEMORY: f64 = 0.2e-3;
/// The quickest new request to either model of a device takes as long: the read was not preceded by one, seconds.
const REQUEST: f64 = 0.8e-3;

/// Reads of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reads {
    pub(crate) calls: u64,
    /// In memory.
    pub(crate) hits: u64,
    /// Waited for something that was on its way.
    pub(crate) partials: u64,
    /// Waited for the device as long as a new request takes.
    pub(crate) misses: u64,
    /// Microseconds.
    pub(crate) mean_us: f64,
    pub(crate) max_us: f64,
}

/// A trace under way; its instance goes when this is dropped.
pub(crate) struct Trace;

impl Trace {
    /// Traces this process and all it starts from now on.
    pub(crate) fn start() -> anyhow::Result<Trace> {
        let room = Path::new(ROOM);
        if !Path::new("/sys/kernel/tracing/instances").exists() {
            // In our own mount namespace.
            rustix::mount::mount(
                "tracefs",
                "/sys/kernel/tracing",
                "tracefs",
                rustix::mount::MountFlags::empty(),
                None,
            )
            .context("tracefs")?;
        }
        let _ = fs::remove_dir(room);
        fs::create_dir(room).context("no instance of the kernel's trace")?;
        let trace = Trace;
        let calls = CALLS.map(|call| format!("id == {call}")).join(" || ");
        for (file, value) in [
            ("buffer_size_kb", BUFFER_KIB),
            ("options/event-fork", "1"),
            ("set_event_pid", &std::process::id().to_string()),
            ("events/raw_syscalls/sys_enter/filter", &calls),
            ("events/raw_syscalls/sys_exit/filter", &calls),
            ("events/raw_syscalls/sys_enter/enable", "1"),
            ("events/raw_syscalls/sys_exit/enable", "1"),
            ("events/filemap/mm_filemap_get_pages/enable", "1"),
        ] {
            fs::write(room.join(file), value).with_context(|| format!("the kernel's trace: {file}"))?;
        }
        Ok(trace)
    }

    /// Ends it; what was read on the file system with this device number.
    pub(crate) fn end(self, (major, minor): (u32, u32)) -> anyhow::Result<Reads> {
        let room = Path::new(ROOM);
        fs::write(room.join("tracing_on"), "0")?;
        for processor in processors(room)? {
            let stats = fs::read_to_string(processor.join("stats"))?;
            if stats.lines().any(|line| line.starts_with("overrun:") && !line.ends_with(": 0")) {
                bail!("the kernel's trace lost events");
            }
        }
        let text = fs::read_to_string(room.join("trace"))?;
        Ok(count(&text, &format!("dev={major}:{minor} ")))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::write(Path::new(ROOM).join("tracing_on"), "0");
        let _ = fs::remove_dir(ROOM);
    }
}

fn processors(room: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::read_dir(room.join("per_cpu"))?.map(|entry| Ok(entry?.path())).collect()
}

/// Lines are `name-TID [cpu] flags SECONDS: event: ...`.
fn count(text: &str, device: &str) -> Reads {
    let (mut begun, mut reads, mut sum) = (HashMap::<&str, (f64, bool)>::new(), Reads::default(), 0.0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, event)) = line.split_once(": ") else { continue };
        let Some((who, _)) = head.split_once(" [") else { continue };
        let Some((_, tid)) = who.rsplit_once('-') else { continue };
        let Some(at) = head.split_whitespace().last().and_then(|at| at.parse::<f64>().ok()) else { continue };
        if event.starts_with("sys_enter") {
            begun.insert(tid, (at, false));
        } else if event.starts_with("mm_filemap_get_pages") {
            if let Some((_, of_tree)) = begun.get_mut(tid).filter(|_| event.contains(device)) {
                *of_tree = true;
            }
        } else if event.starts_with("sys_exit")
            && let Some((since, true)) = begun.remove(tid)
        {
            let took = at - since;
            sum += took;
            reads.calls += 1;
            reads.max_us = reads.max_us.max(took * 1e6);
            match took {
                took if took < MEMORY => reads.hits += 1,
                took if took < REQUEST => reads.partials += 1,
                _ => reads.misses += 1,
            }
        }
    }
    reads.mean_us = if reads.calls > 0 { sum * 1e6 / reads.calls as f64 } else { 0.0 };
    reads
}
