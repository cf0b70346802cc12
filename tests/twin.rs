//! The same operations on a mount and on a plain directory: results, errors, attributes, listings and content must be the same,
//! and what lies in the source afterwards too.
//!
//! Needs root and /dev/fuse. The operation lists are made from fixed seeds; `AUGURFS_TWIN_SEED=n` tries one more. A list that
//! showed a difference once stands in `regressions`, shrunk.
#![allow(clippy::unwrap_used)]

mod mount;
mod twin {
    pub(crate) mod outcome;
    pub(crate) mod pair;
    pub(crate) mod regressions;
    pub(crate) mod snapshot;
    pub(crate) mod step;
    pub(crate) mod strategy;
    pub(crate) mod world;
}

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mount::scratch::Scratch;
use mount::watchdog::Stop;
use mount::{Mount, PATHS};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use twin::pair::Pair;
use twin::step::Step;

/// Each is the start of its own sequence of operation lists.
const SEEDS: [u8; 2] = [1, 2];
/// Lists for each seed.
const CASES: u32 = 40;

fn seeds() -> Vec<u8> {
    let extra = std::env::var("AUGURFS_TWIN_SEED").ok().and_then(|seed| seed.parse().ok());
    SEEDS.into_iter().chain(extra).collect()
}

/// Runs all regressions and all random lists over one mount.
fn twins_agree(path: &str) {
    let scratch = Scratch::new();
    let mount = scratch.mount(path).start();
    assert_eq!(mount.stats()["path"]["active"], path);
    for (name, steps) in twin::regressions::all() {
        if let Err(difference) = run(&scratch, &mount, &steps) {
            panic!("{name} on {path}: {difference}");
        }
    }
    for seed in seeds() {
        random_lists_agree(&scratch, &mount, seed, CASES);
    }
}

/// Runs the lists that begin with this seed.
fn random_lists_agree(scratch: &Scratch, mount: &Mount, seed: u8, cases: u32) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(config, random);
    let (done, all) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&twin::strategy::steps(), |steps| {
        let succeeded = run(scratch, mount, &steps).map_err(TestCaseError::fail)?;
        done.set(done.get() + succeeded);
        all.set(all.get() + steps.len());
        Ok(())
    });
    if let Err(failure) = result {
        panic!("seed {seed} on {}: {failure}", mount.stats()["path"]["active"]);
    }
    // Lists of nothing but errors would prove little.
    assert!(done.get() * 3 > all.get(), "{} of {} steps succeeded", done.get(), all.get());
}

fn run(scratch: &Scratch, mount: &Mount, steps: &[Step]) -> Result<usize, String> {
    Pair::new(scratch, mount).run(steps)
}

#[test]
fn a_resident_mount_behaves_like_a_directory() {
    twins_agree("resident");
}

#[test]
fn a_passthrough_mount_behaves_like_a_directory() {
    twins_agree("passthrough");
}

#[test]
fn a_plain_mount_behaves_like_a_directory() {
    twins_agree("plain");
}

/// Each in its own directory, so that none has a reason to see anything of the others.
#[test]
fn many_at_once_behave_like_one() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        std::thread::scope(|scope| {
            for seed in 100..106 {
                let (scratch, mount) = (&scratch, &mount);
                scope.spawn(move || random_lists_agree(scratch, mount, seed, CASES / 2));
            }
        });
    }
}

/// What the kernel has forgotten it asks for again, of files that are open, moved or without a name too.
#[test]
fn a_forgetful_kernel_sees_the_same() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).option("watch=off,timeout=0s").start();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // Names and inodes only: dropping pages would mean to write them first.
                    std::fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            let _stop = Stop(&stop);
            random_lists_agree(&scratch, &mount, 7, CASES / 2);
        });
    }
}

fn open(mount: &Mount, name: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(mount.join(name), flags, Mode::from_raw_mode(0o644))
}

/// What FUSE in the kernel does not pass on is refused, and changes nothing.
#[test]
fn what_the_kernel_keeps_from_us_is_refused_as_such() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", vec![7; 3 * 4096]);
        let mount = scratch.mount(path).start();
        let file = open(&mount, "file", OFlags::RDWR).unwrap();
        for mode in [FallocateFlags::COLLAPSE_RANGE, FallocateFlags::INSERT_RANGE] {
            assert_eq!(rustix::fs::fallocate(&file, mode, 0, 4096), Err(Errno::OPNOTSUPP), "{path}");
        }
        let root = open(&mount, ".", OFlags::DIRECTORY).unwrap();
        assert_eq!(open(&mount, ".", OFlags::TMPFILE | OFlags::RDWR).err(), Some(Errno::OPNOTSUPP), "{path}");
        let stat = rustix::fs::statat(&root, "file", AtFlags::empty()).unwrap();
        assert_eq!((stat.st_size, stat.st_nlink), (3 * 4096, 1), "{path}");
        assert_eq!(std::fs::read(scratch.source().join("file")).unwrap(), vec![7; 3 * 4096]);
    }
}
