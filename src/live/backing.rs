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
mod permit;
mod siblings;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::attachment::Berth;
use super::board::Want;
use super::listings::{self, Listed};
use super::respite::{Respite, is_trouble};
use crate::engine::{Facts, Job, Outcome, Target};
use crate::event::{Listing, Span};
use crate::id::FileId;
use crate::names::Names;
use crate::sys::credentials::Credentials;
use crate::sys::{cold, fiemap};
use lower::Found;
use permit::{Deed, find};

/// Does jobs. Called from many threads at once; may block.
pub(crate) trait Backing: Send + Sync {
    /// Does one job. `scratch` is the worker's own, kept from job to job. `landed` is called when the name, and when
    /// the content, is in memory below the mount, and before anything is done for it through the mount.
    fn warm(&self, job: &Job, scratch: &mut Scratch, landed: &dyn Fn(Want)) -> Outcome;

    /// Lets go of a file's clean pages, in the mount and in the source. How many bytes that were; 0 also when it has gone.
    fn release(&self, _file: FileId) -> u64 {
        0
    }
}

/// What a worker has for itself.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buffer: Vec<u8>,
    /// How long the source took for the bytes of the last job, once the name was known.
    pub(crate) fetching: Duration,
    /// What directories contained that were read for the last job.
    pub(crate) listed: Vec<Listing>,
    /// Set when nobody wants the rest of the job any more.
    pub(crate) called_off: Arc<AtomicBool>,
    /// Whom the next job is for; `None` is somebody with our own rights.
    pub(crate) user: Option<Arc<Credentials>>,
    /// Why the last job failed, if it did.
    pub(crate) failure: Option<Errno>,
}

impl Scratch {
    fn user(&self) -> Option<&Credentials> {
        self.user.as_deref()
    }
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
    fn warm(&self, job: &Job, scratch: &mut Scratch, landed: &dyn Fn(Want)) -> Outcome {
        scratch.failure = None;
        let Some(path) = self.path(job) else {
            scratch.failure = Some(Errno::NOENT);
            return Outcome::Failed;
        };
        if self.respite.rests(Instant::now()) {
            return Outcome::Withdrawn;
        }
        let outcome = match job.target {
            Target::Attributes => self.attributes(job.file, &path, scratch, landed),
            Target::Siblings => self.siblings(job, &path, scratch, landed),
            Target::Data => self.data(&path, job, scratch, landed),
            Target::Facts => self.facts(&path),
        };
        match outcome {
            Err(error) if is_trouble(error) => self.respite.note(true, Instant::now()),
            // That a name is known, or all is in memory, says nothing of the device.
            Ok(Outcome::Warmed { bytes: 1.., .. }) => self.respite.note(false, Instant::now()),
            _ => {}
        }
        // The file has gone, became something else, or may not be read: it is counted, and nobody else hears of it.
        outcome.unwrap_or_else(|error| {
            scratch.failure = Some(error);
            match error {
                // That this user may not says nothing of the file: for another it may be brought.
                Errno::ACCESS | Errno::PERM if scratch.user.is_some() => Outcome::Withdrawn,
                _ => Outcome::Failed,
            }
        })
    }

    fn release(&self, file: FileId) -> u64 {
        self.drop_pages(file).unwrap_or(0)
    }
}

impl DirBacking {
    fn drop_pages(&self, file: FileId) -> Result<u64, Errno> {
        let path = self.names.lock().path(file).ok_or(Errno::NOENT)?;
        let found = Found::at(&self.source, &path)?;
        if found.kind() != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        let Some(mount) = self.berth.borrow() else {
            return Ok(lower::drop_all(&found.open()?, found.size()));
        };
        // What the source holds of it then was there before, for others.
        Ok(lower::drop_all(&mounted::open(&mount, &path)?, found.size()))
    }

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
    fn attributes(
        &self,
        file: FileId,
        path: &[u8],
        scratch: &mut Scratch,
        landed: &dyn Fn(Want),
    ) -> Result<Outcome, Errno> {
        let found = find(&self.source, path, Deed::Look, scratch.user())?;
        let facts = found.facts(0);
        if facts.directory {
            self.tell(file, &lower::entries(found.open()?)?, scratch);
        }
        landed(Want::Attributes);
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

    /// Brings what the job says of a file, into the mount's cache if it is attached, else into the source's.
    fn data(
        &self,
        path: &[u8],
        job: &Job,
        scratch: &mut Scratch,
        landed: &dyn Fn(Want),
    ) -> Result<Outcome, Errno> {
        let mount = self.berth.borrow();
        let found = find(&self.source, path, Deed::Read, scratch.user())?;
        if found.kind() != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        landed(Want::Attributes);
        let spans = job.spans(found.size());
        let above = mount.as_ref().map(|mount| mounted::open(mount, path)).transpose()?;
        if let Some(above) = &above
            && !spans.is_empty()
            && spans.iter().all(|&span| lower::is_cached(above, span))
        {
            return Ok(Outcome::Resident { facts: found.facts(0) });
        }
        let file = found.open()?;
        let facts = found.facts(fiemap::first_extent(&file));
        if spans.iter().map(|span| span.len).sum::<u64>() < found.size() {
            // Nobody asked for what the kernel would read ahead. A wish only: refused, it costs some bytes too many.
            for file in [Some(&file), above.as_ref()].into_iter().flatten() {
                let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
            }
        }
        let (mut bytes, portions) = (0, lower::portions(&spans));
        scratch.fetching = Duration::ZERO;
        for portion in &portions {
            if scratch.called_off.load(Ordering::Relaxed) || (mount.is_some() && !self.berth.is_set()) {
                return Ok(Outcome::Withdrawn);
            }
            if portions.len() == 1 || lower::holds_data(&file, portion) {
                bytes += portion_of(&file, above.as_ref(), portion, scratch, landed)?;
            }
        }
        above.as_ref().map_or(Ok(()), mounted::refresh)?;
        Ok(outcome(bytes, facts))
    }
}

/// Brings part of a file, into the mount's cache if it is open there; how many bytes came from the source.
fn portion_of(
    file: &OwnedFd,
    above: Option<&OwnedFd>,
    spans: &[Span],
    scratch: &mut Scratch,
    landed: &dyn Fn(Want),
) -> Result<u64, Errno> {
    let start = Instant::now();
    let brought = lower::bring(file, spans, &mut scratch.buffer)?;
    scratch.fetching += start.elapsed();
    landed(Want::Data);
    let Some(above) = above else {
        spans.iter().for_each(|&span| unmark(file, span));
        return Ok(brought.bytes);
    };
    let read = spans.iter().try_for_each(|&span| lower::read(above, span, &mut scratch.buffer).map(drop));
    // Also when reading through the mount failed: what nobody asked for must not stay twice.
    brought.drop_from(file);
    read?;
    spans.iter().for_each(|&span| unmark(above, span));
    Ok(brought.bytes)
}

/// Our reading is not the use that it is for: a page that is used once more shall look used once.
fn unmark(file: &OwnedFd, span: Span) {
    let end = span.offset + span.len;
    for offset in (span.offset..end).step_by(lower::STEP as usize) {
        let step = Span { offset, len: lower::STEP.min(end - offset) };
        // What has gone again would be read again.
        if lower::is_cached(file, step)
            && let Err(error) = cold::unmark(file, step.offset, step.len)
        {
            return log::debug!("pages look used more than they were: {error}");
        }
    }
}

fn outcome(bytes: u64, facts: Facts) -> Outcome {
    if bytes == 0 { Outcome::Resident { facts } } else { Outcome::Warmed { bytes, facts } }
}

#[cfg(test)]
mod tests;
