//! Judgements on the devices of the simulator, in their own time, under what misleads: data in one piece, jobs that
//! need a name first, and a machine that has no time for us.

use std::collections::BTreeMap;

use super::*;
use crate::device::{Device, Kind, Span, SplitMix};
use proptest::prelude::*;

const SIZE: u64 = 1 << 30;

/// How the jobs are laid out, and what else takes time.
#[derive(Clone, Copy, Debug)]
struct Load {
    kind: Kind,
    seed: u64,
    /// From one file to the next, bytes; 0 is anywhere.
    stride: u64,
    /// Processor time of a job, nanoseconds, on two processors that others use as well.
    work: u64,
    /// One in so many is held up for 20 ms; 0 is none.
    hiccup: u64,
    /// Others' requests at the source all the time.
    foreground: usize,
}

const CALM: Load = Load { kind: Kind::Disk, seed: 1, stride: 0, work: 0, hiccup: 0, foreground: 0 };

/// Has `jobs` jobs done, as many at once as `pace` says.
fn run(pace: &mut Pace, load: Load, jobs: u64) {
    let mut device = Device::new(load.kind, SIZE, load.seed);
    let (mut draws, mut running) = (SplitMix(load.seed), BTreeMap::new());
    let (mut now, mut begun) = (0, 0);
    while begun < jobs || !running.is_empty() {
        while running.len() < pace.width() && begun < jobs {
            let offset = if load.stride == 0 {
                (draws.next() % (SIZE >> 12)) << 12
            } else {
                begun * load.stride % SIZE
            };
            device.arrive(now, begun, Span { offset, len: 4096 });
            running.insert(begun, (now, running.len() + 1));
            begun += 1;
        }
        now = now.max(device.next_done().unwrap());
        while let Some(number) = device.finish(now) {
            let flying = running.len();
            let (began, flying_then) = running.remove(&number).unwrap();
            now += load.work / 2;
            let held_up = if load.hiccup > 0 && draws.next() % load.hiccup == 0 { 20_000_000 } else { 0 };
            let took = now + held_up - began;
            pace.record(4096, Duration::from_nanos(took), flying.max(flying_then) + load.foreground);
        }
    }
}

fn judged(load: Load) -> Ways {
    let mut pace = Pace::new();
    run(&mut pace, load, 450);
    pace.ways()
}

#[test]
fn it_begins_on_the_safe_side() {
    let pace = Pace::new();
    assert_eq!((pace.ways(), pace.width()), (Ways::Unknown, ONE_HEAD));
}

#[test]
fn bytes_in_one_piece_are_still_read_by_one_head() {
    // A deep queue is served as fast here as a lone request far away: only the depth tells.
    for stride in [64 << 10, 200 << 10] {
        assert_eq!(judged(Load { stride, ..CALM }), Ways::One, "{stride}");
        assert_eq!(judged(Load { stride, kind: Kind::Net, ..CALM }), Ways::Many, "{stride}");
    }
}

#[test]
fn a_busy_machine_does_not_make_a_head_of_the_net() {
    let busy = Load { kind: Kind::Net, work: 150_000, hiccup: 8, ..CALM };
    assert_eq!(judged(busy), Ways::Many);
    assert_eq!(judged(Load { kind: Kind::Disk, ..busy }), Ways::One);
}

#[test]
fn names_large_files_and_what_was_in_memory_say_nothing() {
    let mut pace = Pace::new();
    for _ in 0..1000 {
        assert!(!pace.record(0, Duration::from_millis(5), 32));
        assert!(!pace.record(1 << 30, Duration::from_secs(9), 32));
    }
    assert_eq!((pace.ways(), pace.width()), (Ways::Unknown, ONE_HEAD));
    for _ in 0..1000 {
        pace.record(4096, Duration::from_micros(5), pace.width());
    }
    assert_eq!(pace.ways(), Ways::Unknown);
}

#[test]
fn questions_without_an_answer_do_not_hold_the_rest_back() {
    let mut pace = Pace::new();
    let busy = Load { foreground: 30, ..CALM };
    run(&mut pace, busy, u64::from(SOON));
    assert_eq!(pace.width(), DEEP.width, "the first question");
    run(&mut pace, busy, u64::from(VAIN));
    assert_eq!((pace.ways(), pace.width()), (Ways::Unknown, ONE_HEAD));
    run(&mut pace, busy, u64::from(AGAIN) - 1);
    assert_eq!(pace.width(), ONE_HEAD);
}

#[test]
fn a_source_that_changes_is_seen_again() {
    let mut pace = Pace::new();
    run(&mut pace, CALM, 400);
    assert_eq!((pace.ways(), pace.width()), (Ways::One, ONE_HEAD));
    run(&mut pace, Load { kind: Kind::Net, ..CALM }, 4 * u64::from(AGAIN));
    assert_eq!(pace.ways(), Ways::Many);
    run(&mut pace, CALM, 16 * u64::from(AGAIN));
    assert_eq!(pace.ways(), Ways::One);
}

proptest! {
    #[test]
    fn one_head_and_many_ways_are_told_apart(
        seed: u64,
        stride in prop_oneof![Just(0), 16u64..128],
        work in 0u64..100_000,
        foreground in 0usize..2,
    ) {
        let load = Load { seed, stride: stride << 12, work, foreground, ..CALM };
        prop_assert_eq!(judged(load), Ways::One);
        prop_assert_eq!(judged(Load { kind: Kind::Net, ..load }), Ways::Many);
    }
}

#[test]
fn what_lies_in_one_piece_is_not_taken_for_many_ways() {
    // Faster than anything that is taken for a device: there may be no verdict at all.
    assert_ne!(judged(Load { stride: 4096, ..CALM }), Ways::Many);
}
