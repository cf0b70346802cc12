//! Names that nobody needs any more: let go, and their numbers given again.
//!
//! Must stay true: a directory stays as long as a name below it does; a number is given to another path
//! only after whoever lets it go has said that nothing speaks of the old one (`recycle`).

use super::{NOBODY, Names};
use crate::id::FileId;

/// How much may be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    bytes: usize,
    /// What others keep for each number.
    beside: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Limit { bytes: usize::MAX, beside: 0 }
    }
}

impl Names {
    /// From now on no more than `bytes` are used, counting `beside` bytes for each number that others keep; beyond
    /// that no new names are taken in.
    pub fn limit(&mut self, bytes: usize, beside: usize) {
        self.limit = super::release::Limit { bytes, beside };
    }

    /// From now on nothing new is taken in, and what is held counts as little enough: others take their place soon.
    pub fn close(&mut self) {
        self.limit = Limit { bytes: 0, beside: 0 };
    }

    /// Is so much of the limit used that something should be let go?
    pub fn is_crowded(&self) -> bool {
        self.limit.bytes > 0 && self.used() > self.limit.bytes / 32 * 31
    }

    /// Has enough been let go?
    pub fn is_roomy(&self) -> bool {
        self.used() <= self.limit.bytes / 4 * 3
    }

    pub(super) fn is_full(&self) -> bool {
        self.used() >= self.limit.bytes
    }

    /// Bytes in use: less than what is held, as what was let go is used again.
    fn used(&self) -> usize {
        let each = size_of::<super::Entry>() + self.limit.beside;
        self.named * each + self.bytes.len() - self.idle_bytes + self.table.bytes()
    }

    /// Lets go of names that are neither needed nor above one that is, `most` of them at a time so that whoever waits for
    /// the names does not wait long; `needed` is by number, and numbers beyond its end are needed. True when there may be
    /// more to let go.
    pub fn let_go(&mut self, needed: &[bool], most: usize) -> bool {
        let stays = self.with_ancestors(needed);
        let idle = |&number: &usize| !stays[number] && self.entries[number].parent != NOBODY;
        let chosen: Vec<usize> = (1..self.entries.len()).filter(idle).take(most).collect();
        chosen.iter().for_each(|&number| self.detach(FileId(number as u32)));
        let entries = &self.entries;
        self.gone.retain(|id| entries[id.index()].parent != NOBODY && entries[id.index()].gone);
        chosen.len() == most
    }

    /// Marks, by number, every name that is not gone.
    pub fn mark_present(&self, marks: &mut [bool]) {
        for (mark, entry) in marks.iter_mut().zip(&self.entries) {
            *mark |= entry.parent != NOBODY && !entry.gone;
        }
    }

    /// Gives these numbers to new names from now on.
    pub fn recycle(&mut self, numbers: &[FileId]) {
        let mut known = vec![false; self.entries.len()];
        let free: Vec<FileId> = self.free.iter().chain(numbers).copied().collect();
        let fresh = |id: &FileId| {
            let named = self.entries.get(id.index()).is_none_or(|entry| entry.parent != NOBODY);
            !named && !std::mem::replace(&mut known[id.index()], true)
        };
        self.free = free.into_iter().filter(fresh).collect();
        // The lowest first, so that what is indexed by number stays short.
        self.free.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// From now on numbers whose name is gone for good are given to new names, the lowest first. Returns them:
    /// whatever was kept about them has to go. Only for names that were just loaded, before anybody holds a number.
    pub fn reuse(&mut self) -> Vec<FileId> {
        let nameless = self.nameless();
        self.recycle(&nameless);
        nameless
    }

    /// Numbers without a name, nothing below them, and not waiting to be given: whatever was kept about them has to go,
    /// then they can be `recycle`d.
    pub fn nameless(&self) -> Vec<FileId> {
        let mut taken = vec![false; self.entries.len()];
        taken[FileId::ROOT.index()] = true;
        for (number, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.parent != NOBODY) {
            taken[number] = true;
            taken[entry.parent as usize] = true;
        }
        self.free.iter().for_each(|id| taken[id.index()] = true);
        (0..taken.len()).rev().filter(|&number| !taken[number]).map(|number| FileId(number as u32)).collect()
    }

    fn with_ancestors(&self, needed: &[bool]) -> Vec<bool> {
        let mut stays = vec![false; self.entries.len()];
        stays[FileId::ROOT.index()] = true;
        for number in 1..self.entries.len() {
            let mut at = number;
            if needed.get(number).copied().unwrap_or(true) {
                while at != NOBODY as usize && !std::mem::replace(&mut stays[at], true) {
                    at = self.entries[at].parent as usize;
                }
            }
        }
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// What is needed stays, with all above; what goes is gone; nobody gets the number of what stays.
        #[test]
        fn the_needed_stay(
            paths in prop::collection::vec("[a-c](/[a-c]){0,3}", 1..40),
            needs in prop::collection::vec(any::<bool>(), 40),
            most in 1..50usize,
        ) {
            let mut names = Names::new();
            let ids: Vec<FileId> = paths.iter().map(|path| names.intern_path(path.as_bytes())).collect();
            let mut needed = vec![false; names.len()];
            ids.iter().zip(&needs).for_each(|(id, &need)| needed[id.index()] |= need);
            let wanted: BTreeSet<&String> =
                paths.iter().zip(&ids).filter(|(_, id)| needed[id.index()]).map(|(path, _)| path).collect();
            while names.let_go(&needed, most) {}
            let gone = names.nameless();
            for (path, id) in paths.iter().zip(&ids) {
                let above = wanted.iter().any(|other| *other == path || other.starts_with(&format!("{path}/")));
                prop_assert_eq!(names.find_path(path.as_bytes()), above.then_some(*id));
                prop_assert_eq!(gone.contains(id), !above);
            }
            names.recycle(&gone);
            names.recycle(&gone);
            let before = names.len();
            let new: BTreeSet<FileId> =
                gone.iter().map(|id| names.intern(FileId::ROOT, format!("new{}", id.0).as_bytes())).collect();
            prop_assert_eq!(new, gone.iter().copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(names.len(), before);
            let (mut bytes, mut again) = (Vec::new(), Vec::new());
            names.save(&mut bytes);
            Names::load(&bytes).unwrap().save(&mut again);
            prop_assert_eq!(bytes, again);
        }
    }

    #[test]
    fn closed_names_take_nothing_in() {
        let mut names = Names::new();
        names.close();
        assert_eq!(names.intern_path(b"a/b"), FileId::ROOT);
        assert_eq!((names.find_path(b"a"), names.is_crowded()), (None, false));
    }

    #[test]
    fn beyond_the_limit_nothing_is_taken_in() {
        let mut names = Names::new();
        names.limit(100_000, 50);
        let last = (0..10_000).map(|n| names.intern(FileId::ROOT, format!("file-{n}").as_bytes())).last();
        assert_eq!(last, Some(FileId::ROOT));
        assert!(names.is_crowded() && names.len() > 1_000);
        assert!(!names.let_go(&vec![false; names.len()], usize::MAX));
        let gone = names.nameless();
        names.recycle(&gone);
        assert!(!names.is_crowded());
        assert_ne!(names.intern(FileId::ROOT, b"file"), FileId::ROOT);
    }
}
