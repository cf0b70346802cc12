//! Looking at what is in a directory, in the order of inode numbers, which is the order of the device.
//!
//! Must stay true: what is looked at is never opened; an entry that has gone meanwhile is passed over.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use super::lower;
use super::permit::{Deed, find};
use super::{DirBacking, Scratch, mounted};
use crate::engine::{Job, Outcome};
use crate::live::board::Want;
use crate::live::listings::{Listed, by_inode};
use crate::walk::{stretch, window};

impl DirBacking {
    /// Of a directory: its entries and the first of their inodes, known to the source and to the mount. Of another
    /// file: the inodes of its window of siblings, known to the source; the rest is a matter of microseconds.
    pub(super) fn siblings(
        &self,
        job: &Job,
        path: &[u8],
        scratch: &mut Scratch,
        landed: &dyn Fn(Want),
    ) -> Result<Outcome, Errno> {
        let found = find(&self.source, path, Deed::Look, scratch.user())?;
        let facts = found.facts(0);
        if facts.directory {
            let listed = lower::entries(found.open()?)?;
            look_at(found.handle(), &listed, None, job.bytes);
            self.tell(job.file, &listed, scratch);
            landed(Want::Attributes);
            if let Some(mount) = self.berth.borrow() {
                mounted::know(&mount, path, true)?;
            }
        } else {
            let (parent, name) = split(path);
            let parent = find(&self.source, parent, Deed::Look, scratch.user())?;
            look_at(parent.handle(), &lower::entries(parent.open()?)?, Some(name), job.bytes);
        }
        Ok(Outcome::Warmed { bytes: 0, facts })
    }
}

/// Looks at the window around `name`, or the first one.
fn look_at(dir: impl AsFd, listed: &[Listed], name: Option<&[u8]>, least: u64) {
    let mut order: Vec<&Listed> = listed.iter().collect();
    order.sort_by(|a, b| by_inode(a, b));
    let len = order.len() as u32;
    let at = order.iter().position(|one| name.is_some_and(|name| one.name == name)).unwrap_or(0) as u32;
    let around = window(at, stretch(len).max(least as u32), len);
    for one in &order[around.start as usize..around.end as usize] {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let _gone = statx(&dir, one.name.as_slice(), flags, StatxFlags::BASIC_STATS);
    }
}

/// A path's directory and last component.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b".", path),
    }
}
