//! The side that goes on.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::estate::{Deed, unseal};
use super::wire::{Wire, Word};
use super::{MARK, PAUSE, PREPARATION};
use crate::codec::Reader;
use crate::config::DataPath;
use crate::fuse::Session;
use crate::mirror::{Legacy, Mirror};

/// A process that was started to go on with somebody else's mount.
#[derive(Clone, Debug)]
pub struct Heir(Arc<Wire>);

/// What the predecessor tells while it still serves.
pub(in crate::run) struct Will {
    heir: Heir,
    /// Device number of the mount.
    pub(in crate::run) number: (u32, u32),
    pub(in crate::run) path: DataPath,
    pub(in crate::run) reason: String,
    pub(in crate::run) own_cache: bool,
    pub(in crate::run) read_only: bool,
    pub(in crate::run) model: Option<PathBuf>,
    /// The open /dev/fuse.
    pub(in crate::run) device: OwnedFd,
    pub(in crate::run) source: OwnedFd,
    pub(in crate::run) below: OwnedFd,
    pub(in crate::run) lock: Option<OwnedFd>,
    /// What the session is made with.
    pub(in crate::run) agreement: Vec<u8>,
}

/// The state has been taken over; whether it may be used is still to be heard.
pub(in crate::run) struct Inheritance(Heir);

impl Heir {
    /// This process, if it was started as one.
    ///
    /// # Errors
    /// Its standard input does not lead to a predecessor.
    pub fn of_process() -> io::Result<Option<Heir>> {
        if std::env::var_os(MARK).is_none() {
            return Ok(None);
        }
        let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        rustix::stdio::dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
        Ok(Some(Heir(Arc::new(Wire::of(socket)?))))
    }

    /// Says why this process does not go on. Then the predecessor does.
    pub fn refuse(&self, why: &dyn std::fmt::Display) {
        // If it has gone it goes on already, or the mount has ended.
        let _ = self.0.say(Word::Refused, &why.to_string(), &[]);
    }

    /// Asks the predecessor what there is.
    ///
    /// # Errors
    /// It says nothing that can be understood.
    pub(in crate::run) fn will(self) -> io::Result<Will> {
        self.0.say(Word::Hello, "", &[])?;
        let mut files = self.0.hear(Word::Estate, Instant::now() + PREPARATION)?.into_iter();
        let (Some(words), Some(device), Some(source), Some(below)) =
            (files.next(), files.next(), files.next(), files.next())
        else {
            return Err(io::Error::other("open files were lost on their way"));
        };
        let words = unseal(words)?;
        let mut reader = Reader::new(&words);
        let deed = Deed::read(&mut reader).map_err(invalid)?;
        log::info!("version {} hands over to version {}", deed.program, env!("CARGO_PKG_VERSION"));
        let agreement = words[reader.at()..].to_vec();
        let Deed { device: number, path, reason, own_cache, read_only, model, .. } = deed;
        let lock = files.next();
        Ok(Will {
            heir: self,
            number,
            path,
            reason,
            own_cache,
            read_only,
            model,
            device,
            source,
            below,
            lock,
            agreement,
        })
    }
}

impl Will {
    /// Everything is ready; takes the state over, for which the predecessor pauses.
    ///
    /// # Errors
    /// It does not tell, or what it tells cannot be used.
    pub(in crate::run) fn execute(self, mirror: &Mirror, session: &Session) -> io::Result<Inheritance> {
        let wire = &self.heir.0;
        wire.say(Word::Prepared, "", &[])?;
        let deadline = Instant::now() + PREPARATION;
        let words = wire.hear(Word::State, deadline)?.pop();
        let words = unseal(words.ok_or_else(|| io::Error::other("the state was lost on its way"))?)?;
        let mut words = Reader::new(&words);
        let count = words.varint("how many files are held open").map_err(invalid)? as usize;
        let files = wire.hear_files(count, deadline)?;
        if files.len() != count {
            return Err(io::Error::other("more open files have come than were told of"));
        }
        let mut legacy = Legacy { words, files };
        mirror.inherit(&mut legacy).map_err(invalid)?;
        session.inherit(&mut legacy.words)?;
        legacy.words.finish("the end").map_err(invalid)?;
        Ok(Inheritance(self.heir))
    }
}

impl Inheritance {
    /// Waits until the mount is ours.
    ///
    /// # Errors
    /// The predecessor goes on itself.
    pub(in crate::run) fn take(&self) -> io::Result<()> {
        self.0.0.say(Word::Ready, "", &[])?;
        // Longer than the predecessor waits: it may say the word until it has given up.
        self.0.0.hear(Word::Go, Instant::now() + PREPARATION + PAUSE).map(drop)
    }

    /// Says that the mount is served.
    pub(in crate::run) fn serves(&self) {
        if let Err(error) = self.0.0.say(Word::Serving, "", &[]) {
            log::debug!("nobody hears that the mount is served: {error}");
        }
    }
}

fn invalid(error: crate::codec::CodecError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, super::EstateError::from(error))
}
