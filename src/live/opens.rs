//! Opens that the kernel answers without asking us, seen through fanotify.
//!
//! What must stay true: the reader never needs an answer from our own mount: it asks only for what the
//! kernel has in memory, opens nothing, and closes every descriptor it is handed before it reads on. An
//! open descriptor keeps the mount busy, so none lives longer than its batch.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, statx};

use super::attachment::Tree;
use super::desk::Desk;
use super::follow::{Follower, Reader};
use crate::event::{Op, Residency};
use crate::id::FileId;
use crate::names::Names;
use crate::sys::fanotify::{Opened, Reports};

/// Starts reading the opens on the mount at `mountpoint`; they go to `desk`.
pub(crate) fn watch(
    mountpoint: &Path,
    tree: Arc<dyn Tree>,
    names: Arc<Mutex<Names>>,
    desk: Arc<Desk>,
) -> io::Result<Follower> {
    let reports = Reports::of_opens(mountpoint)?;
    let own = std::process::id();
    let watcher = Watcher { own, mountpoint: mountpoint.to_owned(), tree, names, desk, batch: Vec::new() };
    Follower::start("opens", reports, watcher)
}

/// How long opens in a rush wait. A process that opens a file lives longer, but for the shortest.
const NAP: Duration = Duration::from_millis(2);

struct Watcher {
    /// Our own process, whose opens nobody is to learn.
    own: u32,
    mountpoint: PathBuf,
    tree: Arc<dyn Tree>,
    names: Arc<Mutex<Names>>,
    desk: Arc<Desk>,
    batch: Vec<Opened>,
}

impl Reader for Watcher {
    fn nap(&self) -> Duration {
        NAP
    }

    fn drain(&mut self, reports: &mut Reports) -> io::Result<usize> {
        let mut batch = std::mem::take(&mut self.batch);
        reports.read_opens(&mut batch)?;
        let count = batch.len();
        self.take(&mut batch);
        self.batch = batch;
        Ok(count)
    }

    fn ended(&mut self, _: &str) {
        self.desk.blinded();
    }
}

impl Watcher {
    fn take(&self, batch: &mut Vec<Opened>) {
        let mut sightings = self.desk.batch();
        for opened in batch.drain(..) {
            let Some(file) = &opened.file else {
                self.desk.overflowed();
                continue;
            };
            if opened.process == self.own {
                continue;
            }
            let caller = self.desk.processes.process(opened.process);
            if opened.exec {
                self.desk.processes.expect_exec(opened.process);
            }
            for (id, op) in self.accesses(file, &opened).into_iter().flatten() {
                sightings.add(caller.stream, id, op, Residency::Unknown);
            }
        }
        sightings.send();
    }

    /// What a report says was done: an open, a close after writing, or both merged into one.
    fn accesses(&self, file: &OwnedFd, opened: &Opened) -> [Option<(FileId, Op)>; 2] {
        let mask = StatxFlags::INO | StatxFlags::TYPE;
        let Ok(stat) = statx(file, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, mask) else {
            return [None; 2];
        };
        if opened.close_write {
            self.tree.closed_after_write(stat.stx_ino);
        }
        let Some(id) = self.identify(file, &stat) else {
            return [None; 2];
        };
        let open = match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => Some(Op::Open),
            FileType::Directory => Some(Op::List),
            _ => None,
        };
        let open = open.filter(|_| opened.open || opened.exec);
        [open.map(|op| (id, op)), opened.close_write.then_some((id, Op::Close))]
    }

    fn identify(&self, file: &OwnedFd, stat: &Statx) -> Option<FileId> {
        self.tree.identify(stat.stx_ino).or_else(|| self.by_path(file))
    }

    /// The kernel keeps the path in memory: reading the link asks nothing of the mount.
    fn by_path(&self, file: &OwnedFd) -> Option<FileId> {
        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let below = path.strip_prefix(&self.mountpoint).ok()?.as_os_str().as_bytes();
        // What was deleted meanwhile has no name to learn.
        if below.ends_with(b" (deleted)") {
            return None;
        }
        // The root stands for what names have no room for, or not yet.
        let id = self.names.lock().intern_path(below);
        (id != FileId::ROOT || below.is_empty()).then_some(id)
    }
}

#[cfg(test)]
mod tests;
