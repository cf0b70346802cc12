//! What an engine was told once, as a pass of a workload.
//!
//! Steps carry the waiting of their time, so a process thinks for as long as passed between two accesses, but no
//! longer than `THINK_MAX`. Look-ups, reads, judgements and whatever became of jobs are left out: the
//! simulator makes its own.
//!
//! What must stay true: streams and groups are numbered anew from 0 in each pass, and whatever is told of a stream
//! that was not begun begins it.

use std::time::Duration;

use super::UNKNOWN_SIZE;
use crate::clock::Micros;
use crate::engine::{Facts, Step};
use crate::event::{AccessEvent, Op, Origin};
use crate::id::{FileId, GroupId, IdMap, ProgramId, SessionId, StreamId};
use crate::sim::draft::{Draft, Story};
use crate::sim::layout::BLOCK;
use crate::sim::workload::Deed;

/// A longer pause is somebody's at a keyboard, or a wait for something else than files.
const THINK_MAX: Duration = Duration::from_secs(1);
/// An inode number from here on is no place in a table of inodes.
const INODE_MAX: u64 = 1 << 32;

/// What the numbers of a recording stand for.
pub(super) trait Names {
    /// The path of a file; `None` when it has no name. Empty for the root.
    fn path(&self, file: FileId) -> Option<String>;

    /// What a program is called.
    fn program(&self, program: ProgramId) -> String;
}

/// A pass in the making.
pub(super) struct Retelling<'a> {
    draft: &'a mut Draft,
    story: Story,
    streams: IdMap<StreamId, Told>,
    groups: IdMap<GroupId, GroupId>,
    /// When somebody outside last began a stream, or saw one end.
    outside: Option<Micros>,
    /// The latest moment anybody spoke of.
    now: Option<Micros>,
}

/// A stream that was told of.
#[derive(Clone, Copy)]
struct Told {
    number: StreamId,
    parent: Option<StreamId>,
    /// When it last did something, or waited for somebody.
    last: Option<Micros>,
}

impl<'a> Retelling<'a> {
    pub(super) fn new(draft: &'a mut Draft) -> Retelling<'a> {
        let (streams, groups) = (IdMap::default(), IdMap::default());
        Retelling { draft, story: Story::default(), streams, groups, outside: None, now: None }
    }

    /// Takes in the next thing the engine was told.
    pub(super) fn step(&mut self, step: &Step, names: &impl Names) {
        match *step {
            Step::Begin(stream, origin) => self.begin(stream, origin, names),
            Step::Exec(stream, program) => {
                let (number, _) = self.act(stream, names);
                let program = self.draft.program(&names.program(program));
                self.story.exec(number, program);
            }
            Step::End(stream) => self.end(stream),
            Step::Access(event) => self.access(&event, names),
            // Which file a settled job was of only the effects say: its facts come through `know`.
            Step::Settled(at, ..) | Step::Judge(at, ..) | Step::Tick(at) => {
                self.now = self.now.max(Some(at));
            }
            Step::Started(_)
            | Step::Window(_)
            | Step::Budget(_)
            | Step::Forget(_)
            | Step::Listed(_)
            | Step::InodeWindow(_) => {}
        }
    }

    /// Something is known of a file.
    pub(super) fn know(&mut self, file: FileId, facts: Facts, names: &impl Names) {
        if let Some(path) = names.path(file).filter(|path| !path.is_empty()) {
            let placed = facts.extent != 0 && facts.inode < INODE_MAX;
            let place = if placed { facts } else { Facts { inode: 0, extent: 0, ..facts } };
            self.draft.know(&path, place);
        }
    }

    /// The recording is over.
    pub(super) fn finish(self) {
        self.draft.pass(self.story);
    }

    fn begin(&mut self, stream: StreamId, origin: Origin, names: &impl Names) {
        if self.streams.contains_key(&stream) {
            self.end(stream);
        }
        let parent = origin.parent.filter(|parent| self.streams.contains_key(parent));
        let (above, think) = match parent {
            Some(parent) => {
                let (number, think) = self.act(parent, names);
                (Some(number), think)
            }
            None => (None, thought(self.now, std::mem::replace(&mut self.outside, self.now))),
        };
        let next = GroupId(self.groups.len() as u32);
        let group = *self.groups.entry(origin.group).or_insert(next);
        let program = self.draft.program(&names.program(origin.program));
        let number = StreamId(self.story.pass.streams);
        let origin = Origin { parent: above, program, group, ..origin };
        self.story.pass.streams += 1;
        self.story.pass.groups = self.groups.len() as u32;
        self.story.add(number, think, Deed::Begin(origin));
        self.streams.insert(stream, Told { number, parent, last: self.now });
    }

    fn end(&mut self, stream: StreamId) {
        let Some(told) = self.streams.remove(&stream) else { return };
        self.story.end(told.number);
        let now = self.now;
        match told.parent {
            None => self.outside = now,
            Some(parent) => {
                if let Some(parent) = self.streams.get_mut(&parent) {
                    parent.last = now;
                }
            }
        }
    }

    fn access(&mut self, event: &AccessEvent, names: &impl Names) {
        self.now = self.now.max(Some(event.at));
        let told = matches!(event.op, Op::Open | Op::List | Op::Write | Op::Close | Op::Remove);
        let Some(path) = names.path(event.file).filter(|_| told) else { return };
        let (number, think) = self.act(event.stream, names);
        let file = match event.op {
            Op::List => self.draft.directory(&path),
            _ => self.draft.file(&path, UNKNOWN_SIZE),
        };
        self.story.add(number, think, Deed::Access(file, event.op));
    }

    /// A stream does something now: its number, and how long it thought before.
    fn act(&mut self, stream: StreamId, names: &impl Names) -> (StreamId, Duration) {
        if !self.streams.contains_key(&stream) {
            let (program, group, session) = (ProgramId(0), GroupId(0), SessionId(0));
            self.begin(stream, Origin { parent: None, program, group, session }, names);
        }
        let now = self.now;
        let Some(told) = self.streams.get_mut(&stream) else { return (stream, Duration::ZERO) };
        let think = thought(now, told.last);
        told.last = now;
        (told.number, think)
    }
}

/// How long somebody thought who did something last at `last`.
fn thought(now: Option<Micros>, last: Option<Micros>) -> Duration {
    match (now, last) {
        (Some(now), Some(last)) => now.since(last).min(THINK_MAX),
        _ => Duration::ZERO,
    }
}

impl Draft {
    /// Something is known of the file or directory at a path.
    fn know(&mut self, path: &str, facts: Facts) {
        let file = if facts.directory { self.directory(path) } else { self.file(path, facts.size) };
        // Entries take a block at least; a directory's own size may be said to be nothing.
        let size = if facts.directory { facts.size.max(BLOCK) } else { facts.size };
        self.set_facts(file, Facts { size, ..facts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Outcome;
    use crate::event::Residency;
    use crate::id::JobId;

    struct Numbers;

    impl Names for Numbers {
        fn path(&self, file: FileId) -> Option<String> {
            (file.0 < 90).then(|| format!("d/f{}", file.0))
        }

        fn program(&self, program: ProgramId) -> String {
            format!("p{}", program.0)
        }
    }

    fn begin(stream: u32, parent: Option<u32>, group: u32) -> Step {
        let (parent, program) = (parent.map(StreamId), ProgramId(3));
        let origin = Origin { parent, program, group: GroupId(group), session: SessionId(5) };
        Step::Begin(StreamId(stream), origin)
    }

    fn access(at: u64, stream: u32, file: u32, op: Op) -> Step {
        let (at, stream, file) = (Micros(at), StreamId(stream), FileId(file));
        Step::Access(AccessEvent { at, stream, file, op, residency: Residency::Unknown })
    }

    #[test]
    fn processes_think_for_as_long_as_passed() {
        let mut draft = Draft::new("told");
        let mut told = Retelling::new(&mut draft);
        let steps = [
            begin(70, None, 9),
            access(1_000, 70, 1, Op::Open),
            begin(71, Some(70), 9),
            access(1_500, 71, 2, Op::Lookup),
            access(1_700, 71, 2, Op::Open),
            Step::Tick(Micros(1_900)),
            Step::Settled(Micros(1_950), JobId(1), Outcome::Withdrawn),
            Step::End(StreamId(71)),
            access(2_000, 70, 3, Op::Open),
            access(9_000_000, 70, 1, Op::Write),
            access(9_000_001, 70, 99, Op::Open),
            access(9_000_010, 72, 1, Op::Open),
        ];
        steps.iter().for_each(|step| told.step(step, &Numbers));
        told.know(FileId(2), Facts { inode: 7, size: 5, extent: 0, directory: false }, &Numbers);
        told.know(FileId(3), Facts { inode: 8, size: 6, extent: 81_920, directory: false }, &Numbers);
        told.finish();
        let workload = draft.finish();
        let pass = &workload.passes[0];
        let thought: Vec<_> = pass.steps.iter().map(|step| (step.stream.0, step.think.as_micros())).collect();
        // The child begins at once and waits for 700 us; the parent goes on 50 us after its end.
        let expected = [(0, 0), (0, 0), (1, 0), (1, 700), (1, 0), (0, 50), (0, 1_000_000), (2, 0), (2, 0)];
        assert_eq!(thought, expected);
        assert_eq!((pass.streams, pass.groups), (3, 2));
        let facts = |path: &str| {
            let found =
                (0..workload.files.len() as u32).map(FileId).find(|&file| workload.path(file) == path);
            workload.file(found.unwrap()).facts
        };
        assert_eq!((facts("d/f1").size, facts("d/f2").size), (UNKNOWN_SIZE, 5));
        assert_eq!((facts("d/f3").inode, facts("d/f3").extent), (8, 81_920));
        assert!(facts("d/f2").extent > 81_920, "without a place it lies behind what has one");
    }
}
