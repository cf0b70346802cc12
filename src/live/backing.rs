//! What workers do with a job: bring a name, a directory or a file's bytes into memory.
//!
//! What must stay true:
//! - only regular files, and directories, are ever opened: a fifo, a device or a socket could block or act.
//!   What is opened is the very inode that was looked at, whatever its name means by then;
//! - nothing outside the source is reached, and no symbolic link followed;
//! - no descriptor outlives its job;
//! - pages of the source that were in memory before stay there; those we brought in only on the way to
//!   the mount's own cache do not.

mod lower;
mod mounted;
mod siblings;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::attachment::Berth;
use super::listings::{self, Listed};
use super::respite::{Respite, is_trouble};
use crate::engine::{Facts, Job, Outcome, Target};
use crate::event::Listing;
use crate::id::FileId;
use crate::names::Names;
use crate::sys::{cachestat, fiemap};
use lower::Found;

/// Does jobs. Called from many threads at once; may block.
pub(crate) trait Backing: Send + Sync {
    /// Does one job. `scratch` is the worker's own, kept from job to job.
    fn warm(&self, job: &Job, scratch: &mut Scratch) -> Outcome;
}

/// What a worker has for itself.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buffer: Vec<u8>,
    /// What directories contained that were read for the last job.
    pub(crate) listed: Vec<Listing>,
}

/// The source directory, and the mount over it if that is to be warmed too.
pub(crate) struct DirBacking {
    source: Arc<OwnedFd>,
    names: Arc<Mutex<Names>>,
    berth: Arc<Berth>,
    /// The engine wants to know what directories contain.
    follows_walks: bool,
    /// From a source that gives errors.
    respite: Respite,
}

impl Backing for DirBacking {
    fn warm(&self, job: &Job, scratch: &mut Scratch) -> Outcome {
        let Some(path) = self.path(job) else {
            return Outcome::Failed;
        };
        if self.respite.rests(Instant::now()) {
            return Outcome::Withdrawn;
        }
        let outcome = match job.target {
            Target::Attributes => self.attributes(job.file, &path, scratch),
            Target::Siblings => self.siblings(job, &path, scratch),
            Target::Data => self.data(&path, job.bytes, &mut scratch.buffer),
            Target::Facts => self.facts(&path),
        };
        match outcome {
            Err(error) if is_trouble(error) => self.respite.note(true, Instant::now()),
            // That a name is known, or all is in memory, says nothing of the device.
            Ok(Outcome::Warmed { bytes: 1.., .. }) => self.respite.note(false, Instant::now()),
            _ => {}
        }
        // The file has gone, became something else, or may not be read: nobody needs to hear of it.
        outcome.unwrap_or(Outcome::Failed)
    }
}

impl DirBacking {
    pub(crate) fn new(
        source: Arc<OwnedFd>,
        names: Arc<Mutex<Names>>,
        berth: Arc<Berth>,
        follows_walks: bool,
    ) -> Self {
        DirBacking { source, names, berth, follows_walks, respite: Respite::default() }
    }

    fn tell(&self, dir: FileId, listed: &[Listed], scratch: &mut Scratch) {
        if self.follows_walks {
            scratch.listed = Listing::pieces(dir, &listings::entries(&self.names, dir, listed));
        }
    }

    /// The job's path below the source, `.` for the source itself.
    fn path(&self, job: &Job) -> Option<Vec<u8>> {
        let path = self.names.lock().path(job.file)?;
        Some(if path.is_empty() { b".".to_vec() } else { path })
    }

    /// Makes the kernel know the name and the inode, of a directory its entries too: of the source, then
    /// of the mount.
    fn attributes(&self, file: FileId, path: &[u8], scratch: &mut Scratch) -> Result<Outcome, Errno> {
        let found = Found::at(&self.source, path)?;
        let facts = found.facts(0);
        if facts.directory {
            self.tell(file, &lower::entries(found.open()?)?, scratch);
        }
        if let Some(mount) = self.berth.borrow() {
            mounted::know(&mount, path, facts.directory)?;
        }
        Ok(Outcome::Warmed { bytes: 0, facts })
    }

    fn facts(&self, path: &[u8]) -> Result<Outcome, Errno> {
        let found = Found::at(&self.source, path)?;
        let extent = match found.kind() {
            FileType::RegularFile => fiemap::first_extent(found.open()?),
            _ => 0,
        };
        Ok(Outcome::Resident { facts: found.facts(extent) })
    }

    /// Brings up to `limit` bytes from the start of a file, into the mount's cache if it is attached, else
    /// into the source's.
    fn data(&self, path: &[u8], limit: u64, scratch: &mut Vec<u8>) -> Result<Outcome, Errno> {
        let mount = self.berth.borrow();
        let found = Found::at(&self.source, path)?;
        if found.kind() != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        let len = found.size().min(limit);
        let above = mount.as_ref().map(|mount| mounted::open(mount, path)).transpose()?;
        if let Some(above) = &above
            && len > 0
            && cachestat::cached(above, 0, len).is_ok_and(|cached| cached.all())
        {
            return Ok(Outcome::Resident { facts: found.facts(0) });
        }
        let file = found.open()?;
        let facts = found.facts(fiemap::first_extent(&file));
        let Some(above) = above else {
            let brought = lower::bring(&file, len, scratch)?;
            return Ok(outcome(brought.bytes, facts));
        };
        let brought = lower::bring(&file, len, scratch)?;
        let read = lower::read(&above, 0, len, scratch);
        // Also when reading through the mount failed: what nobody asked for must not stay twice.
        brought.drop_from(&file);
        read?;
        mounted::refresh(&above)?;
        Ok(outcome(brought.bytes, facts))
    }
}

fn outcome(bytes: u64, facts: Facts) -> Outcome {
    if bytes == 0 { Outcome::Resident { facts } } else { Outcome::Warmed { bytes, facts } }
}

#[cfg(test)]
mod tests;
