//! For whom the groups' jobs are done: the user of whoever in the group made an access last.
//!
//! What must stay true: a group that nobody was seen in has no more rights than everybody has.

use std::collections::HashMap;
use std::sync::Arc;

use crate::id::{GroupId, StreamId};
use crate::sys::credentials::Credentials;

/// Users of streams, and of the groups they are in.
#[derive(Debug, Default)]
pub(crate) struct Users {
    streams: HashMap<StreamId, Arc<Credentials>>,
    groups: HashMap<GroupId, Arc<Credentials>>,
    /// The access before: most are made by the same stream as the one before.
    last: Option<(StreamId, GroupId)>,
}

impl Users {
    /// The stream acts for this user from now on.
    pub(crate) fn is(&mut self, stream: StreamId, user: Arc<Credentials>) {
        self.streams.insert(stream, user);
        self.last = None;
    }

    /// The stream is over.
    pub(crate) fn end(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
        self.last = None;
    }

    /// The stream, of this group, made an access.
    pub(crate) fn access(&mut self, stream: StreamId, group: GroupId) {
        if self.last.replace((stream, group)) == Some((stream, group)) {
            return;
        }
        match self.streams.get(&stream) {
            Some(user) => self.groups.insert(group, user.clone()),
            None => self.groups.remove(&group),
        };
    }

    /// Whom the group's jobs are for.
    pub(crate) fn of(&self, group: GroupId) -> Arc<Credentials> {
        self.groups.get(&group).cloned().unwrap_or_else(|| Arc::new(Credentials::NOBODY))
    }

    /// Lets go of groups that `lives` does not know.
    pub(crate) fn sweep(&mut self, lives: impl Fn(GroupId) -> bool) {
        self.groups.retain(|&group, _| lives(group));
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_decides_and_strangers_have_no_rights() {
        let user = |uid| Arc::new(Credentials { uid, gid: uid, groups: Vec::new() });
        let (one, two, group) = (StreamId(1), StreamId(2), GroupId(5));
        let mut users = Users::default();
        assert_eq!(*users.of(group), Credentials::NOBODY);
        users.is(one, user(0));
        users.access(one, group);
        assert!(users.of(group).is_root());
        users.is(two, user(7));
        users.access(two, group);
        assert_eq!(users.of(group).uid, 7);
        // A change of user counts from the next access on.
        users.is(two, user(8));
        users.access(two, group);
        assert_eq!(users.of(group).uid, 8);
        users.access(StreamId(3), group);
        assert_eq!(*users.of(group), Credentials::NOBODY);
        users.access(one, group);
        users.sweep(|_| false);
        assert_eq!(*users.of(group), Credentials::NOBODY);
    }
}
