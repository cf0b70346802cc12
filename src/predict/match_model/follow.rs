//! Following: where a group recognises an old run, stays with it, leaves it and arrives at its end.
//!
//! What must stay true: a group follows one run at a time, and changes to another only for a better reason
//! than it has for the present one.

use super::super::{Course, Kind};
use super::Group;
use super::MatchModel;
use super::follower::{Follower, Trust};
use super::keys::Keys;
use super::log::payload;
use crate::id::{FileId, GroupId, ProgramId};

/// Repeated runs that a group remembers: a long build has as many compilers.
const REPEATED_MAX: usize = 4096;

impl MatchModel {
    /// Moves the group's follower. Says whether all is well with it.
    pub(super) fn follow(&mut self, id: GroupId, program: ProgramId, file: FileId) -> bool {
        let Some(follower) = self.groups.get_mut(&id).and_then(|group| group.follower.as_mut()) else {
            return false;
        };
        let mut passed = std::mem::take(&mut self.passed);
        passed.clear();
        let expected = follower.advance(&self.log, file, &mut passed);
        let (proven, lost, finished) = (follower.proven(), follower.lost(), follower.finished());
        if proven {
            passed.iter().for_each(|&item| {
                self.write(id, item, payload(program), None);
            });
        }
        self.passed = passed;
        if lost || finished {
            let follower = self.groups.get_mut(&id).and_then(|group| group.follower.take());
            if let Some(follower) = follower.filter(|_| finished) {
                self.arrive(id, &follower);
            }
            return false;
        }
        expected
    }

    /// The group has arrived at the end of a run. Has it repeated it whole, and written that down?
    fn arrive(&mut self, id: GroupId, follower: &Follower) {
        let Some(origin) = follower.origin else { return };
        let line = std::iter::successors(Some(origin), |&at| self.log.next(at));
        let uses = line.filter_map(|at| self.log.get(at)).filter(|entry| entry.item.kind() != Kind::Lookup);
        let whole = u64::from(follower.hits() + 1) * 10 >= uses.count() as u64 * 9;
        if let Some(group) = self.groups.get_mut(&id)
            && whole
            && group.run != follower.run
            && group.repeated.len() < REPEATED_MAX
        {
            group.repeated.push(origin);
        }
    }

    /// The group is over: what it has repeated says nothing new any more. What a scan has repeated stays, as the
    /// scan itself goes first.
    pub(super) fn spare(&mut self, group: &Group) {
        let repeated = if group.watch.is_suspect() { &[][..] } else { &group.repeated };
        for &origin in repeated {
            let mut at = Some(origin);
            while let Some(entry) = at.and_then(|at| self.log.get_mut(at)) {
                self.spares += usize::from(!entry.by.spare());
                entry.by.set_spare();
                at = at.and_then(|at| self.log.next(at));
            }
        }
    }

    /// A long context that stood where the group's follower is turns doubt into trust.
    pub(super) fn strengthen(&mut self, group: GroupId, keys: &Keys) {
        let Some(group) = self.groups.get_mut(&group) else { return };
        let Some(follower) = group.follower.as_mut().filter(|follower| !follower.trusted()) else { return };
        let Some((key, Trust::Good)) = keys[0] else { return };
        let stood = self.contexts.get(key, self.log.end());
        if follower.run != group.run && stood.is_some_and(|position| follower.covers(position)) {
            follower.trust();
        }
    }

    /// Looks for a place where one of the contexts stood, and starts to follow there.
    pub(super) fn find(&mut self, group: GroupId, file: FileId, keys: &Keys) {
        for &(key, trust) in keys.iter().flatten() {
            let Some(position) = self.contexts.get(key, self.log.end()) else { continue };
            let Some(entry) = self.log.get(position).filter(|entry| entry.item.file() == file) else {
                continue;
            };
            let own = self.groups.get(&group).is_some_and(|group| group.run == entry.run);
            let trust = if own { Trust::Doubtful } else { trust };
            if self.may_take_over(group, position, entry.run, trust) {
                let course = Course(self.courses + 1);
                let Some(follower) = Follower::start(&self.log, position, course, trust) else { continue };
                self.courses += 1;
                self.group(group).follower = Some(follower);
                return;
            }
        }
    }

    /// Is a match at `position` better than what the group follows now?
    fn may_take_over(&self, group: GroupId, position: u64, run: u32, trust: Trust) -> bool {
        let Some(group) = self.groups.get(&group) else { return true };
        let Some(follower) = &group.follower else { return true };
        if follower.covers(position) {
            return false;
        }
        let following_itself = follower.run == group.run;
        if run == group.run {
            following_itself && follower.yields()
        } else {
            following_itself || (trust == Trust::Good && follower.yields())
        }
    }
}
