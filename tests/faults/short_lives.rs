//! Many short processes: when they have ended, nothing of them is left in the daemon.
//!
//! A thousand a way; `AUGURFS_PROCESSES=10000 cargo test --release --test faults short_processes -- --nocapture` runs as many as
//! asked for and tells what was held before and after.

use std::fs;
use std::time::Duration;

use crate::mount::process::sh;
use crate::mount::scratch::Scratch;
use crate::mount::{Mount, wait_for};

/// The data paths, and the cache of our own.
const WAYS: [&str; 4] = ["path=resident", "path=passthrough", "path=plain", "cache=own"];
const FILES: usize = 50;
/// So many at a time: a script of these is over in a few seconds.
const ROUND: usize = 250;
/// Most that one takes on average, on a machine that does other things too.
const EACH: Duration = Duration::from_millis(50);
/// Threads and descriptors that come and go with what is under way: workers of the pool, a question to the control socket.
const FEW: usize = 16;
/// What an allocator keeps for later, and pages of code and data that are met late. A kilobyte kept of each of ten thousand would show.
const SLACK: u64 = 8 << 20;

fn processes() -> usize {
    std::env::var("AUGURFS_PROCESSES").map_or(1000, |text| text.parse().expect("a number"))
}

/// What the daemon holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    threads: usize,
    descriptors: usize,
    resident: u64,
}

impl Held {
    fn by(mount: &Mount) -> Self {
        let count = |what| fs::read_dir(format!("/proc/{}/{what}", mount.pid())).unwrap().count();
        Held { threads: count("task"), descriptors: count("fd"), resident: mount.count("/memory/rss_bytes") }
    }
}

/// Half of them are children that open a file themselves, half of them run a program for it.
fn run(mount: &Mount, processes: usize) {
    for _ in 0..processes.div_ceil(ROUND) {
        let each = format!("(: < f$((i % {FILES}))); cat f$(((i * 7) % {FILES})) > /dev/null; i=$((i + 2))");
        sh(mount.point(), &format!("i=0; while [ $i -lt {ROUND} ]; do {each}; done"));
    }
}

#[test]
fn short_processes_leave_nothing_behind() {
    for way in WAYS {
        let scratch = Scratch::new();
        (0..FILES).for_each(|n| drop(scratch.write(&format!("f{n}"), "text")));
        let mount = scratch.mount("auto").option(way).life(EACH * processes() as u32).start();
        run(&mount, ROUND);
        let before = Held::by(&mount);
        run(&mount, processes());
        // Ours, and those that look.
        wait_for("all lives to be over", || (mount.count("/memory/processes") <= FEW as u64).then_some(()));
        let few_more = |now: usize, before: usize| now <= before + FEW;
        wait_for("the daemon to be as before", || {
            let now = Held::by(&mount);
            (few_more(now.threads, before.threads) && few_more(now.descriptors, before.descriptors))
                .then_some(())
        });
        let after = Held::by(&mount);
        #[allow(clippy::print_stdout, reason = "the figures of the long run")]
        {
            println!("{way}: {} processes: before {before:?}, after {after:?}", processes());
        }
        assert!(after.resident < before.resident + SLACK, "{way}: before {before:?}, after {after:?}");
        assert!(mount.count("/opens/total") > 0, "{way}: none of them was seen");
        assert_eq!(mount.said(), "", "{way}");
    }
}
