//! A mount with a page cache of its own. Needs root and /dev/fuse.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod mount;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use mount::image::Image;
use mount::map::Map;
use mount::scratch::Scratch;
use mount::{Mount, wait_for};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The smallest cache, so that it overflows soon.
fn start(scratch: &Scratch, more: &str) -> Mount {
    scratch.mount("auto").option("cache=own,cache_size=1M,block_size=4K").option(more).start()
}

fn own(mount: &Mount, figure: &str) -> u64 {
    mount.stats()["own_cache"][figure].as_u64().unwrap()
}

fn bytes(len: usize, salt: u64) -> Vec<u8> {
    (0..len as u64).map(|at| ((at * 2_654_435_761 + salt * 97) >> 7) as u8).collect()
}

#[test]
fn reads_are_served_from_the_own_cache_which_stays_bounded() {
    let scratch = Scratch::new();
    let (small, large) = (bytes(300_000, 1), bytes(3_000_000, 2));
    scratch.write("small", &small);
    scratch.write("large", &large);
    let mount = start(&scratch, "policy=lru");
    assert_eq!(mount.stats()["cache"], "own");
    assert_eq!(mount.stats()["path"]["active"], "plain");
    assert_eq!(fs::read(mount.join("small")).unwrap(), small);
    let misses = own(&mount, "misses");
    assert_eq!(misses, 300_000_u64.div_ceil(4096));
    assert_eq!(fs::read(mount.join("small")).unwrap(), small);
    assert_eq!(own(&mount, "misses"), misses, "the second time everything is there");
    assert_eq!(fs::read(mount.join("large")).unwrap(), large);
    assert!(own(&mount, "held_bytes") <= 1 << 20);
    assert!(own(&mount, "evictions") > 0 && own(&mount, "bookkeeping_bytes") > 0);
}

#[test]
fn a_loop_longer_than_the_cache_is_found_and_told() {
    let scratch = Scratch::new();
    scratch.write("index", bytes(4_000_000, 3));
    let mount = start(&scratch, "policy=dear");
    // One process, whose laps are one program's.
    let script = "for lap in 1 2 3 4 5; do cat index > /dev/null; done";
    mount::process::sh(mount.point(), script);
    let stats = mount.stats();
    let patterns = stats["own_cache"]["patterns"].as_array().unwrap();
    assert!(patterns.iter().any(|of| of["name"] == "cat" && of["pattern"] == "looping"), "{patterns:?}");
    let changes = stats["own_cache"]["changes"].as_array().unwrap();
    assert!(
        changes
            .iter()
            .any(|change| change.as_str().unwrap().starts_with("cat: sequential -> looping at reference")),
        "{changes:?}"
    );
    let references = 5 * 4_000_000_u64.div_ceil(4096);
    assert!(own(&mount, "misses") < references * 9 / 10, "lru would miss them all");
}

#[test]
fn files_can_be_mapped() {
    let scratch = Scratch::new();
    scratch.write("file", bytes(20_000, 4));
    let mount = start(&scratch, "watch=auto");
    let file = File::options().read(true).write(true).open(mount.join("file")).unwrap();
    let mut map = Map::of(&file, 20_000, true);
    assert_eq!(map.get(10_000), bytes(20_000, 4)[10_000]);
    map.set(10_000, 77);
    map.sync();
    let mut room = [0];
    file.read_exact_at(&mut room, 10_000).unwrap();
    assert_eq!(room, [77], "what was mapped is read");
    assert_eq!(fs::read(scratch.source().join("file")).unwrap()[10_000], 77);
    file.write_all_at(&[78], 10_001).unwrap();
    assert_eq!(map.get(10_001), 78, "what was written is mapped");
}

#[test]
fn what_is_learned_is_fetched_into_the_own_cache() {
    let scratch = Scratch::new();
    for number in 0..8 {
        scratch.write(&format!("f{number}"), bytes(10_000, number));
    }
    let mount = start(&scratch, "predictor=match");
    let job = "for n in 0 1 2 3 4 5 6 7; do cat f$n > /dev/null; sleep 0.1; done";
    mount::process::sh(mount.point(), &format!("setsid -w sh -c '{job}'"));
    // What was read goes, the order stays learned.
    for number in 0..8 {
        scratch.write(&format!("f{number}"), bytes(10_000, number + 100));
    }
    wait_for("blocks that were fetched ahead and used", || {
        mount::process::sh(mount.point(), &format!("setsid -w sh -c '{job}'"));
        (own(&mount, "ahead_used") > 0).then_some(())
    });
}

#[test]
fn an_error_of_the_device_reaches_the_reader_and_is_not_kept() {
    let (image, scratch) = (Image::new(), Scratch::new());
    let content = bytes(400_000, 9);
    fs::write(image.point().join("file"), &content).unwrap();
    let mount =
        Mount::of(image.point(), &scratch.point()).option("cache=own,cache_size=1M,predictor=none").start();
    let file = File::open(mount.join("file")).unwrap();
    let mut room = vec![0; 8192];
    file.read_exact_at(&mut room, 0).unwrap();
    let repair = image.break_device();
    // What our own cache does not hold has to come from the device now.
    let below = File::open(image.point().join("file")).unwrap();
    rustix::fs::fadvise(&below, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    for _ in 0..2 {
        let error = file.read_exact_at(&mut room, 200_000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    }
    file.read_exact_at(&mut room, 0).unwrap();
    assert_eq!(room, content[..8192], "what is held needs no device");
    let held = own(&mount, "held_bytes");
    repair();
    file.read_exact_at(&mut room, 200_000).unwrap();
    assert_eq!(room, content[200_000..208_192]);
    assert!(own(&mount, "held_bytes") > held);
    drop((below, file));
    drop(mount);
}

#[test]
fn bookkeeping_is_little_beside_a_full_cache() {
    let scratch = Scratch::new();
    scratch.write("large", bytes(20 << 20, 10));
    let mount = scratch.mount("auto").option("cache=own,cache_size=8M,predictor=none,policy=default").start();
    mount::process::sh(mount.point(), "for lap in 1 2 3; do cat large > /dev/null; done");
    let (held, books) = (own(&mount, "held_bytes"), own(&mount, "bookkeeping_bytes"));
    assert_eq!(held, 8 << 20);
    assert!(books <= held / 20, "{books} of bookkeeping for {held}");
}

/// What happens to the two files.
#[derive(Clone, Debug)]
enum Deed {
    Read {
        file: usize,
        at: u64,
        len: usize,
    },
    Write {
        file: usize,
        at: u64,
        len: usize,
        below: bool,
    },
    Truncate {
        file: usize,
        size: u64,
        below: bool,
    },
    Append {
        file: usize,
        len: usize,
    },
    /// Another file takes the place of this one.
    Replace {
        file: usize,
        len: usize,
        below: bool,
    },
    Swap,
    /// So long that versions are old enough to be kept, where changes are not told of.
    Rest,
}

fn deed() -> impl Strategy<Value = Deed> {
    const MOST: u64 = 60_000;
    let place = || (0..2usize, 0..MOST, 1..20_000usize);
    prop_oneof![
        6 => place().prop_map(|(file, at, len)| Deed::Read { file, at, len }),
        4 => (place(), any::<bool>()).prop_map(|((file, at, len), below)| Deed::Write { file, at, len, below }),
        1 => (0..2usize, 0..MOST, any::<bool>()).prop_map(|(file, size, below)| Deed::Truncate { file, size, below }),
        1 => (0..2usize, 1..9_000usize).prop_map(|(file, len)| Deed::Append { file, len }),
        1 => (0..2usize, 1..30_000usize, any::<bool>()).prop_map(|(file, len, below)| Deed::Replace { file, len, below }),
        1 => Just(Deed::Swap),
        2 => Just(Deed::Rest),
    ]
}

fn act(mount: &Mount, scratch: &Scratch, number: u64, deed: &Deed, below_too: bool) {
    let name = |file: usize| format!("file{file}");
    let place = |file: usize, below: bool| -> PathBuf {
        if below && (below_too || matches!(deed, Deed::Read { .. })) {
            scratch.source().join(name(file))
        } else {
            mount.join(name(file))
        }
    };
    match *deed {
        Deed::Read { file, at, len } => {
            let read = |path: PathBuf| {
                let mut room = vec![0; len];
                let file = File::open(path).unwrap();
                let mut have = 0;
                while have < len {
                    match file.read_at(&mut room[have..], at + have as u64).unwrap() {
                        0 => break,
                        more => have += more,
                    }
                }
                room.truncate(have);
                room
            };
            assert_eq!(read(place(file, false)), read(place(file, true)), "deed {number}: {deed:?}");
        }
        Deed::Write { file, at, len, below } => {
            let file = File::options().write(true).open(place(file, below)).unwrap();
            file.write_all_at(&bytes(len, number), at).unwrap();
        }
        Deed::Truncate { file, size, below } => {
            File::options().write(true).open(place(file, below)).unwrap().set_len(size).unwrap();
        }
        Deed::Append { file, len } => {
            use std::io::Write;
            let mut file = File::options().append(true).open(place(file, false)).unwrap();
            file.write_all(&bytes(len, number)).unwrap();
        }
        Deed::Replace { file, len, below } => {
            let new = place(file, below).with_extension("new");
            fs::write(&new, bytes(len, number)).unwrap();
            fs::rename(new, place(file, below)).unwrap();
        }
        Deed::Rest => std::thread::sleep(std::time::Duration::from_millis(25)),
        Deed::Swap => {
            fs::rename(mount.join("file0"), mount.join("third")).unwrap();
            fs::rename(mount.join("file1"), mount.join("file0")).unwrap();
            fs::rename(mount.join("third"), mount.join("file1")).unwrap();
        }
    }
}

/// Random reads, writes, truncations and renames through the mount and below it: every byte read is the source's.
///
/// The kernel may believe what it knows of names and sizes for a while; here it is told to keep nothing.
#[test]
fn no_byte_is_ever_stale() {
    // Where changes below are told of, what is written through the mount stays in the cache. They are told of a moment
    // later, so there everything goes through the mount.
    for (policy, watch) in [("lru", "off"), ("default", "off"), ("default", "auto")] {
        let below = watch == "off";
        let scratch = Scratch::new();
        let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
        let dice = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mount = start(&scratch, &format!("policy={policy},timeout=0s,watch={watch}"));
        let deeds = prop::collection::vec(deed(), 1..60);
        let done = TestRunner::new_with_rng(config, dice).run(&deeds, |deeds| {
            let directory = if below { scratch.source() } else { mount.point().to_owned() };
            fs::write(directory.join("file0"), bytes(50_000, 5)).unwrap();
            fs::write(directory.join("file1"), bytes(9_000, 6)).unwrap();
            for (number, deed) in deeds.iter().enumerate() {
                act(&mount, &scratch, number as u64, deed, below);
            }
            Ok(())
        });
        done.unwrap();
        assert!(own(&mount, "hits") > 0 && own(&mount, "invalidated") > 0);
    }
}
