//! Keeping what is learned within its memory, and taking things out of it.
//!
//! What must stay true: the history keeps within its own part by itself; names, and what is kept for each of
//! them, keep within the rest, because those that no history speaks of are let go.

use super::Engine;
use crate::id::{FileId, ProgramId};
use crate::names::Names;

/// Kept for each file beside its name: facts (20 bytes), marks (16), its last place in the history (4).
const BESIDE_NAME: usize = 40;
/// When it was in vain, it is not tried again for so many accesses.
const IN_VAIN: u64 = 10_000;

impl Engine {
    /// Everything learned, names included, is to stay below so many bytes.
    pub fn set_memory(&mut self, names: &mut Names, bytes: u64) {
        self.predictor.limit(bytes);
        // The history takes 36 of 128 bytes; the rest is left for habits and for what vectors hold idle.
        names.limit(usize::try_from(bytes / 100 * 66).unwrap_or(usize::MAX), BESIDE_NAME);
    }

    /// When names are near their limit: lets go of those that nothing speaks of, and of history until enough
    /// of them has gone. Returns the numbers that have no name any more. Whoever holds one lets it go, then
    /// calls [`Engine::forget_nameless`] and [`Names::recycle`]. Must not be called while it is locked elsewhere: it takes
    /// time in proportion to the history.
    pub fn tidy(&mut self, names: &mut Names) -> Vec<FileId> {
        let mut nameless = Vec::new();
        if !names.is_crowded() || self.events < self.untidy_until {
            return nameless;
        }
        loop {
            nameless = names.let_go(&self.needed(names));
            self.forget_nameless(&nameless);
            if names.is_roomy() {
                return nameless;
            }
            if !self.predictor.shrink() {
                self.untidy_until = self.events + IN_VAIN;
                return nameless;
            }
        }
    }

    /// Forgets what a program did; false when the history does not say who did what.
    pub fn forget_program(&mut self, program: ProgramId) -> bool {
        self.predictor.forget_program(program)
    }

    /// Forgets all files for which `gone` holds, of those numbered below `files`.
    pub fn forget_files(&mut self, gone: &dyn Fn(FileId) -> bool, files: usize) {
        (0..files as u32).map(FileId).filter(|&file| gone(file)).for_each(|file| self.planner.forget(file));
        self.predictor.forget(gone);
    }

    fn needed(&self, names: &Names) -> Vec<bool> {
        let mut needed = vec![false; names.len()];
        if !self.predictor.mentioned(&mut needed) {
            // Whatever is there may be spoken of.
            names
                .listing()
                .filter(|listed| !listed.gone)
                .for_each(|listed| needed[listed.file.index()] = true);
        }
        self.planner.mentioned(&mut needed);
        needed
    }
}
