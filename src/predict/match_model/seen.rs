//! Where the history speaks of a file last: four bytes a file, made from the log.
//!
//! Must stay true: what is not in the log is not in here.

use crate::id::FileId;

/// By file: one more than its last position; 0 when there is none.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<u32>);

impl Seen {
    pub(super) fn last(&self, file: FileId) -> Option<u64> {
        self.0.get(file.index()).and_then(|&at| at.checked_sub(1)).map(u64::from)
    }

    pub(super) fn set(&mut self, file: FileId, position: u64) {
        crate::id::dense::reach(&mut self.0, file.index(), 0);
        self.0[file.index()] = position as u32 + 1;
    }

    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        let all = self.0.iter_mut().enumerate();
        all.filter(|(number, _)| gone(FileId(*number as u32))).for_each(|(_, at)| *at = 0);
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}
