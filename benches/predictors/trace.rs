//! Made-up jobs: a parallel build whose sources share headers, and two traversals of one tree.
//!
//! What must stay true: the same seed makes the same calls; a second pass opens the same files, but the
//! processes of a build take turns in another order.

use augurfs::event::Origin;
use augurfs::id::{FileId, GroupId, ProgramId, SessionId, StreamId};
use augurfs::predict::{Access, Kind};

/// Files of a trace.
pub(crate) const FILES: u32 = 20_000;
/// Headers that every source includes, and those of which each has some.
const COMMON: u32 = 8;
const HEADERS: u32 = 2_000;
/// Headers of the second kind that a source includes.
const OWN: u32 = 12;
/// One source and one object each: what is left of the files.
const SOURCES: u32 = (FILES - COMMON - HEADERS) / 2;
/// Compilers at a time.
const LANES: usize = 4;

/// What a predictor is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Begin(StreamId, Origin),
    Exec(StreamId, ProgramId),
    Open(GroupId, Access),
    End(StreamId),
    EndGroup(GroupId),
}

/// Makes calls.
#[derive(Debug)]
pub(crate) struct Maker {
    calls: Vec<Call>,
    streams: u32,
    dice: u64,
}

impl Maker {
    pub(crate) fn new(seed: u64) -> Self {
        Maker { calls: Vec::new(), streams: 0, dice: seed }
    }

    /// What was made since the last time.
    pub(crate) fn take(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    fn process(&mut self, parent: Option<StreamId>, program: u32, group: GroupId) -> StreamId {
        let stream = StreamId(self.streams);
        self.streams += 1;
        self.calls.push(Call::Begin(
            stream,
            Origin { parent, program: ProgramId(0), group, session: SessionId(0) },
        ));
        self.calls.push(Call::Exec(stream, ProgramId(program)));
        stream
    }

    fn open(&mut self, group: GroupId, stream: StreamId, file: u32) {
        let access = Access { stream, file: FileId(file), kind: Kind::Open };
        self.calls.push(Call::Open(group, access));
    }

    /// A number below `limit`; Knuth's generator.
    fn roll(&mut self, limit: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % limit
    }

    /// One build, as a job of its own.
    pub(crate) fn build(&mut self, group: GroupId) {
        let make = self.process(None, 1, group);
        let mut lanes: Vec<(StreamId, std::vec::IntoIter<u32>)> = Vec::new();
        let mut sources = 0..SOURCES;
        loop {
            while lanes.len() < LANES
                && let Some(source) = sources.next()
            {
                lanes.push((self.process(Some(make), 2, group), compiled(source).into_iter()));
            }
            if lanes.is_empty() {
                break;
            }
            let lane = self.roll(lanes.len());
            match lanes[lane].1.next() {
                Some(file) => self.open(group, lanes[lane].0, file),
                None => self.calls.push(Call::End(lanes.swap_remove(lane).0)),
            }
        }
        self.calls.extend([Call::End(make), Call::EndGroup(group)]);
    }

    /// Two jobs that walk over all files, the second half a tree behind.
    pub(crate) fn traversals(&mut self, groups: [GroupId; 2]) {
        let streams =
            [(3, groups[0]), (4, groups[1])].map(|(program, group)| self.process(None, program, group));
        for file in 0..FILES {
            self.open(groups[0], streams[0], file);
            self.open(groups[1], streams[1], (file + FILES / 2) % FILES);
        }
        self.calls.extend(streams.map(Call::End));
        self.calls.extend(groups.map(Call::EndGroup));
    }
}

/// What compiling a source opens. Neighbours have headers in common.
fn compiled(source: u32) -> Vec<u32> {
    let first = COMMON + HEADERS;
    let own = (0..OWN).map(|place| COMMON + (source / 5 + place * place * 17) % HEADERS);
    let (source, object) = (first + source, first + SOURCES + source);
    [source].into_iter().chain(0..COMMON).chain(own).chain([object]).collect()
}
