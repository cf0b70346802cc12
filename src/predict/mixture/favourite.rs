//! The most popular file, lately.
//!
//! What must stay true: a count fades with the opens of others, without anybody touching it; each open
//! costs the same, but for one in tens of thousands.

use crate::id::FileId;

/// By so much more counts an open than the one before it: half as much is left of a count after some
/// 700 opens of others.
const GROWTH: f32 = 1.001;
/// Counts are brought down when an open counts more than this, far from where a float ends.
const LARGEST: f32 = 1e30;

/// See the module's head. Four bytes a file.
#[derive(Clone, Debug)]
pub(super) struct Favourite {
    weights: Vec<f32>,
    /// What the next open counts.
    step: f32,
    total: f32,
    best: Option<FileId>,
}

impl Default for Favourite {
    fn default() -> Self {
        Favourite { weights: Vec::new(), step: 1.0, total: 0.0, best: None }
    }
}

impl Favourite {
    /// A file is opened.
    pub(super) fn count(&mut self, file: FileId) {
        if self.weights.len() <= file.index() {
            self.weights.resize(file.index() + 1, 0.0);
        }
        self.weights[file.index()] += self.step;
        self.total += self.step;
        if self.best.is_none_or(|best| self.weights[best.index()] < self.weights[file.index()]) {
            self.best = Some(file);
        }
        self.step *= GROWTH;
        if self.step > LARGEST {
            self.weights.iter_mut().for_each(|weight| *weight /= self.step);
            self.total /= self.step;
            self.step = 1.0;
        }
    }

    /// The file, and how large its share of all opens is: from 0 (next to nothing) to 3 (an eighth and more).
    pub(super) fn best(&self) -> Option<(FileId, u8)> {
        let best = self.best?;
        let share = self.weights[best.index()] / self.total;
        Some((
            best,
            [1.0 / 64.0, 1.0 / 32.0, 1.0 / 8.0].iter().filter(|&&least| share >= least).count() as u8,
        ))
    }

    /// Forgets files.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        for (number, weight) in self.weights.iter_mut().enumerate() {
            if *weight > 0.0 && gone(FileId(number as u32)) {
                *weight = 0.0;
            }
        }
        let files = (0..self.weights.len() as u32).map(FileId);
        let heaviest = files.max_by(|a, b| self.weights[a.index()].total_cmp(&self.weights[b.index()]));
        self.best = heaviest.filter(|best| self.weights[best.index()] > 0.0);
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.weights.capacity() * size_of::<f32>()
    }
}
