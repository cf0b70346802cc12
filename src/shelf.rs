//! Model files on the shelf: shown, checked, moved as text, united, and rid of what should not be in them.
//!
//! What must stay true: a model that a mount uses is never written (`ModelLock`); a file is replaced whole
//! or not at all (`model::store`); whatever is done to a model, an engine takes the result up.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::config::Scope;
use crate::engine::{Engine, FactTable, Learned, Settings};
use crate::model::{self, Model, ModelError, ModelLock};
use crate::names::{Names, Programs};
use crate::predict::{ChoiceError, History, LoadError, PredictorChoice};

mod erase;
mod survey;
mod text;
mod union;

pub use erase::Forgotten;
pub use survey::{ProgramUse, Survey};

/// Why something could not be done with a model.
#[derive(Debug, Error)]
pub enum ShelfError {
    /// The file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A mount would overwrite whatever is written.
    #[error("{}: a mount uses this model at the moment; unmount it first", path.display())]
    InUse {
        /// The model.
        path: PathBuf,
    },
    /// It is no model, or a damaged one.
    #[error("{}: {error}", path.display())]
    Model {
        /// Which file.
        path: PathBuf,
        /// Where and what is wrong.
        error: ModelError,
    },
    /// What it says of its predictor cannot be taken up.
    #[error("{}: {error}", path.display())]
    Learned {
        /// Which file.
        path: PathBuf,
        /// Where and what is wrong.
        error: LoadError,
    },
    /// It was made by a predictor this program does not have.
    #[error("{}: {error}", path.display())]
    Predictor {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        error: ChoiceError,
    },
    /// Its history cannot be read by anybody but its predictor.
    #[error("{}: the history of predictor {predictor} cannot be {what}: only that of default or match can", path.display())]
    Opaque {
        /// Which file.
        path: PathBuf,
        /// Its predictor.
        predictor: String,
        /// What was to be done.
        what: &'static str,
    },
    /// Nothing of that name is in it.
    #[error("{}: knows neither a file nor a program called {what}", path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// A line of the text is not what `export` writes.
    #[error("{}: line {line}: {problem}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// A model and where it came from.
#[derive(Debug)]
pub struct Shelved {
    path: PathBuf,
    model: Model,
    bytes: u64,
}

/// A model as its parts, history in the open.
#[derive(Clone, Debug)]
struct Parts {
    predictor: PredictorChoice,
    names: Names,
    programs: Programs,
    facts: FactTable,
    history: History,
}

impl Shelved {
    /// Reads the model at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is no whole model.
    pub fn open(path: &Path) -> Result<Self, ShelfError> {
        let bytes = model::load(path).map_err(|error| ShelfError::Io { path: path.into(), error })?;
        Shelved::decode(path, &bytes)
    }

    /// The model that `path` holds, of its bytes.
    ///
    /// # Errors
    /// They are no whole model.
    pub fn decode(path: &Path, bytes: &[u8]) -> Result<Self, ShelfError> {
        let model = model::decode(bytes).map_err(|error| ShelfError::Model { path: path.into(), error })?;
        Ok(Shelved { path: path.into(), model, bytes: bytes.len() as u64 })
    }

    /// An engine that knows what the model says.
    ///
    /// # Errors
    /// Its predictor is unknown, or what it says is damaged.
    pub fn engine(&self) -> Result<Engine, ShelfError> {
        let predictor = self.predictor()?;
        let mut engine = Engine::new(Settings { predictor, scope: Scope::default(), budget: 0 });
        engine
            .restore(&self.model.learned, self.model.names.len())
            .map_err(|error| ShelfError::Learned { path: self.path.clone(), error })?;
        Ok(engine)
    }

    fn predictor(&self) -> Result<PredictorChoice, ShelfError> {
        let predictor = self.model.learned.predictor.parse();
        predictor.map_err(|error| ShelfError::Predictor { path: self.path.clone(), error })
    }

    /// Writes it back to where it came from.
    ///
    /// # Errors
    /// A mount uses it, or the file cannot be written.
    pub fn store(&self) -> Result<(), ShelfError> {
        let _lock = lock(&self.path)?;
        self.write()
    }

    /// Writes it back to where it belongs, for who holds the `lock`.
    ///
    /// # Errors
    /// The file cannot be written, or what has its name is no model.
    pub fn write(&self) -> Result<(), ShelfError> {
        let path = || self.path.clone();
        let error = |error| ShelfError::Io { path: path(), error };
        match std::fs::read(&self.path) {
            Ok(there) if !there.is_empty() && matches!(model::decode(&there), Err(ModelError::Foreign)) => {
                return Err(ShelfError::Model { path: path(), error: ModelError::Foreign });
            }
            // What cannot be read may be replaced all the same: that is the directory's to say.
            _ => {}
        }
        model::store(&self.path, &self.encode()).map_err(error)
    }

    /// Its bytes, as the file has them.
    pub fn encode(&self) -> Vec<u8> {
        let (mut names, mut programs) = (Vec::new(), Vec::new());
        self.model.names.save(&mut names);
        self.model.programs.save(&mut programs);
        model::encode(&names, &programs, &self.model.learned)
    }

    /// Its parts, to be `what`ed.
    fn parts(&self, what: &'static str) -> Result<Parts, ShelfError> {
        let (learned, predictor) = (&self.model.learned, self.predictor()?);
        let files = self.model.names.len();
        let wrong = |error| ShelfError::Learned { path: self.path.clone(), error };
        let Some(history) = History::load(predictor, &learned.history, files).map_err(wrong)? else {
            let (path, predictor) = (self.path.clone(), learned.predictor.clone());
            return Err(ShelfError::Opaque { path, predictor, what });
        };
        let facts = FactTable::load(&learned.facts, files).map_err(|error| wrong(error.into()))?;
        let (names, programs) = (self.model.names.clone(), self.model.programs.clone());
        Ok(Parts { predictor, names, programs, facts, history })
    }

    fn of_parts(path: &Path, parts: Parts) -> Self {
        let mut learned = Learned { predictor: parts.predictor.to_string(), ..Learned::default() };
        parts.facts.save(&mut learned.facts);
        parts.history.save(parts.predictor, &mut learned.history);
        let model = Model { names: parts.names, programs: parts.programs, learned };
        Shelved { path: path.into(), model, bytes: 0 }
    }
}

/// The right to write the model at `path`, for as long as it is held.
///
/// # Errors
/// A mount has it, or the lock file cannot be made.
pub fn lock(path: &Path) -> Result<ModelLock, ShelfError> {
    match ModelLock::take(path, Duration::ZERO) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(ShelfError::InUse { path: path.into() }),
        Err(error) => Err(ShelfError::Io { path: path.into(), error }),
    }
}

#[cfg(test)]
mod tests;
