//! A project to be built: units of C, their headers, and the processes that compile and link them.

use std::collections::VecDeque;
use std::time::Duration;

use super::size;
use crate::device::SplitMix;
use crate::id::{FileId, ProgramId, StreamId};
use crate::sim::draft::{Draft, Story};
use crate::sim::workload::Step;

/// Between two opens of the compiler's, in microseconds: reading a header takes it about so long.
const PER_HEADER: Duration = Duration::from_micros(100);
/// make's own work for each unit, and the start of a process.
const PER_PROCESS: Duration = Duration::from_micros(500);
/// Units in one directory.
const PER_DIRECTORY: u64 = 25;
/// Headers of a unit's own, besides those that all share.
const OWN_HEADERS: u64 = 12;

/// What is compiled together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    number: u64,
    pub(super) source: FileId,
    object: FileId,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Project {
    makefile: FileId,
    output: FileId,
    headers: Vec<FileId>,
    /// In the order in which they are built.
    pub(super) units: Vec<Unit>,
    shared: usize,
    compile: Duration,
    make: ProgramId,
    sh: ProgramId,
    cc: ProgramId,
    ld: ProgramId,
}

impl Project {
    /// A project of `units` with `headers`, of which every unit includes the first `shared`.
    pub(super) fn new(
        draft: &mut Draft,
        dice: &mut SplitMix,
        (units, headers, shared): (u64, u64, u64),
        compile: Duration,
    ) -> Project {
        let makefile = draft.file("Makefile", 20 << 10);
        let header = |number| format!("include/h{number:04}.h");
        let headers: Vec<_> =
            (0..headers).map(|n| draft.file(&header(n), size(dice, 1 << 10, 32 << 10))).collect();
        let mut project = Project {
            makefile,
            output: draft.file("program", 4 << 20),
            shared: headers.len().min(shared as usize),
            headers,
            units: Vec::new(),
            compile,
            make: draft.program("make"),
            sh: draft.program("sh"),
            cc: draft.program("cc1"),
            ld: draft.program("ld"),
        };
        project.units = (0..units).map(|number| project.unit(draft, dice, number, "u")).collect();
        project
    }

    /// A new unit, not yet among those that are built.
    pub(super) fn unit(&self, draft: &mut Draft, dice: &mut SplitMix, number: u64, kind: &str) -> Unit {
        let stem = format!("src/d{:03}/{kind}{number:05}", number / PER_DIRECTORY);
        let source = draft.file(&format!("{stem}.c"), size(dice, 4 << 10, 64 << 10));
        Unit { number, source, object: draft.file(&format!("{stem}.o"), size(dice, 8 << 10, 128 << 10)) }
    }

    /// The headers of a unit, in the order of their inclusion. `edition`: how often it was changed.
    fn includes(&self, unit: Unit, seed: u64, edition: u64) -> Vec<FileId> {
        let rest = &self.headers[self.shared..];
        let mut own = super::dice(seed, 1 << 32 | unit.number);
        let mut included = self.headers[..self.shared].to_vec();
        if rest.is_empty() {
            return included;
        }
        let count = OWN_HEADERS.min(rest.len() as u64);
        // A change replaces the last header by another.
        let picks: Vec<u64> = (0..count + edition).map(|_| own.below(rest.len() as u64)).collect();
        let kept = picks.iter().take(count.saturating_sub(1) as usize).chain(picks.last());
        included.extend(kept.map(|&pick| rest[pick as usize]));
        included
    }

    /// What the processes of one unit do, as children of `make`.
    pub(super) fn compile(
        &self,
        story: &mut Story,
        make: StreamId,
        unit: Unit,
        (seed, edition): (u64, u64),
    ) -> Vec<Step> {
        let before = story.pass.steps.len();
        let sh = story.begin(Some(make), self.sh, PER_PROCESS);
        let cc = story.begin(Some(sh), self.cc, PER_PROCESS);
        story.open(cc, unit.source, PER_PROCESS);
        for header in self.includes(unit, seed, edition) {
            story.open(cc, header, PER_HEADER);
        }
        story.write(cc, unit.object, self.compile);
        story.end(cc);
        story.end(sh);
        story.pass.steps.split_off(before)
    }

    /// Starts make, which reads its file.
    pub(super) fn start(&self, story: &mut Story, parent: Option<StreamId>) -> StreamId {
        let make = story.begin(parent, self.make, PER_PROCESS);
        story.open(make, self.makefile, PER_PROCESS);
        make
    }

    /// Links everything, and ends make.
    pub(super) fn link(&self, story: &mut Story, make: StreamId) {
        let ld = story.begin(Some(make), self.ld, PER_PROCESS);
        self.units.iter().for_each(|unit| story.open(ld, unit.object, PER_HEADER));
        story.write(ld, self.output, self.compile);
        story.end(ld);
        story.end(make);
    }

    /// A whole build, one unit after the other.
    pub(super) fn build(
        &self,
        story: &mut Story,
        parent: Option<StreamId>,
        seed: u64,
        edition: impl Fn(&Unit) -> u64,
    ) {
        let make = self.start(story, parent);
        for unit in &self.units {
            let steps = self.compile(story, make, *unit, (seed, edition(unit)));
            story.pass.steps.extend(steps);
        }
        self.link(story, make);
    }

    /// A whole build, `jobs` units at a time, whose steps come as `dice` say.
    pub(super) fn build_at_once(&self, story: &mut Story, seed: u64, jobs: usize, dice: &mut SplitMix) {
        let make = self.start(story, None);
        let mut left = self.units.iter();
        let mut slots: Vec<VecDeque<Step>> = Vec::new();
        loop {
            while slots.len() < jobs
                && let Some(unit) = left.next()
            {
                let mut steps = VecDeque::from(self.compile(story, make, *unit, (seed, 0)));
                // make starts as many as it may before it waits for one.
                story.pass.steps.extend(steps.pop_front());
                slots.push(steps);
            }
            if slots.is_empty() {
                break;
            }
            let chosen = dice.below(slots.len() as u64) as usize;
            story.pass.steps.extend(slots[chosen].pop_front());
            slots.retain(|steps| !steps.is_empty());
        }
        self.link(story, make);
    }
}
