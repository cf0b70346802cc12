//! Reads served from the own cache, and what keeps it from being stale.
//!
//! What must stay true: before anything is taken from the cache the file's version is asked of the source, so that a
//! change made by anybody, told of or not, is seen by the next read; what we change ourselves is told to the cache before
//! whoever asked for the change is answered. Where changes are not told of, two things could hide one, and nothing is
//! kept: a version so young that the next one might have the same times, and a write of ours during which somebody else's
//! might have been.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;

use super::attr::{Attr, Version};
use super::data::read_all;
use super::inodes::Inode;
use super::source::stat_fd;
use super::{How, Mirror, Reading, Requester, Result};
use crate::cache::{CacheFigures, CacheSettings, OwnCache, Wanted};
use crate::event::{Op, Residency, Span};
use crate::live::Want;
use crate::replace::Arrival;
use crate::sys::cachestat;

/// The mirror's own cache; files are known to it by their node ids.
pub(super) type Own = OwnCache<Version>;

impl Mirror {
    /// The same mirror, with reads served from a cache of its own.
    #[must_use]
    pub fn with_own_cache(self, settings: CacheSettings) -> Mirror {
        Mirror { own: Some(Own::new(settings)), ..self }
    }

    /// Are reads served from a cache of our own?
    pub fn has_own_cache(&self) -> bool {
        self.own.is_some()
    }

    /// How the own cache stands, if there is one.
    pub fn own_cache(&self) -> Option<CacheFigures> {
        self.own.as_ref().map(OwnCache::figures)
    }

    /// [`Mirror::read`], from the own cache.
    pub(super) fn read_own(
        &self,
        own: &Own,
        who: Requester,
        inode: &Arc<Inode>,
        (file, reading): (&OwnedFd, Reading),
        how: How,
    ) -> Result<Vec<u8>> {
        let ours = self.live.is_own(who.tid);
        let (size, version) = version_of(file)?;
        // Who asks for more than there is refers to no more blocks than there are.
        let len = size.saturating_sub(reading.offset).min(reading.size as u64);
        let span = Op::Read(Span { offset: reading.offset, len });
        let wanted = Wanted {
            file: inode.nodeid,
            version,
            size,
            owner: self.live.program(who.tid),
            arrival: if ours { Arrival::Ahead } else { Arrival::Demand },
            offset: reading.offset,
            len: reading.size,
        };
        let kept = own.has_numbers_for(&wanted)
            && (self.is_watched(inode) || is_settled(version, SystemTime::now()));
        if !kept && how == How::InMemory {
            return Err(Errno::AGAIN);
        }
        if let Some(data) = kept.then(|| own.at_hand(&wanted)).flatten() {
            self.note(who, inode, span, Residency::Hit);
            return Ok(data);
        }
        if how == How::InMemory {
            return Err(Errno::AGAIN);
        }
        let found = self.join(who, inode, Want::Data);
        self.note(who, inode, span, found);
        let fetch = |offset, len| {
            let _turn = (!ours).then(|| self.live.foreground(offset == 0));
            fill(file, offset, len)
        };
        if kept { own.read(&wanted, fetch) } else { fetch(reading.offset, reading.size) }
    }

    /// Does what changes a file's content in a way the cache does not follow.
    pub(super) fn changing<T>(&self, inode: &Inode, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = change();
        if let Some(own) = &self.own {
            own.changed(inode.nodeid);
        }
        result
    }

    /// Does what writes `data` at `offset` (`None` for the end, wherever that is); how much was written comes back.
    pub(super) fn writing(
        &self,
        inode: &Inode,
        file: &OwnedFd,
        offset: Option<u64>,
        data: &[u8],
        write: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        let Some(own) = &self.own else { return write() };
        let before = version_of(file);
        let result = write();
        match (&result, offset, before, version_of(file)) {
            (Ok(written), Some(offset), Ok((_, from)), Ok((size, to))) if self.is_watched(inode) => {
                own.written(inode.nodeid, (from, to), size, offset, &data[..*written]);
            }
            _ => own.changed(inode.nodeid),
        }
        result
    }

    /// Somebody else has changed a file's content.
    pub(super) fn changed_below(&self, nodeid: u64) {
        if let Some(own) = &self.own {
            own.changed(nodeid);
        }
    }

    /// Nobody knows what has been changed.
    pub(super) fn all_changed_below(&self) {
        if let Some(own) = &self.own {
            own.clear();
        }
    }
}

/// Times of files are those of a clock that goes by ticks of up to 10 ms (a kernel with HZ=100); finer ones are had since
/// Linux 6.13, and from some file systems only. Twice that is on the safe side.
const YOUTH: Duration = Duration::from_millis(20);

/// Would a change from now on show in the times of this version? What lies in the future tells nothing.
fn is_settled(version: Version, now: SystemTime) -> bool {
    let Ok(secs) = u64::try_from(version.ctime.secs) else { return true };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(secs, version.ctime.nanos);
    now.duration_since(changed).is_ok_and(|age| age > YOUTH)
}

/// A file's size and version.
fn version_of(file: &OwnedFd) -> Result<(u64, Version)> {
    let stat = stat_fd(file)?;
    Ok((stat.stx_size, Version::from(&Attr::new(0, &stat))))
}

/// Reads from the source. Pages that nobody had before do not stay there: they are in the own cache now.
fn fill(file: &OwnedFd, offset: u64, len: usize) -> Result<Vec<u8>> {
    let ours = cachestat::cached(file, offset, len as u64).is_ok_and(|cached| cached.none());
    let data = read_all(file, offset, len)?;
    if ours && let Some(len) = std::num::NonZeroU64::new(len as u64) {
        // A wish: where it is not granted the source's pages stay a while longer.
        let _ = fadvise(file, offset, Some(len), Advice::DontNeed);
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::super::attr::Time;
    use super::*;

    #[test]
    fn a_version_settles() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_050);
        let settled = |secs, millis: u32| {
            let time = Time { secs, nanos: millis * 1_000_000 };
            is_settled(Version { size: 1, mtime: Time { secs: 0, nanos: 0 }, ctime: time }, now)
        };
        assert!(settled(1000, 29) && settled(999, 900) && settled(-1, 0));
        assert!(!settled(1000, 30) && !settled(1000, 50), "the next change may come in the same tick");
        assert!(!settled(1000, 60) && !settled(2000, 0), "the source's clock is ahead");
    }
}
