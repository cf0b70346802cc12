//! A session that goes on in another process: the one that pauses and tells, and the one that hears and goes on.
//!
//! What must stay true: while a session is paused nothing is read from the kernel and nothing is answered, so that what is
//! told is the whole truth; a pause that is not followed by a handover ends by itself, and nothing is lost by it. Requests
//! that wait for a lock are not handed over: the kernel is asked to send them again.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fuser::SessionACL;

use super::adapter::Adapter;
use super::prologue::{Agreement, prologue, resend};
use super::readers::READERS;
use super::serve::Desk;
use super::{Session, desk, threads};
use crate::codec::Reader;
use crate::config::DataPath;
use crate::mirror::Mirror;
use crate::stats::Counters;
use crate::sys::descriptor;

/// How often requests under way are looked after while a pause begins.
const GLANCE: Duration = Duration::from_micros(200);

/// The way to pause a session that runs elsewhere.
#[derive(Clone, Debug)]
pub struct Handover {
    desk: Weak<Desk>,
    device: Weak<OwnedFd>,
}

/// A session that neither reads nor answers. Dropping it lets it go on.
#[derive(Debug)]
pub struct Paused {
    desk: Arc<Desk>,
    kept: bool,
}

impl Session {
    /// Goes on with a session that another process has, or had: `device` is its open /dev/fuse, `words` are what
    /// [`Handover::agreement`] has told. It must not run before [`Session::inherit`].
    ///
    /// # Errors
    /// `InvalidData` when the words cannot be read, `Unsupported` when this program would have agreed with the kernel
    /// on something else.
    pub fn adopt(
        mirror: Arc<Mirror>,
        path: DataPath,
        counters: Arc<Counters>,
        device: &OwnedFd,
        words: &mut Reader<'_>,
    ) -> io::Result<Self> {
        let agreement = Agreement::read(words).map_err(invalid)?;
        let desk = desk(mirror, path, counters)?;
        let (_ours, theirs) = prologue(&agreement)?;
        // The kernel keeps to whom the mount was made for.
        let adapter = Adapter { desk: desk.clone() };
        let session = fuser::Session::from_fd(adapter, theirs, SessionACL::All, threads())?;
        if desk.agreed.get().is_none_or(|ours| ours.asked != agreement.asked) {
            let why = "the two versions agree with the kernel on different things";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        descriptor::replace(&session, device)?;
        Session::of(session, &desk)
    }

    /// Takes over which files are open how, as [`Paused::bequeath`] has told.
    ///
    /// # Errors
    /// `InvalidData` when the words cannot be read.
    pub fn inherit(&self, words: &mut Reader<'_>) -> io::Result<()> {
        self.backings.inherit(words).map_err(invalid)
    }

    /// The way to pause it.
    pub fn handover(&self) -> Handover {
        let device = self.backings.device();
        Handover { desk: self.desk.clone(), device: device.as_ref().map(Arc::downgrade).unwrap_or_default() }
    }
}

impl Handover {
    /// The device, while there is a session.
    pub fn device(&self) -> Option<Arc<OwnedFd>> {
        self.device.upgrade()
    }

    /// Writes down what a successor must know before it makes a session.
    ///
    /// # Errors
    /// The session has ended.
    pub fn agreement(&self, words: &mut Vec<u8>) -> io::Result<()> {
        let desk = self.desk.upgrade();
        let agreed = desk.as_ref().and_then(|desk| desk.agreed.get()).ok_or(io::ErrorKind::NotConnected)?;
        agreed.put(words);
        Ok(())
    }

    /// Has the kernel send again what somebody has read and will not answer.
    pub fn ask_again(&self) {
        if let Some(device) = self.device()
            && let Err(error) = resend(&device)
        {
            // Then nobody waited for a lock: such a session is not handed over.
            log::debug!("the kernel sends nothing again: {error}");
        }
    }

    /// Pauses the session that is mounted at `mountpoint`, when all requests under way have been answered.
    ///
    /// # Errors
    /// `TimedOut` when some request has not been answered by `deadline`, `Unsupported` when somebody waits for a lock
    /// and the kernel cannot send such a request again. The session goes on then.
    pub fn pause(&self, mountpoint: &Path, deadline: Instant) -> io::Result<Paused> {
        let desk = self.desk.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        desk.gate.close();
        let paused = Paused { desk: desk.clone(), kept: false };
        knock(Arc::downgrade(&desk), mountpoint.to_owned())?;
        let mut quiet = desk.gate.await_stop(READERS, deadline);
        while quiet && !desk.pool.is_idle() {
            std::thread::sleep(GLANCE);
            quiet = Instant::now() < deadline;
        }
        if !quiet {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a request waits for the source"));
        }
        let Some(waiting) = desk.waiting.suspend(deadline) else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a lock waits for the source"));
        };
        if waiting > 0 && !desk.agreed.get().is_some_and(Agreement::resends) {
            let why = "somebody waits for a lock, and this kernel cannot repeat the request (Linux 6.9 can)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(paused)
    }
}

impl Paused {
    /// Writes down which files are open how.
    pub fn bequeath(&self, words: &mut Vec<u8>) {
        self.desk.backings.bequeath(words);
    }

    /// It never goes on here: another process has it now.
    pub fn for_ever(mut self) {
        self.kept = true;
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        if !self.kept {
            self.desk.gate.open();
            self.desk.waiting.resume();
        }
    }
}

/// Asks for requests, one after the other, until every reader has had one and has stopped. The last may find nobody and
/// is answered by whoever goes on.
fn knock(desk: Weak<Desk>, mountpoint: PathBuf) -> io::Result<()> {
    let work = move || {
        while desk.upgrade().is_some_and(|desk| desk.gate.is_closed() && !desk.gate.holds(READERS)) {
            // What it answers is nobody's concern.
            let _ = rustix::fs::statfs(&mountpoint);
            // If something lies over the mount nobody is asked.
            std::thread::sleep(GLANCE);
        }
    };
    std::thread::Builder::new().name("knock".into()).spawn(work).map(drop)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
