//! The ledger: what was asked for, what came, and what became of it.
//!
//! What must stay true:
//! - the bytes reserved for jobs under way and the bytes that came and were not used add up to `held`;
//! - every file that came is counted once: in time, late, wasted, or still waiting;
//! - a file has at most one job of each kind that was not withdrawn.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::Parts;
use super::fate::{Fate, Use};
use super::work::{Effect, Job, Outcome, Target};
use crate::clock::Micros;
use crate::id::{FileId, GroupId, IdMap, JobId};

mod look;
mod restraint;

/// After so long, what came and was not used counts as wasted: the job it was for has moved on.
const UNUSED_MAX: Duration = Duration::from_secs(600);

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    items: IdMap<FileId, Item>,
    jobs: IdMap<JobId, Entry>,
    groups: IdMap<GroupId, Account>,
    /// When what came, oldest first.
    arrivals: VecDeque<(Micros, FileId)>,
    /// Came, but the group it was for has gone another way.
    orphans: VecDeque<FileId>,
    fate: Fate,
    /// What became of files since this was last taken away.
    verdicts: Vec<(FileId, Use)>,
    next_job: u64,
}

/// A file that something was asked for.
#[derive(Clone, Debug)]
struct Item {
    group: GroupId,
    /// The group still expects it.
    wanted: bool,
    attributes: Option<JobId>,
    data: Option<JobId>,
    /// Withdrawn jobs that were not settled yet. Nearly always none.
    strays: Vec<JobId>,
    /// Bytes of its data that were asked for at most.
    limit: u64,
    /// Bytes and arrivals that wait for their use.
    unused: u64,
    arrived: u64,
    at: Micros,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    file: FileId,
    target: Target,
    group: GroupId,
    begun: bool,
    withdrawn: bool,
    /// Its file was used meanwhile.
    used: bool,
    /// Still counts as part of its group's window.
    open: bool,
    reserved: u64,
}

/// What a group has under way.
#[derive(Debug, Default)]
struct Account {
    jobs: BTreeSet<JobId>,
    arrived: Vec<FileId>,
    /// Jobs of the present window, and how many of them are neither settled nor overtaken by use.
    window: usize,
    open: usize,
}

/// What a settled job was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) file: FileId,
    pub(super) target: Target,
    pub(super) group: GroupId,
    pub(super) withdrawn: bool,
}

impl Ledger {
    pub(super) fn fate(&self) -> Fate {
        self.fate
    }

    /// Bytes on their way or unused.
    pub(super) fn held(&self) -> u64 {
        self.fate.in_flight_bytes + self.fate.unused_bytes
    }

    /// Nothing is asked for and nothing waits to be used: no access can matter.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Is the file's data on its way, or are its first `bytes` bytes waiting? If so, it is the group's from now on.
    pub(super) fn has_data(&mut self, file: FileId, group: GroupId, bytes: u64) -> bool {
        let Some(item) = self.items.get_mut(&file) else { return false };
        let found = item.data.is_some() || (item.unused > 0 && item.limit >= bytes);
        if found && !item.wanted {
            (item.wanted, item.group) = (true, group);
            if item.unused > 0 {
                self.groups.entry(group).or_default().arrived.push(file);
            }
        }
        found
    }

    /// The next job number.
    pub(super) fn number(&mut self) -> JobId {
        self.next_job += 1;
        self.fate.jobs += 1;
        JobId(self.next_job)
    }

    /// Asks for a job; `reserved` bytes of the budget are held for it.
    pub(super) fn ask(
        &mut self,
        file: FileId,
        target: Target,
        group: GroupId,
        reserved: u64,
        (bytes, parts): (u64, Parts),
    ) -> Job {
        let id = self.number();
        let item = self.items.entry(file).or_insert(Item::new(group));
        match target {
            Target::Data => (item.data, item.limit) = (Some(id), bytes),
            _ => item.attributes = Some(id),
        }
        (item.group, item.wanted) = (group, true);
        self.fate.in_flight_bytes += reserved;
        let entry =
            Entry { file, target, group, begun: false, withdrawn: false, used: false, open: true, reserved };
        self.jobs.insert(id, entry);
        let account = self.groups.entry(group).or_default();
        account.jobs.insert(id);
        account.open += 1;
        Job { id, file, target, bytes, parts }
    }

    /// What was asked for since is the group's present window.
    pub(super) fn close_window(&mut self, group: GroupId) {
        let account = self.groups.entry(group).or_default();
        account.window = account.open;
    }

    /// Is most of the group's window done? Then the next one may be asked for.
    pub(super) fn window_done(&self, group: GroupId) -> bool {
        self.groups.get(&group).is_none_or(|account| account.open * 4 <= account.window)
    }

    /// A worker has begun: the job cannot be withdrawn any more.
    pub(super) fn started(&mut self, job: JobId) {
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.begun = true;
        }
    }

    /// The file was used. Says whether something of ours was there for it or on its way.
    pub(super) fn used(&mut self, file: FileId, at: Micros) -> bool {
        let Some(item) = self.items.get(&file) else { return false };
        let ours = item.unused > 0 || item.data.is_some();
        let late = at < item.at;
        let current = [item.attributes, item.data];
        for job in current.iter().flatten().chain(&item.strays) {
            if let Some(entry) = self.jobs.get_mut(job) {
                entry.used = true;
            }
        }
        current.into_iter().flatten().for_each(|job| self.overtake(job));
        self.decide(file, if late { Use::Late } else { Use::InTime });
        ours
    }

    /// The job is settled; `None` when it is not one of ours.
    pub(super) fn settle(&mut self, at: Micros, job: JobId, outcome: Outcome) -> Option<Settled> {
        self.overtake(job);
        let entry = self.jobs.remove(&job)?;
        self.fate.in_flight_bytes -= entry.reserved;
        if let Some(account) = self.groups.get_mut(&entry.group) {
            account.jobs.remove(&job);
        }
        self.close(job, entry);
        match outcome {
            Outcome::Warmed { bytes, .. } if entry.target == Target::Data && bytes > 0 => {
                self.arrive(at, entry, bytes);
            }
            _ => {}
        }
        self.tidy(entry.file);
        self.drop_idle_account(entry.group);
        Some(Settled {
            file: entry.file,
            target: entry.target,
            group: entry.group,
            withdrawn: entry.withdrawn,
        })
    }

    /// Withdraws what the group has not begun, and gives up on what came for it. Returns the files
    /// whose names are not brought.
    pub(super) fn abandon(&mut self, group: GroupId, effects: &mut Vec<Effect>) -> Vec<FileId> {
        let nameless = self.withdraw(group, effects);
        self.orphan(group);
        self.drop_idle_account(group);
        nameless
    }

    /// What came or comes for the group is nobody's now.
    fn orphan(&mut self, group: GroupId) {
        let Some(account) = self.groups.get_mut(&group) else { return };
        account.window = 0;
        for file in std::mem::take(&mut account.arrived) {
            if let Some(item) = self.items.get_mut(&file)
                && item.group == group
                && item.unused > 0
                && std::mem::take(&mut item.wanted)
            {
                self.orphans.push_back(file);
            }
        }
        // What is under way now arrives as an orphan.
        let Some(account) = self.groups.get(&group) else { return };
        for job in &account.jobs {
            if let Some(item) = self.jobs.get(job).and_then(|entry| self.items.get_mut(&entry.file)) {
                item.wanted = false;
            }
        }
    }

    /// Withdraws what the group has not begun. Returns the files whose names are not brought.
    pub(super) fn withdraw(&mut self, group: GroupId, effects: &mut Vec<Effect>) -> Vec<FileId> {
        let Some(account) = self.groups.get(&group) else { return Vec::new() };
        let idle = |job: &&JobId| self.jobs.get(*job).is_some_and(|entry| !entry.begun && !entry.withdrawn);
        let jobs: Vec<JobId> = account.jobs.iter().filter(idle).copied().collect();
        let names = jobs.iter().filter_map(|job| self.jobs.get(job));
        let names = names.filter(|entry| entry.target != Target::Data).map(|entry| entry.file).collect();
        jobs.into_iter().for_each(|job| self.withdraw_one(job, effects));
        names
    }

    /// The file is gone: nothing about it will be used.
    pub(super) fn drop_file(&mut self, file: FileId, effects: &mut Vec<Effect>) {
        let Some(item) = self.items.get(&file) else { return };
        for job in [item.attributes, item.data].into_iter().flatten() {
            if self.jobs.get(&job).is_some_and(|entry| !entry.begun) {
                self.withdraw_one(job, effects);
            }
        }
        self.decide(file, Use::Never);
    }

    /// Makes room by giving up what nobody expects any more, so that `need` more bytes stay within
    /// `budget`.
    pub(super) fn reclaim(&mut self, need: u64, budget: u64) {
        while self.held() + need > budget {
            let Some(file) = self.orphans.pop_front() else { return };
            if self.items.get(&file).is_some_and(|item| !item.wanted) {
                self.decide(file, Use::Never);
            }
        }
    }

    /// Gives up what has waited for too long.
    pub(super) fn age(&mut self, now: Micros) {
        while let Some(&(at, file)) = self.arrivals.front()
            && now.since(at) >= UNUSED_MAX
        {
            self.arrivals.pop_front();
            if self.items.get(&file).is_some_and(|item| item.unused > 0 && item.at == at) {
                self.decide(file, Use::Never);
            }
        }
    }

    /// Gives up everything that waits: the end.
    pub(super) fn give_up(&mut self) {
        while let Some((_, file)) = self.arrivals.pop_front() {
            self.decide(file, Use::Never);
        }
    }

    /// A job is no longer needed for its window: settled, withdrawn, or its file was used.
    fn overtake(&mut self, job: JobId) {
        if let Some(entry) = self.jobs.get_mut(&job)
            && std::mem::take(&mut entry.open)
            && let Some(account) = self.groups.get_mut(&entry.group)
        {
            account.open -= 1;
        }
    }

    fn withdraw_one(&mut self, job: JobId, effects: &mut Vec<Effect>) {
        self.overtake(job);
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        entry.withdrawn = true;
        self.fate.withdrawn += 1;
        self.fate.in_flight_bytes -= std::mem::take(&mut entry.reserved);
        if let Some(item) = self.items.get_mut(&entry.file) {
            item.clear(job);
            item.strays.push(job);
        }
        effects.push(Effect::Withdraw(job));
    }

    /// Takes a settled job off its file.
    fn close(&mut self, job: JobId, entry: Entry) {
        let Some(item) = self.items.get_mut(&entry.file) else { return };
        item.clear(job);
        item.strays.retain(|&stray| stray != job);
    }

    fn arrive(&mut self, at: Micros, entry: Entry, bytes: u64) {
        self.fate.arrive(bytes);
        if entry.used {
            self.verdicts.push((entry.file, Use::Late));
            return self.fate.decide(Use::Late, bytes, 1);
        }
        let Some(item) = self.items.get_mut(&entry.file) else { return };
        item.unused += bytes;
        item.arrived += 1;
        item.at = at;
        self.arrivals.push_back((at, entry.file));
        if item.wanted && !entry.withdrawn {
            self.groups.entry(item.group).or_default().arrived.push(entry.file);
        } else {
            item.wanted = false;
            self.orphans.push_back(entry.file);
        }
    }

    /// Writes down what became of what waits, if anything does.
    fn decide(&mut self, file: FileId, how: Use) {
        let Some(item) = self.items.get_mut(&file) else { return };
        let (bytes, files) = (std::mem::take(&mut item.unused), std::mem::take(&mut item.arrived));
        self.fate.decide(how, bytes, files);
        if files > 0 {
            self.verdicts.push((file, how));
        }
        self.tidy(file);
    }

    fn tidy(&mut self, file: FileId) {
        if let Some(item) = self.items.get_mut(&file) {
            let under_way = item.data.is_some() || item.attributes.is_some() || !item.strays.is_empty();
            if !under_way && item.arrived == 0 {
                self.items.remove(&file);
            }
        }
        // Names of what was used meanwhile; without this a mount that never idles would keep them.
        if self.arrivals.len() > 1024 && self.arrivals.len() > self.items.len() * 4 {
            let items = &self.items;
            let waits = |file: &FileId| items.get(file).is_some_and(|item| item.unused > 0);
            self.arrivals.retain(|(_, file)| waits(file));
            self.orphans.retain(waits);
            self.groups.values_mut().for_each(|account| account.arrived.retain(waits));
        }
    }

    fn drop_idle_account(&mut self, group: GroupId) {
        let idle = |account: &Account| account.jobs.is_empty() && account.arrived.is_empty();
        if self.groups.get(&group).is_some_and(idle) {
            self.groups.remove(&group);
        }
    }
}

impl Item {
    fn new(group: GroupId) -> Self {
        Item {
            group,
            wanted: true,
            attributes: None,
            data: None,
            strays: Vec::new(),
            limit: 0,
            unused: 0,
            arrived: 0,
            at: Micros(0),
        }
    }

    fn clear(&mut self, job: JobId) {
        self.attributes = self.attributes.filter(|&other| other != job);
        self.data = self.data.filter(|&other| other != job);
    }
}
