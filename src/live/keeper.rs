//! The model file's keeper: loads it at the start, saves it now and then and at the end.
//!
//! What must stay true: neither the engine thread nor who asks for the time of the last save waits for the disk;
//! the mount does not wait for a large file; names are locked, which requests need, only while they are copied; one save at a time; a file that cannot be
//! understood is set aside with one warning, and never a reason not to mount.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::RecvTimeoutError;
use parking_lot::Mutex;
use thiserror::Error;

use super::desk::{Desk, Input};
use crate::engine::Engine;
use crate::id::ProgramId;
use crate::model::{self, Model, ModelError};
use crate::names::{Names, Programs};
use crate::predict::LoadError;

/// How often somebody who waits for the engine thread looks whether there still is one.
const GLANCE: Duration = Duration::from_millis(50);
/// A file of this size is loaded before the mount answers: some 20,000 names, which takes about as long as mounting (20 ms).
const AT_ONCE: u64 = 512 << 10;

/// Why the model was not saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The engine has failed: what it learned is not to be trusted.
    #[error("prefetching is off: there is nothing to save")]
    Off,
    /// It is to be kept, and there is no place for it.
    #[error("{0}")]
    Unkept(String),
    /// The file could not be written; the old one is as it was.
    #[error("the model cannot be written to {path}: {error}")]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Why what a file says was not taken up.
#[derive(Debug, Error)]
enum Unusable {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Predictor(#[from] LoadError),
}

/// The keeper.
pub(crate) struct Keeper {
    path: Option<PathBuf>,
    names: Arc<Mutex<Names>>,
    programs: Arc<Mutex<Programs>>,
    /// Held while saving.
    saving: Mutex<()>,
    /// When it was last saved, in seconds since 1970.
    saved_at: Mutex<Option<u64>>,
    faults: Mutex<Faults>,
}

/// What is wrong with the model.
#[derive(Clone, Debug, Default)]
struct Faults {
    /// It could not be taken up; holds until the end.
    unread: Option<String>,
    /// It has no place; holds until the end.
    unkept: Option<String>,
    /// The last save failed.
    unsaved: Option<String>,
}

impl Keeper {
    pub(crate) fn new(
        path: Option<PathBuf>,
        names: Arc<Mutex<Names>>,
        programs: Arc<Mutex<Programs>>,
    ) -> Self {
        let (saving, saved_at, faults) = Default::default();
        Keeper { path, names, programs, saving, saved_at, faults }
    }

    /// It was to be kept, and cannot be.
    pub(crate) fn cannot_keep(&self, why: String) {
        self.faults.lock().unkept = Some(why);
    }

    /// What is wrong with the model.
    pub(crate) fn faults(&self) -> Vec<String> {
        let Faults { unread, unkept, unsaved } = self.faults.lock().clone();
        [unread, unkept, unsaved].into_iter().flatten().collect()
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn saved_at(&self) -> Option<u64> {
        *self.saved_at.lock()
    }

    /// Is a save under way?
    #[cfg(test)]
    pub(crate) fn is_saving(&self) -> bool {
        self.saving.is_locked()
    }

    /// Is the file so large that the mount should not wait for it? If so, names are closed until it is loaded, and numbers
    /// of programs are those of the file from now on.
    pub(crate) fn is_for_later(&self) -> bool {
        let size = self.path.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
        if size <= AT_ONCE {
            return false;
        }
        if let Some(programs) = self.path.as_deref().and_then(model::programs_of) {
            *self.programs.lock() = programs;
        }
        self.names.lock().close();
        true
    }

    /// Takes up `begin`, or what an earlier mount learned, if anything, as far as it fits into `memory` bytes. To be called
    /// before anything is named.
    pub(crate) fn load(&self, engine: &mut Engine, memory: u64, begin: Option<&[u8]>) {
        // The history has to have its room before. Names that are closed open when the others are there.
        engine.set_memory(&mut Names::new(), memory);
        match begin.map(|bytes| self.take_up(bytes, engine)) {
            Some(Ok(())) => {}
            Some(Err(error)) => self.unread(format!("what was to be known from the start is not: {error}")),
            None => self.load_file(engine),
        }
        engine.set_memory(&mut self.names.lock(), memory);
    }

    fn load_file(&self, engine: &mut Engine) {
        let Some(path) = &self.path else { return };
        let bytes = match model::load(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                return self.unread(format!("the model {} cannot be read: {error}", path.display()));
            }
        };
        if let Err(error) = self.take_up(&bytes, engine) {
            let aside = match model::set_aside(path) {
                Ok(aside) => format!("it was moved to {}", aside.display()),
                Err(error) => format!("and it could not be moved away: {error}"),
            };
            self.unread(format!("the model {} is not used: {error}; {aside}", path.display()));
        }
    }

    fn unread(&self, what: String) {
        log::warn!("{what}");
        self.faults.lock().unread = Some(what);
    }

    fn take_up(&self, bytes: &[u8], engine: &mut Engine) -> Result<(), Unusable> {
        let Model { mut names, programs, learned } = model::decode(bytes)?;
        if !engine.restore(&learned, names.len())? {
            log::info!("the model was made by predictor {}: its history is left aside", learned.predictor);
        }
        engine.forget_nameless(&names.reuse());
        log::info!("the model knows {} names", names.len());
        *self.names.lock() = names;
        // Where they were taken before the rest, more may have been met since.
        let mut known = self.programs.lock();
        let same = |id| known.identity(id) == programs.identity(id);
        if !(0..programs.len() as u32).map(ProgramId).all(same) {
            *known = programs;
        }
        Ok(())
    }

    /// Saves what was learned so far. Waits for the disk, and shortly for the engine thread.
    pub(crate) fn save(&self, desk: &Desk) -> Result<(), SaveError> {
        let saved = match (&self.path, &self.faults.lock().unkept) {
            (None, None) => return Ok(()),
            (None, Some(why)) => return Err(SaveError::Unkept(why.clone())),
            (Some(path), _) => path,
        };
        let saved = self.save_to(saved, desk);
        self.faults.lock().unsaved = saved.as_ref().err().map(SaveError::to_string);
        saved
    }

    fn save_to(&self, path: &Path, desk: &Desk) -> Result<(), SaveError> {
        let _one_at_a_time = self.saving.lock();
        let learned = visit(desk, |engine| engine.learned()).ok_or(SaveError::Off)?;
        let (mut names, mut programs) = (Vec::new(), Vec::new());
        self.names.lock().save(&mut names);
        self.programs.lock().save(&mut programs);
        let bytes = model::encode(&names, &programs, &learned);
        model::store(path, &bytes).map_err(|error| SaveError::Write { path: path.to_owned(), error })?;
        log::info!("saved {} bytes to {}", bytes.len(), path.display());
        *self.saved_at.lock() =
            SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        Ok(())
    }
}

/// Has the engine thread do something with the engine, and waits for it. `None` when there is no engine.
pub(crate) fn visit<R: Send + 'static>(
    desk: &Desk,
    ask: impl FnOnce(&mut Engine) -> R + Send + 'static,
) -> Option<R> {
    let (to, from) = crossbeam_channel::bounded(1);
    let visit = move |engine: &mut Engine| {
        // The asker waits; if it does not, the answer is nobody's.
        let _ = to.send(ask(engine));
    };
    if !desk.deliver(Input::Visit(Box::new(visit))) {
        return None;
    }
    loop {
        match from.recv_timeout(GLANCE) {
            Ok(answer) => return Some(answer),
            // An input that was sent while the engine thread ended lies in the channel unread for ever.
            Err(RecvTimeoutError::Timeout) if !desk.is_off() => {}
            Err(_) => return None,
        }
    }
}
