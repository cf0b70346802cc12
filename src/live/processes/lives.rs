//! Process lives by number, and the announcements of their beginnings and ends: plain bookkeeping.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::Origin;
use crate::id::{GroupId, ProgramId, SessionId, StreamId};
use crate::sys::credentials::Credentials;
use crate::sys::proc::Stat;

/// Process groups remembered; past this all are forgotten and get new numbers (harmless, rare).
const GROUPS: usize = 8192;

/// What the engine has to be told of streams, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announcement {
    /// A stream begins.
    Begin(StreamId, Origin),
    /// It runs another program now.
    Exec(StreamId, ProgramId),
    /// Its process acts for another user now.
    User(StreamId),
    /// Its process has ended.
    End(StreamId),
}

/// What a process runs, and for whom.
pub(super) struct Runs {
    pub(super) program: ProgramId,
    pub(super) user: Credentials,
}

#[derive(Clone)]
pub(super) struct Life {
    pub(super) stream: StreamId,
    pub(super) start: u64,
    pub(super) origin: Origin,
    pub(super) user: Arc<Credentials>,
}

pub(super) struct Lives {
    pub(super) outside: Origin,
    pub(super) by_process: HashMap<u32, Life>,
    pub(super) groups: HashMap<u32, (Option<u64>, GroupId)>,
    /// The executable last seen under a short name, for those that died before their link was read.
    pub(super) by_comm: HashMap<Vec<u8>, ProgramId>,
    pub(super) streams: u32,
    pub(super) group_count: u32,
    pub(super) announcements: Vec<Announcement>,
}

impl Lives {
    pub(super) fn new(outside: Origin) -> Self {
        Lives {
            outside,
            by_process: HashMap::new(),
            groups: HashMap::new(),
            by_comm: HashMap::new(),
            streams: 0,
            // Number 0 is the outsiders'.
            group_count: 1,
            announcements: Vec::new(),
        }
    }

    /// The stream of a known process, after noting a change of program or user; none if it is another life.
    pub(super) fn refresh(&mut self, process: u32, start: u64, runs: &Runs) -> Option<StreamId> {
        let program = runs.program;
        let life = self.by_process.get_mut(&process).filter(|life| life.start == start)?;
        if life.origin.program != program {
            life.origin.program = program;
            self.announcements.push(Announcement::Exec(life.stream, program));
        }
        if *life.user != runs.user {
            life.user = Arc::new(runs.user.clone());
            self.announcements.push(Announcement::User(life.stream));
        }
        Some(life.stream)
    }

    pub(super) fn known(&self, process: u32, start: u64) -> Option<StreamId> {
        self.by_process.get(&process).filter(|life| life.start == start).map(|life| life.stream)
    }

    pub(super) fn add(
        &mut self,
        process: u32,
        stat: &Stat,
        leader: Option<u64>,
        parent: Option<StreamId>,
        runs: &Runs,
    ) -> StreamId {
        let program = runs.program;
        // Somebody else may have been quicker.
        if let Some(stream) = self.refresh(process, stat.start, runs) {
            return stream;
        }
        if let Some(before) = self.by_process.remove(&process) {
            self.announcements.push(Announcement::End(before.stream));
        }
        let group = self.group(stat.group, leader);
        // The kernel keeps the number of a session taken as long as a member lives; when it comes round again,
        // two logins far apart count as one.
        let origin = Origin { parent, program, group, session: SessionId(stat.session) };
        let stream = self.begin(origin);
        let user = Arc::new(runs.user.clone());
        self.by_process.insert(process, Life { stream, start: stat.start, origin, user });
        stream
    }

    pub(super) fn begin(&mut self, origin: Origin) -> StreamId {
        let stream = StreamId(self.streams);
        self.streams += 1;
        self.announcements.push(Announcement::Begin(stream, origin));
        stream
    }

    /// The job's number. A leader that has ended keeps its number taken as long as a member lives, so
    /// not seeing it means the job already known.
    pub(super) fn group(&mut self, number: u32, leader: Option<u64>) -> GroupId {
        match self.groups.get(&number) {
            Some(&(before, group)) if leader.is_none() || before == leader => group,
            _ => {
                if self.groups.len() >= GROUPS {
                    self.groups.clear();
                }
                let group = self.new_group();
                self.groups.insert(number, (leader, group));
                group
            }
        }
    }

    pub(super) fn new_group(&mut self) -> GroupId {
        let group = GroupId(self.group_count);
        self.group_count += 1;
        group
    }

    pub(super) fn end(&mut self, process: u32, start: u64) -> Option<StreamId> {
        let life = self.by_process.get(&process).filter(|life| life.start == start)?;
        let stream = life.stream;
        self.by_process.remove(&process);
        self.announcements.push(Announcement::End(stream));
        Some(stream)
    }
}
