//! Keeping what is learned within its memory, and taking things out of it.
//!
//! What must stay true: the history keeps within its own part by itself; names, and what is kept for each of
//! them, keep within the rest, because those that no history speaks of are let go.

use parking_lot::Mutex;

use super::Engine;
use crate::id::{FileId, ProgramId};
use crate::names::Names;

/// Kept for each file beside its name: facts (20 bytes), marks (16), its last place in the history (4).
const BESIDE_NAME: usize = 40;
/// Vectors by file number hold so many bytes idle, however small they are: they grow by a thousand elements at least
/// (`id::dense`), of some sixty bytes together.
const IDLE: u64 = 64 << 10;
/// Names let go under one hold of their lock: a few milliseconds, in which requests that name a file wait.
const PORTION: usize = 16_384;
/// When it was in vain, it is not tried again for so many accesses.
const IN_VAIN: u64 = 10_000;

impl Engine {
    /// Everything learned, names included, is to stay below so many bytes.
    pub fn set_memory(&mut self, names: &mut Names, bytes: u64) {
        self.predictor.limit(bytes);
        // The history takes 36 of 128 bytes; the rest is left for habits and for what vectors hold idle.
        let beside = BESIDE_NAME + self.predictor.bytes_a_file();
        let names_part = bytes.saturating_sub(IDLE) / 100 * 66;
        names.limit(usize::try_from(names_part).unwrap_or(usize::MAX), beside);
    }

    /// When names are near their limit: lets go of those that nothing speaks of, and of history until enough
    /// of them has gone. Returns the numbers that have no name any more. Whoever holds one lets it go, then
    /// calls [`Engine::forget_nameless`] and [`Names::recycle`]. Takes time in proportion to the history, but holds the names
    /// only for moments, as others ask for them meanwhile.
    pub fn tidy(&mut self, names: &Mutex<Names>) -> Vec<FileId> {
        if self.events < self.untidy_until || !names.lock().is_crowded() {
            return Vec::new();
        }
        loop {
            let needed = self.needed(names);
            while names.lock().let_go(&needed, PORTION) {}
            let nameless = names.lock().nameless();
            self.forget_nameless(&nameless);
            if names.lock().is_roomy() {
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

    /// By number, of the names there are now: later ones count as needed.
    fn needed(&self, names: &Mutex<Names>) -> Vec<bool> {
        let mut needed = vec![false; names.lock().len()];
        if !self.predictor.mentioned(&mut needed) {
            // Whatever is there may be spoken of.
            names.lock().mark_present(&mut needed);
        }
        self.planner.mentioned(&mut needed);
        needed
    }
}
