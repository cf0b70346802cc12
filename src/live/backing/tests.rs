//! On a real directory. The mount is played by a second directory, which is all the same to the workers.

use super::*;
use crate::engine::Parts;
use crate::event::Span;
use crate::id::{FileId, JobId};
use crate::sys::cachestat;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

struct Bench {
    source: TempDir,
    mount: TempDir,
    names: Arc<Mutex<Names>>,
    backing: DirBacking,
    berth: Arc<Berth>,
}

/// On the disk of the project, for a tmpfs never gives up a page.
fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn bench() -> Bench {
    let (source, mount) = (on_disk(), on_disk());
    let names = Arc::new(Mutex::new(Names::new()));
    let berth = Arc::new(Berth::default());
    let root = Arc::new(OwnedFd::from(File::open(source.path()).unwrap()));
    let backing = DirBacking::new(root, names.clone(), berth.clone(), true);
    Bench { source, mount, names, backing, berth }
}

impl Bench {
    fn attach(&self) {
        self.berth.set(File::open(self.mount.path()).unwrap().into());
    }

    /// Runs a job in a thread of its own, so that one that blocks fails the test instead of hanging it.
    fn warm(&self, path: &str, target: Target, bytes: u64) -> Outcome {
        self.warm_parts(path, target, bytes, Parts::NONE)
    }

    fn warm_parts(&self, path: &str, target: Target, bytes: u64, parts: Parts) -> Outcome {
        let file = self.names.lock().intern_path(path.as_bytes());
        let job = Job { id: JobId(1), file, target, bytes, parts };
        let backing =
            DirBacking::new(self.backing.source.clone(), self.names.clone(), self.berth.clone(), true);
        let (to, from) = mpsc::channel();
        std::thread::spawn(move || to.send(backing.warm(&job, &mut Scratch::default(), &|_| ())));
        from.recv_timeout(Duration::from_secs(60)).expect("the job blocks")
    }
}

/// A file of `len` bytes that is on the disk and not in memory.
fn cold(path: &Path, len: usize) {
    fs::write(path, vec![7; len]).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    drop_pages(path);
    assert_eq!(pages(path, len), 0);
}

fn drop_pages(path: &Path) {
    fadvise(File::open(path).unwrap(), 0, None, Advice::DontNeed).unwrap();
}

fn pages(path: &Path, len: usize) -> u64 {
    cachestat::cached(File::open(path).unwrap(), 0, len as u64).unwrap().pages
}

fn warmed(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Warmed { bytes, .. } => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_is_brought_once() {
    let bench = bench();
    let path = bench.source.path().join("file");
    let len = 3 * lower::STEP as usize + 5000;
    cold(&path, len);
    let outcome = bench.warm("file", Target::Data, u64::MAX);
    assert_eq!(warmed(outcome), len as u64);
    assert_eq!(pages(&path, len), len.div_ceil(4096) as u64);
    let facts = outcome.facts().unwrap();
    assert_eq!(facts.size, len as u64);
    assert!(!facts.directory && facts.inode != 0);
    let again = bench.warm("file", Target::Data, u64::MAX);
    assert!(matches!(again, Outcome::Resident { .. }), "{again:?}");
}

#[test]
fn no_more_is_brought_than_asked_for() {
    let bench = bench();
    let path = bench.source.path().join("file");
    cold(&path, 32 << 20);
    assert_eq!(warmed(bench.warm("file", Target::Data, 1 << 20)), 1 << 20);
    // The kernel's own read-ahead may go on a little.
    assert!(pages(&path, 32 << 20) <= (24 << 20) / 4096);
}

#[test]
fn of_a_large_file_its_parts_are_brought() {
    let bench = bench();
    let path = bench.source.path().join("file");
    cold(&path, 32 << 20);
    let mut parts = Parts::NONE;
    [0, 8 << 20].into_iter().for_each(|offset| parts.add(Span { offset, len: 1 }));
    assert_eq!(warmed(bench.warm_parts("file", Target::Data, u64::MAX, parts)), 512 << 10);
    let file = File::open(&path).unwrap();
    let cached =
        |offset| lower::is_cached(&OwnedFd::from(file.try_clone().unwrap()), Span { offset, len: 256 << 10 });
    assert!(cached(0) && cached(8 << 20) && !cached(30 << 20));
}

#[test]
fn through_the_mount_the_source_keeps_nothing_new() {
    let bench = bench();
    let (below, above) = (bench.source.path().join("file"), bench.mount.path().join("file"));
    let len = 2 * lower::STEP as usize;
    cold(&below, len);
    cold(&above, len);
    bench.attach();
    assert_eq!(warmed(bench.warm("file", Target::Data, u64::MAX)), len as u64);
    assert_eq!((pages(&below, len), pages(&above, len)), (0, len as u64 / 4096));

    let again = bench.warm("file", Target::Data, u64::MAX);
    assert!(matches!(again, Outcome::Resident { .. }), "{again:?}");
    assert_eq!(pages(&below, len), 0, "resident above: the source is left alone");
}

#[test]
fn pages_that_were_there_before_stay() {
    let bench = bench();
    let (below, above) = (bench.source.path().join("file"), bench.mount.path().join("file"));
    let len = 2 * lower::STEP as usize;
    cold(&below, len);
    fs::read(&below).unwrap();
    cold(&above, len);
    bench.attach();
    let outcome = bench.warm("file", Target::Data, u64::MAX);
    assert!(matches!(outcome, Outcome::Resident { .. }), "nothing came from the device: {outcome:?}");
    assert_eq!((pages(&below, len), pages(&above, len)), (len as u64 / 4096, len as u64 / 4096));
}

#[test]
fn a_fifo_is_never_opened_and_a_link_never_followed() {
    let bench = bench();
    let root = bench.source.path();
    let status = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
    assert!(status.success());
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/file"), b"text").unwrap();
    symlink("dir/file", root.join("link")).unwrap();
    symlink("dir", root.join("dirlink")).unwrap();
    symlink("/etc/passwd", root.join("away")).unwrap();
    for name in ["fifo", "link", "away", "dirlink/file", "dir", "missing"] {
        assert_eq!(bench.warm(name, Target::Data, u64::MAX), Outcome::Failed, "{name}");
    }
    assert_eq!(bench.warm("..", Target::Attributes, 0), Outcome::Failed);
    // Their inodes may be looked at all the same.
    for name in ["fifo", "link", "away"] {
        assert!(matches!(bench.warm(name, Target::Attributes, 0), Outcome::Warmed { .. }), "{name}");
        assert!(matches!(bench.warm(name, Target::Facts, 0), Outcome::Resident { .. }), "{name}");
    }
}

#[test]
fn attributes_of_files_and_directories() {
    let bench = bench();
    for root in [bench.source.path(), bench.mount.path()] {
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/file"), b"text").unwrap();
    }
    bench.attach();
    let facts = bench.warm("dir/file", Target::Attributes, 0).facts().unwrap();
    assert_eq!((facts.size, facts.directory), (4, false));
    assert!(bench.warm("dir", Target::Attributes, 0).facts().unwrap().directory);
    assert!(bench.warm("", Target::Attributes, 0).facts().unwrap().directory);
    assert_eq!(bench.warm("dir/none", Target::Attributes, 0), Outcome::Failed);
}

#[test]
fn facts_tell_where_a_file_lies() {
    let bench = bench();
    cold(&bench.source.path().join("file"), 65536);
    let facts = bench.warm("file", Target::Facts, 0).facts().unwrap();
    let file = File::open(bench.source.path().join("file")).unwrap();
    assert_eq!(facts.extent, fiemap::first_extent(&file));
    assert_eq!(bench.warm("file", Target::Data, u64::MAX).facts(), Some(facts));
}

#[test]
fn a_name_that_is_gone_fails() {
    let bench = bench();
    let outcome = bench.backing.warm(
        &Job { id: JobId(1), file: FileId(99), target: Target::Data, bytes: 1, parts: Parts::NONE },
        &mut Scratch::default(),
        &|_| (),
    );
    assert_eq!(outcome, Outcome::Failed);
}

/// A terabyte of nothing with a page in the middle: what is not there is neither looked up nor read.
#[test]
fn holes_are_passed_over() {
    use std::os::unix::fs::FileExt;
    let bench = bench();
    let path = bench.source.path().join("sparse");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&[7; 4096], 1 << 39).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let Outcome::Warmed { bytes, .. } = bench.warm("sparse", Target::Data, u64::MAX) else { panic!() };
    assert!((1..=32 << 20).contains(&bytes), "{bytes}");
    assert!(cachestat::cached(&file, 1 << 39, 4096).unwrap().all());
}

#[test]
fn a_job_that_is_called_off_ends_between_portions() {
    let bench = bench();
    fs::write(bench.source.path().join("file"), "text").unwrap();
    let file = bench.names.lock().intern_path(b"file");
    let job = Job { id: JobId(1), file, target: Target::Data, bytes: u64::MAX, parts: Parts::NONE };
    let mut scratch = Scratch::default();
    scratch.called_off.store(true, Ordering::Relaxed);
    assert_eq!(bench.backing.warm(&job, &mut scratch, &|_| ()), Outcome::Withdrawn);
}
