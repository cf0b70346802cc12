//! Keeping what is learned within its memory while the mount is up.
//!
//! Must stay true: a number is given to another name only when nobody holds it for the old one any more.

use super::Live;
use crate::id::FileId;

impl Live {
    /// When names are near their limit: lets go of those that nothing speaks of. `drop_numbers` is told the numbers that
    /// have no name any more, and must see to it that nobody outside uses them. Waits for the engine thread, for
    /// which it takes some tenths of a second when there is something to do.
    pub fn tidy(&self, drop_numbers: impl FnOnce(&[FileId])) {
        if !self.names.lock().is_crowded() {
            return;
        }
        let names = self.names.clone();
        let Some(nameless) = self.ask(move |engine| engine.tidy(&names)) else { return };
        drop_numbers(&nameless);
        let (names, numbers) = (self.names.clone(), nameless.clone());
        // Accesses that were on their way with an old number are forgotten too.
        self.ask(move |engine| {
            engine.forget_nameless(&numbers);
            names.lock().recycle(&numbers);
        });
        log::info!("{} names were let go", nameless.len());
    }
}
