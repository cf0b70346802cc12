//! The first walk over a tree, and what it costs the source: requests are counted, times are not looked at.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mount::{Mount, wait_for};

/// A tree of directories in two levels, with twelve files in each of the inner ones.
fn tree(root: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for outer in 0..6 {
        for inner in 0..6 {
            let dir = PathBuf::from(format!("outer-{outer}/inner-{inner}"));
            fs::create_dir_all(root.join(&dir)).unwrap();
            for number in 0..12 {
                let file = dir.join(format!("file-{number:02}"));
                fs::write(root.join(&file), "text\n".repeat(number)).unwrap();
                files.insert(file);
            }
        }
    }
    files
}

/// What `find -printf` says of every regular file: path and size.
fn find(root: &Path) -> BTreeSet<(PathBuf, usize)> {
    let found =
        Command::new("find").arg(root).args(["-type", "f", "-size", "-9999", "-printf", "%P %s\\n"]).output();
    let text = String::from_utf8(found.unwrap().stdout).unwrap();
    let line = |line: &str| {
        let (path, size) = line.rsplit_once(' ').unwrap();
        (PathBuf::from(path), size.parse().unwrap())
    };
    text.lines().map(line).collect()
}

fn mounted(source: &Path, point: &Path, window: &str) -> Mount {
    Mount::of(source, point).option("model=none").option(window).start()
}

#[test]
fn a_walk_sees_what_is_there_with_every_window() {
    let (source, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = tree(source.path());
    for window in
        ["inode_window=0", "inode_window=1", "inode_window=64", "inode_window=4096", "inode_window=auto"]
    {
        let mut mount = mounted(source.path(), point.path(), window);
        for _ in 0..2 {
            let found = find(mount.point());
            assert_eq!(
                found.iter().map(|(path, _)| path.clone()).collect::<BTreeSet<_>>(),
                files,
                "{window}"
            );
            assert!(found.iter().all(|(path, size)| fs::metadata(source.path().join(path)).unwrap().len() == *size as u64));
        }
        mount.unmount();
    }
}

#[test]
fn changes_during_a_walk_are_seen_at_once() {
    let (source, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = tree(source.path());
    let mut mount = mounted(source.path(), point.path(), "inode_window=auto");
    for round in 0..12 {
        // A walk is under way while names come and go through the mount.
        let walking = mount.point().to_owned();
        let walk = std::thread::spawn(move || find(&walking));
        let gone = files.pop_first().unwrap();
        fs::remove_file(mount.join(&gone)).unwrap();
        let new = PathBuf::from(format!("outer-3/inner-{}/new-{round}", round % 6));
        fs::write(mount.join(&new), "new").unwrap();
        files.insert(new);
        walk.join().unwrap();
        let found: BTreeSet<PathBuf> = find(mount.point()).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, files);
    }
    mount.unmount();
}

#[test]
fn a_name_that_was_missing_is_there_once_it_is_made() {
    let (source, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(source.path());
    let mut mount = mounted(source.path(), point.path(), "inode_window=auto");
    let name = "outer-1/inner-1/header.h";
    let missing = || fs::metadata(mount.join(name)).is_err();
    assert!(missing());
    let before = mount.count("/requests/lookup/count");
    assert!((0..100).all(|_| missing()));
    assert_eq!(mount.count("/requests/lookup/count"), before, "the kernel remembers");
    fs::write(mount.join(name), "made").unwrap();
    assert!(!missing());
    fs::rename(mount.join(name), mount.join("outer-1/elsewhere.h")).unwrap();
    assert!(missing());
    mount.unmount();
}

/// With a source that answers each request in 1 ms: what `find` looks at is brought side by side, so that few of its
/// requests find nothing on its way.
#[test]
fn jobs_bring_what_a_first_walk_looks_at() {
    let (slow, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = augurfs::fuse::slow::SlowTree::generate(11, 600, 600_000);
    let below = tree.mount(slow.path(), std::time::Duration::from_millis(1)).unwrap();
    let mut mount = mounted(slow.path(), point.path(), "inode_window=auto");
    assert_eq!(find(mount.point()).len(), tree.files());
    let jobs = wait_for("jobs", || Some(mount.count("/prefetch/jobs")).filter(|&jobs| jobs > 10));
    assert!(jobs < 600, "far fewer jobs than files: {jobs}");
    let requests = below.requests();
    assert!(requests < 2 * 600, "nothing is asked for twice: {requests}");
    mount.unmount();
    drop(below);
}

/// What a walk over `files` files of `bytes` bytes in all, on a slow source, has brought from the source, when `visit`
/// has been to each.
fn brought(files: usize, bytes: usize, visit: impl Fn(&Path)) -> Brought {
    let (slow, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = augurfs::fuse::slow::SlowTree::generate(11, files, bytes);
    let below = tree.mount(slow.path(), std::time::Duration::from_millis(1)).unwrap();
    let mut mount = mounted(slow.path(), point.path(), "inode_window=auto");
    let mut dirs: Vec<PathBuf> = entries(mount.point());
    dirs.sort();
    for dir in dirs {
        entries(&dir).iter().for_each(|file| visit(file));
    }
    wait_for("the jobs' end", || (mount.count("/prefetch/in_flight_bytes") == 0).then_some(()));
    let brought = Brought {
        jobs: mount.count("/prefetch/jobs"),
        bytes: mount.count("/prefetch/bytes"),
        requests: below.requests(),
    };
    mount.unmount();
    drop(below);
    brought
}

#[derive(Debug)]
struct Brought {
    jobs: u64,
    bytes: u64,
    requests: u64,
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Files of half a megabyte each.
const LARGE: usize = 512 << 10;
const FILES: usize = 96;

#[test]
fn heads_are_brought_to_a_walk_that_reads_heads() {
    use std::io::Read;
    let heads = brought(FILES, FILES * LARGE, |file| {
        let mut head = [0; 4096];
        fs::File::open(file).unwrap().read_exact(&mut head).unwrap();
    });
    assert!(heads.jobs > FILES as u64 / 2, "it was seen to walk: {heads:?}");
    // 128 KiB of each at most.
    assert!(heads.bytes <= (FILES * (128 << 10)) as u64, "{heads:?}");
    let whole = brought(FILES, FILES * LARGE, |file| {
        fs::read(file).unwrap();
    });
    assert!(whole.bytes > (FILES * LARGE) as u64 / 2, "{whole:?}");
    assert!(heads.requests < whole.requests * 2 / 3, "{heads:?} {whole:?}");
}

#[test]
fn no_data_is_brought_to_a_walk_that_only_looks() {
    let looks = brought(600, 600_000, |file| {
        fs::metadata(file).unwrap();
    });
    assert!(looks.jobs > 0 && looks.bytes == 0, "{looks:?}");
}
