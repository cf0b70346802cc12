//! Taking a file, a directory with all below it, or a program out of a model, without a trace.

use super::{ShelfError, Shelved};
use crate::engine::Engine;
use crate::id::FileId;

impl Shelved {
    /// Forgets the file or directory at `path` (below the source), or the program of that identity. Returns how
    /// many names have gone.
    ///
    /// # Errors
    /// It knows neither, the model is damaged, or its history does not say which program did what.
    pub fn forget(&mut self, path: &[u8]) -> Result<usize, ShelfError> {
        let mut engine = self.engine()?;
        let below = self.model.names.below(path);
        let identity = std::str::from_utf8(path).ok();
        let program = identity.and_then(|identity| self.model.programs.find(identity));
        if below.is_empty() && program.is_none() {
            let what = crate::codec::text::to_text(path);
            return Err(ShelfError::Unknown { path: self.path.clone(), what });
        }
        if let Some(program) = program {
            if !engine.forget_program(program) {
                return Err(self.opaque("searched for programs"));
            }
            self.model.programs.forget(program);
        }
        self.forget_files(&mut engine, &below);
        self.model.learned = engine.learned();
        Ok(below.len())
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
