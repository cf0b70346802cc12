//! Filling a window: which predictions need work, and how much of it fits.
//!
//! Must stay true: what is taken into a window fits into the budget together with all that is held; a
//! prediction that does not fit stays first in line.

use super::batch::{Batch, Wanted};
use super::marks::Moment;
use super::work::{Effect, Target};
use super::{Foresight, Parts, Planner};
use crate::id::{FileId, GroupId};
use crate::predict::{Kind, Prediction};

/// What a file of unknown size counts for in the budget: most files of source trees and documentation
/// are smaller.
const UNKNOWN_SIZE: u64 = 64 << 10;
/// The most that one job brings of a file. Whoever reads more of one streams it, and the kernel's own
/// read-ahead keeps up with that.
pub(super) const FILE_BYTES_MAX: u64 = 32 << 20;
/// Files up to this size are brought whole; of larger ones the parts that were used.
const WHOLE_MAX: u64 = 8 << 20;
/// Of a large file of which nothing was seen to be used: its header, and what read-ahead has asked for by the time
/// that a sequential reader has come that far.
const HEAD: u64 = 1 << 20;
/// Predictions pulled at a time.
const PULL: usize = 256;
/// Whoever opens what is in a directory does so within so many accesses.
const SOON: usize = 8;
/// Deepest directory looked at: PATH_MAX has room for no more components.
const DEPTH_MAX: u32 = 2048;

impl Planner {
    /// The next window: what is predicted and not there, until files, bytes or budget are used up.
    pub(super) fn collect(&mut self, group: GroupId, since: Moment, foresight: &mut dyn Foresight) -> Batch {
        let mut batch = Batch::default();
        // Small change is saved up, so that windows stay large when the budget is what limits them.
        let enough = self.window.bytes.min(self.budget) / 4;
        self.ledger.reclaim(enough, self.budget);
        let room = self.budget.saturating_sub(self.ledger.held());
        if room < enough {
            return batch;
        }
        let reach = foresight.reach(group);
        while batch.wanted.len() < self.window.files {
            let Some(next) = self.next_prediction(group, foresight) else { break };
            let wanted = self.consider(next, (group, reach), since, &batch);
            let wanted = self.compare(wanted, group);
            let full = batch.bytes > 0 && batch.bytes + wanted.reserve > self.window.bytes;
            if full || batch.bytes + wanted.reserve > room {
                break;
            }
            self.groups.get_mut(&group).map(|plan| plan.ahead.pop_front());
            self.add(wanted, since, &mut batch);
        }
        batch
    }

    fn next_prediction(&mut self, group: GroupId, foresight: &mut dyn Foresight) -> Option<Prediction> {
        let plan = self.groups.get_mut(&group)?;
        if plan.ahead.is_empty() {
            self.pulled.clear();
            foresight.predict(group, plan.course, PULL, &mut self.pulled);
            plan.ahead.extend(self.pulled.drain(..));
        }
        plan.ahead.front().copied()
    }

    /// What is to be done for a prediction; perhaps nothing. `reach`: as far as the group reads into files whose head is
    /// expected to be read.
    fn consider(
        &mut self,
        next: Prediction,
        (group, reach): (GroupId, u64),
        since: Moment,
        batch: &Batch,
    ) -> Wanted {
        let (file, mark, facts) = (next.file, self.marks.get(next.file), self.facts.get(next.file));
        let siblings = next.kind == Kind::Siblings || self.is_looked_into(next, group);
        let directory = next.kind == Kind::List || siblings || facts.is_some_and(|facts| facts.directory);
        // What failed is left alone until something is seen of it.
        let absent = mark.resident < since && !mark.absent;
        let limit = if next.kind == Kind::Head { reach } else { u64::MAX };
        let size = self.need(file).min(limit);
        let bytes = opens(next) && !directory && absent && size > 0 && size <= self.budget;
        let data = bytes && !batch.has_data(file) && !self.ledger.has_data(file, group, size);
        Wanted {
            file,
            facts,
            depth: 0,
            directory,
            attributes: !self.ledger.has_attributes(file)
                && match next.kind {
                    // That it was listed, or its name looked up, says nothing of what is in it.
                    Kind::Siblings => !(mark.absent || mark.siblings && mark.named >= since),
                    _ => absent && mark.named < since,
                },
            siblings,
            data,
            reserve: if data { size } else { 0 },
            limit,
        }
    }

    /// Bytes that a job for the file's data would bring.
    pub(super) fn need(&self, file: FileId) -> u64 {
        match self.facts.get(file) {
            None => UNKNOWN_SIZE,
            Some(facts) if facts.size <= WHOLE_MAX => facts.size,
            Some(facts) => match self.facts.parts(file) {
                Parts::NONE => HEAD,
                parts => parts.bytes(facts.size).min(FILE_BYTES_MAX),
            },
        }
    }

    /// How much a job brings at most, and of which parts.
    fn extent(&self, wanted: Wanted) -> (u64, Parts) {
        match wanted.facts {
            None => (wanted.limit.min(WHOLE_MAX), Parts::NONE),
            Some(facts) if facts.size > wanted.limit => (wanted.limit, self.facts.parts(wanted.file)),
            // It may have grown since.
            Some(facts) if facts.size <= WHOLE_MAX => (WHOLE_MAX, Parts::NONE),
            Some(_) => (wanted.reserve, self.facts.parts(wanted.file)),
        }
    }

    /// Is a directory to be listed by somebody who opens nothing in it? Then what is in it is looked at, if anything is:
    /// a history does not tell, for names that had been brought were not seen.
    fn is_looked_into(&self, next: Prediction, group: GroupId) -> bool {
        let Some(plan) = self.groups.get(&group).filter(|_| next.kind == Kind::List && self.siblings > 0)
        else {
            return false;
        };
        plan.ahead.iter().skip(1).take(SOON).all(|next| !opens(*next))
    }

    /// Puts it into the window, behind the directories above it that nobody asked for yet.
    fn add(&mut self, wanted: Wanted, since: Moment, batch: &mut Batch) {
        if !(wanted.attributes || wanted.data) || (wanted.file == FileId::ROOT && !wanted.siblings) {
            return;
        }
        let above = self.ancestors(wanted.file);
        let depth = above.len() as u32;
        for (level, directory) in above.into_iter().rev().enumerate() {
            let mark = self.marks.get(directory);
            if mark.resident < since && mark.named < since && !self.ledger.has_attributes(directory) {
                self.marks.of(directory).named = self.now;
                let facts = self.facts.get(directory);
                let (data, reserve, depth) = (false, 0, level as u32);
                let attributes = true;
                batch.push(Wanted {
                    file: directory,
                    facts,
                    depth,
                    directory: true,
                    attributes,
                    siblings: false,
                    data,
                    reserve,
                    limit: 0,
                });
            }
        }
        if wanted.attributes {
            let mark = self.marks.of(wanted.file);
            (mark.named, mark.siblings) = (self.now, wanted.siblings);
        }
        batch.push(Wanted { depth, ..wanted });
    }

    /// The directories above a file, nearest first, without the root.
    fn ancestors(&self, file: FileId) -> Vec<FileId> {
        let Some(parent_of) = &self.parent_of else { return Vec::new() };
        let up = |&at: &FileId| parent_of(at).filter(|&parent| parent != FileId::ROOT);
        std::iter::successors(up(&file), up).take(DEPTH_MAX as usize).collect()
    }

    pub(super) fn ask_for(&mut self, group: GroupId, batch: &Batch, effects: &mut Vec<Effect>) {
        for wanted in batch.attributes(self.window.names_first) {
            let (target, bytes) = if wanted.siblings {
                (Target::Siblings, self.siblings)
            } else {
                (Target::Attributes, u64::MAX)
            };
            let job = self.ledger.ask(wanted.file, target, group, 0, (bytes, Parts::NONE));
            effects.push(Effect::Prefetch(job));
        }
        for wanted in batch.data() {
            let job = self.ledger.ask(wanted.file, Target::Data, group, wanted.reserve, self.extent(wanted));
            effects.push(Effect::Prefetch(job));
        }
        self.ledger.close_window(group);
    }
}

/// Are the file's bytes wanted?
fn opens(next: Prediction) -> bool {
    matches!(next.kind, Kind::Open | Kind::Head)
}
