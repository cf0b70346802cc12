//! In which order the steps of a pass may be done.
//!
//! A process does its steps one after the other. Its first comes after the step of its parent that
//! begins it. What a process does after the end of one of its children waits for that end. Processes
//! without a parent are the children of one outsider. All else happens side by side. A recorded build with
//! two jobs so stays one with two jobs, whatever the device.
//!
//! What must stay true: a step waits for steps before it only, so that every pass comes to its end, and
//! none is done before all that it waits for.

use super::workload::{Deed, Pass};
use crate::id::{IdMap, StreamId};

/// The outsider: no stream of a pass has this number.
const OUTSIDE: StreamId = StreamId(u32::MAX);

/// What waits for what.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// For each step, how many it still waits for.
    waits: Vec<u32>,
    /// For each step, those that wait for it.
    followers: Vec<Vec<u32>>,
    left: usize,
}

/// Where the streams stand while the order is found.
#[derive(Default)]
struct Threads {
    last: IdMap<StreamId, usize>,
    parents: IdMap<StreamId, StreamId>,
    /// Ends of children that their parent has not waited for.
    ended: IdMap<StreamId, Vec<usize>>,
}

impl Order {
    /// The order of a pass.
    pub(super) fn of(pass: &Pass) -> Order {
        let count = pass.steps.len();
        let mut order = Order { waits: vec![0; count], followers: vec![Vec::new(); count], left: count };
        let mut threads = Threads::default();
        for (number, step) in pass.steps.iter().enumerate() {
            for before in threads.step(number, step.stream, step.deed) {
                order.waits[number] += 1;
                order.followers[before].push(number as u32);
            }
        }
        order
    }

    /// The steps that wait for nothing.
    pub(super) fn first(&self) -> Vec<usize> {
        (0..self.waits.len()).filter(|&step| self.waits[step] == 0).collect()
    }

    /// A step is done. The steps that wait for nothing any more, in their order.
    pub(super) fn done(&mut self, step: usize) -> Vec<usize> {
        self.left -= 1;
        let mut free = Vec::new();
        for follower in std::mem::take(&mut self.followers[step]) {
            let waits = &mut self.waits[follower as usize];
            *waits -= 1;
            if *waits == 0 {
                free.push(follower as usize);
            }
        }
        free
    }

    /// Are all done?
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }
}

impl Threads {
    /// What the step waits for.
    fn step(&mut self, number: usize, stream: StreamId, deed: Deed) -> Vec<usize> {
        let actor = match deed {
            Deed::Begin(origin) => origin.parent.unwrap_or(OUTSIDE),
            _ => stream,
        };
        let mut before = self.ended.remove(&actor).unwrap_or_default();
        before.extend(self.last.insert(actor, number));
        match deed {
            Deed::Begin(_) => {
                self.parents.insert(stream, actor);
                self.last.insert(stream, number);
            }
            Deed::End => {
                let parent = self.parents.get(&stream).copied().unwrap_or(OUTSIDE);
                self.ended.entry(parent).or_default().push(number);
            }
            _ => {}
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Op, Origin};
    use crate::id::{FileId, GroupId, ProgramId, SessionId};
    use crate::sim::workload::Step;
    use proptest::prelude::*;
    use std::time::Duration;

    fn pass(deeds: &[(u32, Deed)]) -> Pass {
        let step = |&(stream, deed)| Step { stream: StreamId(stream), think: Duration::ZERO, deed };
        Pass { steps: deeds.iter().map(step).collect(), streams: 9, groups: 1 }
    }

    fn begin(parent: Option<u32>) -> Deed {
        let parent = parent.map(StreamId);
        Deed::Begin(Origin { parent, program: ProgramId(0), group: GroupId(0), session: SessionId(0) })
    }

    const OPEN: Deed = Deed::Access(FileId(1), Op::Open);

    #[test]
    fn two_at_a_time_stay_two_at_a_time() {
        // A parent with two children at once; the third begins when the first has ended.
        let pass = pass(&[
            (0, begin(None)),
            (1, begin(Some(0))),
            (2, begin(Some(0))),
            (1, OPEN),
            (2, OPEN),
            (1, Deed::End),
            (3, begin(Some(0))),
            (2, Deed::End),
            (3, OPEN),
        ]);
        let mut order = Order::of(&pass);
        assert_eq!(order.first(), [0]);
        assert_eq!(order.done(0), [1]);
        assert_eq!(order.done(1), [2, 3]);
        assert_eq!(order.done(2), [4]);
        assert_eq!(order.done(4), [7]);
        assert_eq!(order.done(7), [] as [usize; 0], "the third child does not wait for the second");
        assert_eq!(order.done(3), [5]);
        assert_eq!(order.done(5), [6]);
        assert_eq!(order.done(6), [8]);
        assert!(!order.is_over());
        order.done(8);
        assert!(order.is_over());
    }

    #[test]
    fn strangers_run_side_by_side_unless_one_had_ended() {
        let pass = pass(&[
            (0, begin(None)),
            (1, begin(None)),
            (0, OPEN),
            (0, Deed::End),
            (2, begin(None)),
            (1, OPEN),
        ]);
        let mut order = Order::of(&pass);
        assert_eq!(order.done(0), [1, 2]);
        assert_eq!(order.done(1), [5]);
        assert_eq!(order.done(2), [3]);
        assert_eq!(order.done(3), [4]);
    }

    proptest! {
        /// Whatever the deeds, everything is done in the end, and nothing twice.
        #[test]
        fn every_pass_comes_to_its_end(deeds in prop::collection::vec((0..6u32, 0..6u32, 0..4u8), 0..60)) {
            let deed = |&(stream, parent, what): &(u32, u32, u8)| match what {
                0 => (stream, begin((parent != stream).then_some(parent))),
                1 => (stream, Deed::End),
                _ => (stream, OPEN),
            };
            let pass = pass(&deeds.iter().map(deed).collect::<Vec<_>>());
            let mut order = Order::of(&pass);
            let mut ready = order.first();
            let mut done = vec![false; pass.steps.len()];
            while let Some(step) = ready.pop() {
                prop_assert!(!std::mem::replace(&mut done[step], true));
                ready.extend(order.done(step));
            }
            prop_assert!(order.is_over() && done.into_iter().all(|done| done));
        }
    }
}
