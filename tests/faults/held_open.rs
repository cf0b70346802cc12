//! Very many files held open, more than there may be, and memory after all of it is forgotten.
//!
//! Some thousand; `ulimit -n 210000; AUGURFS_HELD=100000 cargo test --release --test faults held_open -- --nocapture` holds as
//! many as asked for and tells what that costs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::brittle::{Fault, Op};
use crate::errors::{attempt, on_each_way};
use crate::mount::image::drop_caches;
use crate::mount::scratch::Scratch;
use crate::mount::{Mount, PATHS, wait_for};

/// What the daemon holds apart from what others have open: directories and files met lately, by its own limits.
const ITS_OWN: usize = 2_400;
/// Most that a file takes on average, on a machine that does other things too.
const EACH: Duration = Duration::from_millis(10);
/// A limit that is soon reached.
const TIGHT: u32 = 256;

fn wanted() -> usize {
    std::env::var("AUGURFS_HELD").map_or(5000, |text| text.parse().expect("a number"))
}

/// As many descriptors as this process may have: those of the test stay open at the same time.
fn raise_own_limit() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
}

fn name(number: usize) -> String {
    format!("d{}/f{number}", number / 500)
}

fn tree(scratch: &Scratch, files: usize) {
    (0..files).for_each(|number| drop(scratch.write(&name(number), number.to_string())));
}

fn descriptors(mount: &Mount) -> usize {
    fs::read_dir(format!("/proc/{}/fd", mount.pid())).unwrap().count()
}

fn content(file: &File) -> String {
    let mut content = [0; 16];
    let length = file.read_at(&mut content, 0).unwrap();
    String::from_utf8_lossy(&content[..length]).into_owned()
}

#[test]
fn files_held_open_cost_one_descriptor_each_or_none() {
    raise_own_limit();
    let files = wanted();
    let scratch = Scratch::new();
    tree(&scratch, files);
    for path in PATHS {
        let mut mount = scratch.mount(path).life(EACH * files as u32).start();
        let held: Vec<_> = (0..files).map(|number| File::open(mount.join(name(number))).unwrap()).collect();
        let (with, memory) = (descriptors(&mount), mount.count("/memory/rss_bytes"));
        // On `resident` nobody says that they are open; else each is, and that is all.
        let most = if path == "resident" { ITS_OWN } else { files + ITS_OWN };
        assert!(with <= most, "{path}: {with} descriptors for {files} files");
        for number in (0..files).step_by(37) {
            assert_eq!(content(&held[number]), number.to_string(), "{path}");
        }
        drop(held);
        wait_for(&format!("{path}: the descriptors"), || (descriptors(&mount) <= ITS_OWN).then_some(()));
        #[allow(clippy::print_stdout, reason = "the figures of the long run")]
        {
            println!("{path}: {files} files: {with} descriptors, {memory} bytes resident");
        }
        assert_eq!(mount.said(), "", "{path}");
        mount.unmount();
    }
}

/// The usual limit of a shell is low, and the one above it is not.
#[test]
fn the_daemon_takes_the_descriptors_it_may_have() {
    let scratch = Scratch::new();
    let mount = scratch.mount("plain").start();
    let limits = fs::read_to_string(format!("/proc/{}/limits", mount.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<_> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{line}");
}

/// Who opens too many hears so, and everybody goes on when some are closed.
#[test]
fn a_daemon_without_descriptors_says_so_and_lives() {
    let scratch = Scratch::new();
    tree(&scratch, 500);
    for path in ["passthrough", "plain"] {
        let mount = scratch.mount(path).descriptors(TIGHT).start();
        let mut held = Vec::new();
        let refusal = (0..500).find_map(|number| match File::open(mount.join(name(number))) {
            Ok(file) => {
                held.push(file);
                None
            }
            Err(error) => Some(error.raw_os_error()),
        });
        assert!(held.len() > TIGHT as usize / 4, "{path}: {} could be opened", held.len());
        let expected = [Errno::MFILE, Errno::NFILE].map(|error| Some(error.raw_os_error()));
        assert!(refusal.is_some_and(|error| expected.contains(&error)), "{path}: {refusal:?}");
        for number in (0..held.len()).step_by(11) {
            assert_eq!(content(&held[number]), number.to_string(), "{path}");
        }
        held.truncate(TIGHT as usize / 8);
        wait_for(&format!("{path}: files to open again"), || fs::read(mount.join(name(499))).ok());
        assert!(mount.stats()["pid"].is_u64(), "{path}");
    }
}

/// What the source says of its machine's table of files, or of the daemon's.
#[test]
fn a_full_table_of_files_reaches_the_caller() {
    // A file each: what has been opened once stays open for a moment where opens are no requests.
    on_each_way(&["one", "other", "good"], |way, source, mount| {
        for (file, error) in [("one", Errno::NFILE), ("other", Errno::MFILE)] {
            let error = error.raw_os_error();
            source.break_down(file, Op::Open, Fault::Error(error));
            assert_eq!(attempt(Op::Read, &mount.join(file)), Err(Some(error)), "{way}");
            assert_eq!(attempt(Op::Read, &mount.join("good")), Ok(()), "{way}");
            source.mend();
            assert_eq!(attempt(Op::Read, &mount.join(file)), Ok(()), "{way}");
        }
    });
}

/// What is known of a file goes when the kernel forgets it.
#[test]
fn memory_falls_when_the_kernel_forgets() {
    let files = wanted().max(20_000);
    let scratch = Scratch::new();
    tree(&scratch, files);
    for path in PATHS {
        let mount = scratch.mount(path).option("prefetch=off").life(EACH * files as u32).start();
        let memory = || mount.count("/memory/rss_bytes");
        let before = memory();
        for number in 0..files {
            fs::metadata(mount.join(name(number))).unwrap();
        }
        let full = memory();
        wait_for(&format!("{path}: memory to fall; {before} before, {full} with all of them"), || {
            drop_caches();
            (memory() < full - (full - before) / 2).then_some(())
        });
        #[allow(clippy::print_stdout, reason = "the figures of the long run")]
        {
            println!("{path}: {files} files: {before} before, {full} with all of them, {} after", memory());
        }
    }
}
