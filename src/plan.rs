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
use crate::event::Span;
use crate::id::{FileId, GroupId, IdMap, JobId};
use crate::predict::{Course, Prediction};

mod account;
mod batch;
mod behind;
mod control;
mod facts;
mod fate;
mod gate;
mod inquiry;
mod ledger;
mod marks;
mod parts;
mod shortage;
mod window;
mod work;

pub use account::{Account, Standing};
use behind::Behind;
pub use facts::FactTable;
pub use fate::Fate;
use gate::Gate;
use inquiry::Inquiry;
use ledger::{Ledger, Settled};
pub use marks::Last;
use marks::{Marks, Moment, Question};
pub use parts::Parts;
pub use work::{Effect, Job, Outcome, Target, Window};

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
    /// Entries that a job for siblings looks at, at most.
    siblings: u64,
}

/// Where the plan gets what is ahead of a group from.
pub trait Foresight {
    /// As [`crate::predict::Predictor::predict`]; the group is on this course.
    fn predict(&mut self, group: GroupId, course: Course, room: usize, out: &mut Vec<Prediction>);

    /// How much of a file the group reads at most, where no more is expected than its [`crate::predict::Kind::Head`]; in bytes.
    fn reach(&self, group: GroupId) -> u64;

    /// As [`crate::predict::Predictor::rewind`].
    fn rewind(&mut self, group: GroupId);
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
    /// Something was in time for it.
    helped: bool,
    /// Files held back to compare with.
    held_back: u32,
    behind: Behind,
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
            siblings: 0,
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

    /// Sets how many entries one job for siblings looks at.
    pub fn set_siblings(&mut self, entries: u64) {
        self.siblings = entries;
    }

    /// The directory a file is in, as far as there is a name.
    pub fn parent(&self, file: FileId) -> Option<FileId> {
        self.parent_of.as_ref()?(file)
    }

    /// Lets the plan know directories, for its order and to bring those that no run has named.
    pub fn set_parents(&mut self, parent_of: ParentOf) {
        self.parent_of = Some(parent_of);
    }

    /// A file was used. `at` decides whether what we brought was in time.
    pub fn used(&mut self, file: FileId, at: Micros) -> bool {
        self.now = self.now.wrapping_add(1);
        self.marks.used(file, self.now);
        let ours = !self.ledger.is_empty() && self.ledger.used(file, at);
        self.write_down();
        ours
    }

    /// Bytes of a file were asked for that were not in memory.
    pub fn read(&mut self, file: FileId, span: Span) {
        self.facts.read(file, span);
    }

    /// The file's name was looked up, so its inode is in memory.
    pub fn named(&mut self, file: FileId) {
        let mark = self.marks.of(file);
        (mark.named, mark.absent) = (self.now, false);
    }

    /// A file is in use: asks about it if nobody knows it. `again`: even if it was known.
    pub fn inquire(&mut self, file: FileId, again: bool, effects: &mut Vec<Effect>) {
        let mark = self.marks.of(file);
        // Somebody has it in hand.
        mark.absent = false;
        if mark.question == Question::Asked || (mark.question == Question::Known && !again) {
            return;
        }
        if self.inquiry.add(file) {
            mark.question = Question::Asked;
        }
        self.ask_questions(effects);
    }

    /// A file was opened in the group: calm, unless what was opened was `ours`.
    pub fn opened(&mut self, group: GroupId, ours: bool, effects: &mut Vec<Effect>) {
        let Some(plan) = self.groups.get_mut(&group) else { return };
        if ours {
            plan.gate.helped();
            if !std::mem::replace(&mut plan.helped, true) {
                self.ledger.helped_a_run();
            }
        } else if plan.gate.open() {
            self.disarm(group, effects);
        }
    }

    /// An access to the file, in the group, had to wait for the device.
    pub fn missed(&mut self, group: GroupId, file: FileId, foresight: &mut dyn Foresight) {
        let now = self.now;
        let before = self.marks.before(file, now);
        let plan = self.group(group);
        if before >= plan.since {
            // Memory was emptied: what we believed to be there is not.
            plan.since = now;
        }
        if plan.gate.miss() {
            plan.ahead.clear();
            foresight.rewind(group);
        }
    }

    /// The group is on this course now. A change withdraws what was planned on the old one. Says whether it was one.
    pub fn steer(&mut self, group: GroupId, course: Course, effects: &mut Vec<Effect>) -> bool {
        match self.groups.get_mut(&group) {
            Some(plan) if plan.course == course => return false,
            Some(plan) => {
                plan.course = course;
                plan.ahead.clear();
                let nameless = self.ledger.abandon(group, effects);
                self.unname(nameless);
            }
            None if course == Course::NONE => return false,
            None => self.group(group).course = course,
        }
        true
    }

    /// Asks for the group's next window, if it is time.
    pub fn advance(&mut self, group: GroupId, foresight: &mut dyn Foresight, effects: &mut Vec<Effect>) {
        let ready = |plan: &&Group| plan.gate.armed() && plan.course != Course::NONE;
        let Some(since) = self.groups.get(&group).filter(ready).map(|plan| plan.since) else { return };
        while self.ledger.window_done(group) {
            let batch = self.collect(group, since, foresight);
            if batch.wanted.is_empty() {
                return;
            }
            self.ask_for(group, &batch, effects);
        }
    }

    /// Asks for the next window of every group that is ready for one.
    pub fn advance_all(&mut self, foresight: &mut dyn Foresight, effects: &mut Vec<Effect>) {
        let armed = self.groups.iter().filter(|(_, plan)| plan.gate.armed());
        let mut groups: Vec<GroupId> = armed.map(|(&group, _)| group).collect();
        groups.sort_unstable();
        groups.into_iter().for_each(|group| self.advance(group, foresight, effects));
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
            self.marks.of(file).absent |= outcome == Outcome::Failed;
            self.ask_questions(effects);
            return None;
        }
        let settled = self.ledger.settle(at, job, outcome)?;
        // What was withdrawn too late may come all the same, when its room has been given to others.
        self.ledger.reclaim(0, self.budget);
        self.write_down();
        self.write_down_end(settled, outcome);
        self.note_facts(settled.file, outcome);
        self.judge(settled, outcome, effects);
        Some(settled.group)
    }

    /// The file is gone, or must not be touched any more.
    pub fn drop_file(&mut self, file: FileId, effects: &mut Vec<Effect>) {
        self.marks.of(file).absent = true;
        self.ledger.drop_file(file, effects);
        self.write_down();
    }

    /// Nothing is known of the file any more.
    pub fn forget(&mut self, file: FileId) {
        self.facts.forget(file);
        self.marks.of(file).forget();
    }

    /// Time passes: what waited too long is given up.
    pub fn age(&mut self, now: Micros) {
        self.ledger.age(now);
        self.write_down();
    }

    /// The end: what waits was brought in vain.
    pub fn give_up(&mut self) {
        self.ledger.give_up();
    }

    /// The group that a job under way was asked for; `None` of one that only looks.
    pub fn group_of(&self, job: JobId) -> Option<GroupId> {
        self.ledger.group_of(job)
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
        let now = &mut self.now;
        self.groups.entry(group).or_insert_with(|| {
            // A new moment: what was used just before is not the group's own doing.
            *now = now.wrapping_add(1);
            Group {
                gate: Gate::closed(),
                course: Course::NONE,
                since: *now,
                ahead: VecDeque::new(),
                helped: false,
                held_back: 0,
                behind: Behind::default(),
            }
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
        for file in files {
            let mark = self.marks.of(file);
            (mark.named, mark.siblings) = (0, false);
        }
    }

    fn note_facts(&mut self, file: FileId, outcome: Outcome) {
        if let Some(facts) = outcome.facts() {
            self.facts.set(file, facts);
            self.marks.of(file).known();
        }
    }

    /// What a settled job says about its group's need.
    fn judge(&mut self, settled: Settled, outcome: Outcome, effects: &mut Vec<Effect>) {
        let data = settled.target == Target::Data;
        if data && matches!(outcome, Outcome::Resident { .. }) {
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
            effects.push(Effect::Prefetch(Job {
                id,
                file,
                target: Target::Facts,
                bytes: 0,
                parts: Parts::NONE,
            }));
        }
    }
}
