//! Streams: which process life is which program in which job, and when that is over.
//!
//! What must stay true: what has ended leaves nothing behind, whether somebody said so (`end`) or not
//! (the number of streams is bounded, the longest idle ones go first).

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Micros;
use crate::config::Scope;
use crate::event::Origin;
use crate::id::{GroupId, IdMap, ProgramId, StreamId};

/// Most streams that are remembered at once: the kernel's usual limit on processes (`pid_max`).
const STREAMS_MAX: usize = 32_768;

/// How long a group may be without processes before it is over: a shell script that we do not see
/// ourselves runs one command after the other, and they are one job.
const GROUP_GRACE: Duration = Duration::from_secs(2);

/// One process life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What it runs.
    pub program: ProgramId,
    /// The group it belongs to: whose order of accesses is learned and followed.
    pub group: GroupId,
    /// Where it came from.
    origin: Origin,
    /// When it was last heard of, in accesses of all streams.
    seen: u64,
}

/// A job with streams, or that had some a moment ago.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    living: u32,
    /// When the last one ended; means something while none lives.
    idle: Micros,
}

/// All streams that live.
#[derive(Debug, Default)]
pub struct Streams {
    scope: Scope,
    streams: IdMap<StreamId, Stream>,
    groups: IdMap<GroupId, Group>,
    /// Groups that lost their last stream, oldest first.
    idle: VecDeque<(Micros, GroupId)>,
    accesses: u64,
}

impl Streams {
    /// Streams grouped by `scope`.
    pub fn new(scope: Scope) -> Self {
        Streams { scope, ..Streams::default() }
    }

    /// By what they are grouped.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// A stream starts. Returns the streams that had to go to make room, in order of their numbers.
    pub fn begin(&mut self, stream: StreamId, origin: &Origin, now: Micros) -> Vec<StreamId> {
        self.end(stream, now);
        let gone = if self.streams.len() >= STREAMS_MAX { self.evict(now) } else { Vec::new() };
        let group = self.group_of(stream, origin);
        let new = Stream { program: origin.program, group, origin: *origin, seen: self.accesses };
        self.streams.insert(stream, new);
        self.groups.entry(group).or_default().living += 1;
        gone
    }

    /// The stream runs another program. Says whether that puts it into another group.
    pub fn exec(&mut self, stream: StreamId, program: ProgramId, now: Micros) -> bool {
        let Some(&known) = self.streams.get(&stream) else { return false };
        let group = self.group_of(stream, &Origin { program, ..known.origin });
        self.streams.insert(stream, Stream { program, group, ..known });
        if group == known.group {
            return false;
        }
        self.groups.entry(group).or_default().living += 1;
        self.leave(known.group, now);
        true
    }

    /// The group a stream from `origin` belongs to. Numbers of one scope are never mixed with another's.
    pub fn group_of(&self, stream: StreamId, origin: &Origin) -> GroupId {
        match self.scope {
            Scope::Job => origin.group,
            Scope::Process => GroupId(stream.0),
            Scope::Program => GroupId(origin.program.0),
            Scope::Session => GroupId(origin.session.0),
            Scope::Global => GroupId(0),
        }
    }

    /// The stream is over. Says whether it was known.
    pub fn end(&mut self, stream: StreamId, now: Micros) -> bool {
        let Some(Stream { group, .. }) = self.streams.remove(&stream) else { return false };
        self.leave(group, now);
        true
    }

    /// One stream less in a group.
    fn leave(&mut self, group: GroupId, now: Micros) {
        if let Some(known) = self.groups.get_mut(&group) {
            known.living -= 1;
            if known.living == 0 {
                known.idle = now;
                self.idle.push_back((now, group));
            }
        }
    }

    /// The stream as it is; notes that it is alive.
    pub fn hear(&mut self, stream: StreamId) -> Option<Stream> {
        self.accesses += 1;
        let known = self.streams.get_mut(&stream)?;
        known.seen = self.accesses;
        Some(*known)
    }

    /// The stream as it is.
    pub fn get(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(&stream)
    }

    /// Groups that have been without streams for long enough to be over.
    pub fn ended_groups(&mut self, now: Micros) -> Vec<GroupId> {
        let mut ended = Vec::new();
        while let Some(&(since, group)) = self.idle.front()
            && now.since(since) >= GROUP_GRACE
        {
            self.idle.pop_front();
            if self.groups.get(&group).is_some_and(|known| known.living == 0 && known.idle == since) {
                self.groups.remove(&group);
                ended.push(group);
            }
        }
        ended
    }

    /// Is the group not over yet?
    pub fn knows_group(&self, group: GroupId) -> bool {
        self.groups.contains_key(&group)
    }

    /// How many streams live.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Ends the half of the streams that was idle longest.
    fn evict(&mut self, now: Micros) -> Vec<StreamId> {
        let mut all: Vec<(u64, StreamId)> =
            self.streams.iter().map(|(&id, stream)| (stream.seen, id)).collect();
        all.sort_unstable();
        let mut gone: Vec<StreamId> = all[..STREAMS_MAX / 2].iter().map(|&(_, id)| id).collect();
        gone.sort_unstable();
        gone.iter().for_each(|&id| {
            self.end(id, now);
        });
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SessionId;

    fn origin(group: u32) -> Origin {
        Origin { parent: None, program: ProgramId(1), group: GroupId(group), session: SessionId(9) }
    }

    #[test]
    fn the_scope_says_who_belongs_together() {
        let groups = |scope| {
            let mut streams = Streams::new(scope);
            [(1, 5), (2, 5), (3, 6)].map(|(stream, group)| {
                let origin = Origin { program: ProgramId(stream % 2), ..origin(group) };
                streams.begin(StreamId(stream), &origin, Micros(0));
                streams.get(StreamId(stream)).unwrap().group.0
            })
        };
        assert_eq!(Scope::ALL.map(groups), [[5, 5, 6], [1, 2, 3], [1, 0, 1], [9, 9, 9], [0, 0, 0]]);
    }

    #[test]
    fn another_program_is_another_group_where_programs_are() {
        for scope in Scope::ALL {
            let mut streams = Streams::new(scope);
            streams.begin(StreamId(1), &origin(5), Micros(0));
            let moved = streams.exec(StreamId(1), ProgramId(2), Micros(1));
            assert_eq!(moved, scope == Scope::Program);
            let ended = streams.ended_groups(Micros(10_000_000));
            assert_eq!(ended, if moved { vec![GroupId(1)] } else { vec![] }, "{}", scope.as_str());
            assert_eq!(streams.get(StreamId(1)).unwrap().program, ProgramId(2));
        }
    }

    #[test]
    fn short_processes_leave_nothing_behind() {
        let mut streams = Streams::default();
        for number in 0..10_000 {
            let now = Micros(u64::from(number) * 1_000);
            streams.begin(StreamId(number), &origin(number), now);
            assert!(streams.hear(StreamId(number)).is_some());
            streams.end(StreamId(number), now);
            streams.ended_groups(now);
        }
        assert_eq!(streams.ended_groups(Micros(20_000_000)).len(), 2_000);
        assert!(streams.is_empty() && streams.groups.is_empty() && streams.idle.is_empty());
    }

    #[test]
    fn a_script_of_many_commands_is_one_job() {
        let mut streams = Streams::default();
        for number in 0..100u32 {
            let now = Micros(u64::from(number) * 1_000_000);
            streams.begin(StreamId(number), &origin(7), now);
            streams.end(StreamId(number), now);
            assert!(streams.ended_groups(now + Duration::from_millis(900)).is_empty());
        }
        assert_eq!(streams.ended_groups(Micros(200_000_000)), [GroupId(7)]);
    }

    #[test]
    fn those_nobody_ends_go_when_there_are_too_many() {
        let mut streams = Streams::default();
        let mut gone = 0;
        for number in 0..100_000u32 {
            gone += streams.begin(StreamId(number), &origin(number), Micros(0)).len();
            streams.hear(StreamId(0));
        }
        assert!(streams.len() <= STREAMS_MAX);
        assert_eq!(streams.len() + gone, 100_000);
        assert!(streams.get(StreamId(0)).is_some(), "the busy one stays");
    }
}
