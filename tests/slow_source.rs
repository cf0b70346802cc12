//! The slow source as a user of it meets it: mounted, read, counted, unmounted. Needs /dev/fuse and
//! root (or fusermount3).
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use augurfs::fuse::slow::SlowTree;

const LATENCY: Duration = Duration::from_millis(2);

fn all_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn is_mounted(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == path.to_str())
}

#[test]
fn every_request_is_counted_and_takes_its_latency_and_nothing_stays_mounted() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = SlowTree::generate(3, 40, 200_000);
    let mount = tree.mount(scratch.path(), LATENCY).unwrap();
    let begun = Instant::now();

    let files = all_files(scratch.path());
    let bytes: usize = files.iter().map(|path| fs::read(path).unwrap().len()).sum();

    assert_eq!((files.len(), bytes as u64), (tree.files(), tree.bytes()));
    // One lookup and at least one read for each file; all of them one after the other.
    let requests = mount.requests();
    assert!(requests >= 2 * 40, "{requests} requests");
    assert!(begun.elapsed() >= LATENCY * (2 * 40), "too fast: {:?}", begun.elapsed());

    for path in &files {
        fs::read(path).unwrap();
    }
    assert_eq!(mount.requests(), requests, "everything is in the kernel's caches");

    drop(mount);
    assert!(!is_mounted(scratch.path()));
}

#[test]
fn readers_in_parallel_do_not_wait_for_each_other() {
    let scratch = tempfile::tempdir().unwrap();
    let slow = Duration::from_millis(50);
    let mount = SlowTree::generate(5, 24, 24_000).mount(scratch.path(), slow).unwrap();
    let files = all_files(scratch.path());
    let begun = Instant::now();
    thread::scope(|scope| {
        for path in &files {
            scope.spawn(move || fs::read(path).unwrap());
        }
    });
    // One after the other they would need 24 times two latencies.
    assert!(begun.elapsed() < slow * 12, "{:?}", begun.elapsed());
    drop(mount);
}

#[test]
fn a_busy_mount_is_detached_and_its_user_can_finish() {
    let scratch = tempfile::tempdir().unwrap();
    let mount = SlowTree::generate(9, 2, 4096).mount(scratch.path(), LATENCY).unwrap();
    let path = all_files(scratch.path()).remove(0);
    let mut open = fs::File::open(&path).unwrap();
    drop(mount);
    assert!(!is_mounted(scratch.path()));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut open, &mut text).unwrap();
    assert!(text.starts_with("text-0000"));
}
