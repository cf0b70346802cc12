//! The most popular file, lately.
//!
//! What must stay true: memory is bounded: only the files that may be the most popular one are counted
//! (the "space saving" of Metwally, Agrawal and El Abbadi: who is not counted takes the place, and the count,
//! of the least popular one that is); a count fades with the opens of others, without anybody touching it.

use crate::id::FileId;

/// Files that are counted: one that makes up more than a part in so many of all opens is always among them.
const COUNTED: usize = 64;
/// By so much more counts an open than the one before it: half as much is left of a count after some
/// 700 opens of others.
const GROWTH: f32 = 1.001;
/// Counts are brought down when an open counts more than this, far from where a float ends.
const LARGEST: f32 = 1e30;

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Favourite {
    counts: Vec<(FileId, f32)>,
    /// What the next open counts.
    step: f32,
    total: f32,
}

impl Default for Favourite {
    fn default() -> Self {
        Favourite { counts: Vec::with_capacity(COUNTED), step: 1.0, total: 0.0 }
    }
}

impl Favourite {
    /// A file is opened.
    pub(super) fn count(&mut self, file: FileId) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(counted, _)| *counted == file) {
            *count += self.step;
        } else if self.counts.len() < COUNTED {
            self.counts.push((file, self.step));
        } else if let Some(least) = self.counts.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1)) {
            *least = (file, least.1 + self.step);
        }
        self.total += self.step;
        self.step *= GROWTH;
        if self.step > LARGEST {
            self.counts.iter_mut().for_each(|(_, count)| *count /= LARGEST);
            (self.total, self.step) = (self.total / LARGEST, 1.0);
        }
    }

    /// The file, and how large its share of all opens is: from 0 (next to nothing) to 3 (an eighth and more).
    pub(super) fn best(&self) -> Option<(FileId, u8)> {
        // The first of equals, so that asking twice gives the same.
        let most = |best: Option<(FileId, f32)>, &counted: &(FileId, f32)| {
            best.filter(|best| best.1 >= counted.1).or(Some(counted))
        };
        let (file, count) = self.counts.iter().fold(None, most)?;
        let share = count / self.total;
        Some((
            file,
            [1.0 / 64.0, 1.0 / 32.0, 1.0 / 8.0].iter().filter(|&&least| share >= least).count() as u8,
        ))
    }

    /// Forgets files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        self.counts.retain(|&(file, _)| !gone(file));
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<(FileId, f32)>()
    }
}
