//! The plan: predictions become jobs, as far ahead as the budget reaches.
//!
//! A group's plan goes window by window. A window is what is predicted next and not there yet; it is
//! asked for in two passes, names and inodes first, then bytes, each in the order of the device. When
//! most of it is done the next one follows, so that workers never idle while something is predicted.
//!
//! What must stay true:
//! - nothing is asked for while the group does not wait for the device (`gate`);
//! - bytes on their way plus bytes not used yet never exceed the budget when a job is asked for
//!   (sizes as far as they are known);
//! - nothing is asked for twice while it is on its way, or there and not used;
//! - when the belief it rests on is given up, what has not begun is withdrawn.

use std::collections::VecDeque;

use crate::clock::Micros;
use crate::event::Facts;
use crate::id::{FileId, GroupId, IdMap, JobId};
use crate::predict::{Course, Kind, Prediction, Predictor};

mod batch;
mod facts;
mod gate;
mod inquiry;
mod ledger;
mod marks;
mod work;

use batch::{Batch, Wanted};
pub use facts::FactTable;
use gate::Gate;
use inquiry::Inquiry;
pub use ledger::Fate;
use ledger::{Ledger, Settled};
use marks::{Marks, Moment, Question};
pub use work::{Effect, Job, Outcome, Target, Window};

/// What a file of unknown size counts for in the budget: most files of source trees and documentation
/// are smaller.
const UNKNOWN_SIZE: u64 = 64 << 10;
/// The most that one job brings of a file. Whoever reads a larger one streams it, and the kernel's own
/// read-ahead keeps up with that.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Predictions pulled at a time.
const PULL: usize = 256;
/// Deepest directory looked at: PATH_MAX has room for no more components.
const DEPTH_MAX: u32 = 2048;

/// Finds the directory a file is in. `None` for the root and for what has no name.
pub type ParentOf = Box<dyn Fn(FileId) -> Option<FileId> + Send>;

/// See the module's head.
pub struct Planner {
    budget: u64,
    window: Window,
    ledger: Ledger,
    groups: IdMap<GroupId, Group>,
    facts: FactTable,
    marks: Marks,
    inquiry: Inquiry,
    now: Moment,
    parent_of: Option<ParentOf>,
    pulled: Vec<Prediction>,
}

/// What is planned for a group.
#[derive(Debug)]
struct Group {
    gate: Gate,
    course: Course,
    /// Since when what was used counts as being in memory.
    since: Moment,
    /// Pulled from the predictor, not asked for yet.
    ahead: VecDeque<Prediction>,
}

impl Planner {
    /// A planner that holds at most `budget` bytes on their way or unused.
    pub fn new(budget: u64) -> Self {
        Planner {
            budget,
            window: Window::default(),
            ledger: Ledger::default(),
            groups: IdMap::default(),
            facts: FactTable::default(),
            marks: Marks::default(),
            inquiry: Inquiry::default(),
            now: 1,
            parent_of: None,
            pulled: Vec::new(),
        }
    }

    /// Sets the budget in bytes. What is on its way already stays.
    pub fn set_budget(&mut self, budget: u64) {
        self.budget = budget;
    }

    /// Sets how much is asked for at once.
    pub fn set_window(&mut self, window: Window) {
        self.window = window;
    }

    /// Lets the plan know directories, for its order and to bring those that no run has named.
    pub fn set_parents(&mut self, parent_of: ParentOf) {
        self.parent_of = Some(parent_of);
    }

    /// A file was used. `at` decides whether what we brought was in time.
    pub fn used(&mut self, file: FileId, at: Micros) -> bool {
        self.now = self.now.wrapping_add(1);
        self.marks.used(file, self.now);
        !self.ledger.is_empty() && self.ledger.used(file, at)
    }

    /// A file is in use: asks about it if nobody knows it. `again`: even if it was known.
    pub fn inquire(&mut self, file: FileId, again: bool, effects: &mut Vec<Effect>) {
        let mark = self.marks.of(file);
        if mark.question == Question::Asked || (mark.question == Question::Known && !again) {
            return;
        }
        if self.inquiry.add(file) {
            mark.question = Question::Asked;
        }
        self.ask_questions(effects);
    }

    /// Takes in facts that came by some other way.
    pub fn learn(&mut self, file: FileId, facts: Facts) {
        if facts.known() {
            self.facts.set(file, facts);
            self.marks.of(file).question = Question::Known;
        }
    }

    /// A file was opened in the group: calm, unless what was opened was `ours`.
    pub fn opened(&mut self, group: GroupId, ours: bool, effects: &mut Vec<Effect>) {
        let Some(plan) = self.groups.get_mut(&group) else { return };
        if ours {
            plan.gate.helped();
        } else if plan.gate.open() {
            self.disarm(group, effects);
        }
    }

    /// An access to the file, in the group, had to wait for the device.
    pub fn missed(&mut self, group: GroupId, file: FileId, predictor: &mut dyn Predictor) {
        let now = self.now;
        let before = self.marks.before(file, now);
        let plan = self.group(group);
        if before >= plan.since {
            // Memory was emptied: what we believed to be there is not.
            plan.since = now;
        }
        if plan.gate.miss() {
            plan.ahead.clear();
            predictor.rewind(group);
        }
    }

    /// The group is on this course now. A change withdraws what was planned on the old one.
    pub fn steer(&mut self, group: GroupId, course: Course, effects: &mut Vec<Effect>) {
        match self.groups.get_mut(&group) {
            Some(plan) if plan.course == course => {}
            Some(plan) => {
                plan.course = course;
                plan.ahead.clear();
                let nameless = self.ledger.abandon(group, effects);
                self.unname(nameless);
            }
            None if course == Course::NONE => {}
            None => self.group(group).course = course,
        }
    }

    /// Asks for the group's next window, if it is time.
    pub fn advance(&mut self, group: GroupId, predictor: &mut dyn Predictor, effects: &mut Vec<Effect>) {
        let ready = |plan: &&Group| plan.gate.armed() && plan.course != Course::NONE;
        let Some(since) = self.groups.get(&group).filter(ready).map(|plan| plan.since) else { return };
        while self.ledger.window_done(group) {
            let batch = self.collect(group, since, predictor);
            if batch.wanted.is_empty() {
                return;
            }
            self.ask_for(group, &batch, effects);
        }
    }

    /// Asks for the next window of every group that is ready for one.
    pub fn advance_all(&mut self, predictor: &mut dyn Predictor, effects: &mut Vec<Effect>) {
        let armed = self.groups.iter().filter(|(_, plan)| plan.gate.armed());
        let mut groups: Vec<GroupId> = armed.map(|(&group, _)| group).collect();
        groups.sort_unstable();
        groups.into_iter().for_each(|group| self.advance(group, predictor, effects));
    }

    /// The group is over.
    pub fn end_group(&mut self, group: GroupId, effects: &mut Vec<Effect>) {
        self.groups.remove(&group);
        let nameless = self.ledger.abandon(group, effects);
        self.unname(nameless);
    }

    /// A worker began with the job.
    pub fn started(&mut self, job: JobId) {
        self.ledger.started(job);
    }

    /// A job is done. Returns the group whose plan may go on.
    pub fn settle(
        &mut self,
        at: Micros,
        job: JobId,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) -> Option<GroupId> {
        if let Some(file) = self.inquiry.answered(job) {
            // Who could not be looked at is asked about again at the next use after a change.
            self.marks.of(file).question = Question::Known;
            self.note_facts(file, outcome);
            self.ask_questions(effects);
            return None;
        }
        let settled = self.ledger.settle(at, job, outcome)?;
        self.note_facts(settled.file, outcome);
        self.judge(settled, outcome, effects);
        Some(settled.group)
    }

    /// The file is gone, or must not be touched any more.
    pub fn drop_file(&mut self, file: FileId, effects: &mut Vec<Effect>) {
        self.ledger.drop_file(file, effects);
    }

    /// Nothing is known of the file any more.
    pub fn forget(&mut self, file: FileId) {
        self.facts.forget(file);
        self.marks.of(file).question = Question::Open;
    }

    /// Time passes: what waited too long is given up.
    pub fn age(&mut self, now: Micros) {
        self.ledger.age(now);
    }

    /// The end: what waits was brought in vain.
    pub fn give_up(&mut self) {
        self.ledger.give_up();
    }

    /// What became of prefetching.
    pub fn fate(&self) -> Fate {
        self.ledger.fate()
    }

    /// Groups that prefetching is on for.
    pub fn armed(&self) -> usize {
        self.groups.values().filter(|plan| plan.gate.armed()).count()
    }

    /// What is known of files.
    pub fn facts(&self) -> &FactTable {
        &self.facts
    }

    /// Replaces what is known of files.
    pub fn set_facts(&mut self, facts: FactTable, files: usize) {
        for file in (0..files).map(|number| FileId(number as u32)) {
            if facts.get(file).is_some() {
                self.marks.of(file).question = Question::Known;
            }
        }
        self.facts = facts;
    }

    /// Memory held for files, in bytes.
    pub fn bytes(&self) -> usize {
        self.facts.bytes() + self.marks.bytes()
    }

    fn group(&mut self, group: GroupId) -> &mut Group {
        let since = self.now;
        self.groups.entry(group).or_insert_with(|| Group {
            gate: Gate::closed(),
            course: Course::NONE,
            since,
            ahead: VecDeque::new(),
        })
    }

    fn disarm(&mut self, group: GroupId, effects: &mut Vec<Effect>) {
        if let Some(plan) = self.groups.get_mut(&group) {
            plan.ahead.clear();
        }
        let nameless = self.ledger.withdraw(group, effects);
        self.unname(nameless);
    }

    /// These were asked for and are not brought after all.
    fn unname(&mut self, files: Vec<FileId>) {
        files.into_iter().for_each(|file| self.marks.of(file).named = 0);
    }

    fn note_facts(&mut self, file: FileId, outcome: Outcome) {
        if let Some(facts) = outcome.facts() {
            self.facts.set(file, facts);
            self.marks.of(file).question = Question::Known;
        }
    }

    /// What a settled job says about its group's need.
    fn judge(&mut self, settled: Settled, outcome: Outcome, effects: &mut Vec<Effect>) {
        let data = settled.target == Target::Data;
        if data && matches!(outcome, Outcome::Resident { .. } | Outcome::Failed) {
            self.marks.of(settled.file).resident = self.now;
        }
        let Some(plan) = self.groups.get_mut(&settled.group).filter(|_| !settled.withdrawn) else { return };
        match outcome {
            Outcome::Warmed { bytes, .. } if bytes > 0 => plan.gate.warmed(),
            // Names may be in memory while bytes are not: as long as bytes are to come, they decide.
            Outcome::Resident { .. }
                if (data || self.ledger.under_way(settled.group) == 0) && plan.gate.found_resident() =>
            {
                self.disarm(settled.group, effects);
            }
            _ => {}
        }
    }

    fn ask_questions(&mut self, effects: &mut Vec<Effect>) {
        while let Some(file) = self.inquiry.next() {
            let id = self.ledger.number();
            self.inquiry.asked(id, file);
            effects.push(Effect::Prefetch(Job { id, file, target: Target::Facts, bytes: 0 }));
        }
    }

    /// The next window: what is predicted and not there, until files, bytes or budget are used up.
    fn collect(&mut self, group: GroupId, since: Moment, predictor: &mut dyn Predictor) -> Batch {
        let mut batch = Batch::default();
        // Small change is saved up, so that windows stay large when the budget is what limits them.
        let enough = self.window.bytes.min(self.budget) / 4;
        self.ledger.reclaim(enough, self.budget);
        let room = self.budget.saturating_sub(self.ledger.held());
        if room < enough {
            return batch;
        }
        while batch.wanted.len() < self.window.files {
            let Some(next) = self.next_prediction(group, predictor) else { break };
            let wanted = self.consider(next, group, since);
            let full = batch.bytes > 0 && batch.bytes + wanted.reserve > self.window.bytes;
            if full || batch.bytes + wanted.reserve > room {
                break;
            }
            self.groups.get_mut(&group).map(|plan| plan.ahead.pop_front());
            self.add(wanted, since, &mut batch);
        }
        batch
    }

    fn next_prediction(&mut self, group: GroupId, predictor: &mut dyn Predictor) -> Option<Prediction> {
        let plan = self.groups.get_mut(&group)?;
        if plan.ahead.is_empty() {
            self.pulled.clear();
            predictor.predict(group, PULL, &mut self.pulled);
            plan.ahead.extend(self.pulled.drain(..));
        }
        plan.ahead.front().copied()
    }

    /// What is to be done for a prediction; perhaps nothing.
    fn consider(&mut self, next: Prediction, group: GroupId, since: Moment) -> Wanted {
        let (file, mark, facts) = (next.file, self.marks.get(next.file), self.facts.get(next.file));
        let directory = next.kind == Kind::List || facts.is_some_and(|facts| facts.directory);
        let absent = mark.resident < since;
        let size = facts.map_or(UNKNOWN_SIZE, |facts| facts.size.min(FILE_BYTES_MAX));
        let bytes = next.kind == Kind::Open && !directory && absent && size > 0 && size <= self.budget;
        let data = bytes && !self.ledger.has_data(file, group);
        Wanted {
            file,
            facts,
            depth: 0,
            directory,
            attributes: absent && mark.named < since && !self.ledger.has_attributes(file),
            data,
            reserve: if data { size } else { 0 },
        }
    }

    /// Puts it into the window, behind the directories above it that nobody asked for yet.
    fn add(&mut self, wanted: Wanted, since: Moment, batch: &mut Batch) {
        if !(wanted.attributes || wanted.data) || wanted.file == FileId::ROOT {
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
                    data,
                    reserve,
                });
            }
        }
        if wanted.attributes {
            self.marks.of(wanted.file).named = self.now;
        }
        batch.push(Wanted { depth, ..wanted });
    }

    /// The directories above a file, nearest first, without the root.
    fn ancestors(&self, file: FileId) -> Vec<FileId> {
        let Some(parent_of) = &self.parent_of else { return Vec::new() };
        let up = |&at: &FileId| parent_of(at).filter(|&parent| parent != FileId::ROOT);
        std::iter::successors(up(&file), up).take(DEPTH_MAX as usize).collect()
    }

    fn ask_for(&mut self, group: GroupId, batch: &Batch, effects: &mut Vec<Effect>) {
        for wanted in batch.attributes() {
            let job = self.ledger.ask(wanted.file, Target::Attributes, group, 0, u64::MAX);
            effects.push(Effect::Prefetch(job));
        }
        for wanted in batch.data() {
            let whole = wanted.facts.is_some_and(|facts| facts.size <= FILE_BYTES_MAX);
            let bytes = if whole { u64::MAX } else { FILE_BYTES_MAX };
            let job = self.ledger.ask(wanted.file, Target::Data, group, wanted.reserve, bytes);
            effects.push(Effect::Prefetch(job));
        }
        self.ledger.close_window(group);
    }
}
