//! Taking a file, a directory with all below it, or a program out of a model, without a trace.

use super::{ShelfError, Shelved};
use crate::engine::Engine;
use crate::id::{FileId, ProgramId};

/// What is not in a model any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// How many names of files and directories.
    pub names: usize,
    /// The identities of programs, with all they did.
    pub programs: Vec<String>,
}

impl Shelved {
    /// Forgets the file or directory at `path` (below the source), and the programs of that identity, or of that name where no
    /// identity is called so.
    ///
    /// # Errors
    /// It knows neither, the model is damaged, or its history does not say which program did what.
    pub fn forget(&mut self, path: &[u8]) -> Result<Forgotten, ShelfError> {
        let mut engine = self.engine()?;
        let below = self.model.names.below(path);
        let programs = self.programs_called(path);
        if below.is_empty() && programs.is_empty() {
            let what = crate::codec::text::to_text(path);
            return Err(ShelfError::Unknown { path: self.path.clone(), what });
        }
        let mut forgotten = Forgotten { names: below.len(), programs: Vec::new() };
        for program in programs {
            if !engine.forget_program(program) {
                return Err(self.opaque("searched for programs"));
            }
            forgotten.programs.extend(self.model.programs.identity(program).map(str::to_owned));
            self.model.programs.forget(program);
        }
        self.forget_files(&mut engine, &below);
        self.model.learned = engine.learned();
        Ok(forgotten)
    }

    fn programs_called(&self, name: &[u8]) -> Vec<ProgramId> {
        let programs = &self.model.programs;
        let Ok(name) = std::str::from_utf8(name) else { return Vec::new() };
        if let Some(program) = programs.find(name) {
            return vec![program];
        }
        let all = (0..programs.len() as u32).map(ProgramId);
        let last =
            |program| programs.identity(program).and_then(|path| path.rsplit_once('/')).map(|path| path.1);
        all.filter(|program| last(*program) == Some(name)).collect()
    }

    fn forget_files(&mut self, engine: &mut Engine, below: &[FileId]) {
        let files = self.model.names.len();
        let mut goes = vec![false; files];
        below.iter().for_each(|file| goes[file.index()] = true);
        engine.forget_files(&|file| goes.get(file.index()).copied().unwrap_or(false), files);
        let stays: Vec<bool> = goes.iter().map(|goes| !goes).collect();
        if !below.is_empty() {
            self.model.names.let_go(&stays, usize::MAX);
        }
    }

    fn opaque(&self, what: &'static str) -> ShelfError {
        let (path, predictor) = (self.path.clone(), self.model.learned.predictor.clone());
        ShelfError::Opaque { path, predictor, what }
    }
}
