//! The program as a user meets it: bad input gets one sentence and the right exit code, and leaves nothing mounted.
//!
//! Needs root and /dev/fuse: some tests put mounts of their own in the way. They are made by hand, without any daemon behind
//! them, so that what is dead or hangs here is so for certain.
#![allow(clippy::unwrap_used)]

mod hand;

use hand::HandMount;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nothing here waits for a device, so a command that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

fn augurfs(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_augurfs"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env_remove("RUST_LOG");
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("augurfs {} hangs", arguments.join(" "));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Exactly one sentence, in the form all of them have, and this exit code.
fn refused(arguments: &[&str], code: i32, sentence: &str) {
    let output = augurfs(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    let line = arguments.join(" ");
    assert_eq!(output.status.code(), Some(code), "augurfs {line}: {said}");
    assert_eq!(said.lines().count(), 1, "augurfs {line}: {said}");
    assert!(said.starts_with("augurfs: ") && said.contains(sentence), "augurfs {line}: {said}");
    assert!(output.stdout.is_empty(), "augurfs {line}");
}

fn mounts_below(directory: &Path) -> usize {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().filter(|line| line.contains(&format!(" {}/", directory.display()))).count()
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(place.dir.path().join("src")).unwrap();
        fs::create_dir(place.dir.path().join("mnt")).unwrap();
        fs::write(place.dir.path().join("file"), "").unwrap();
        place
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn what_is_not_understood_is_2() {
    let place = Place::new();
    let (src, mnt) = (place.path("src"), place.path("mnt"));
    refused(&[], 2, "usage: the following required arguments were not provided: <SOURCE> <MOUNTPOINT>");
    refused(&[&src], 2, "<MOUNTPOINT>");
    refused(&[&src, &mnt, "more"], 2, "unexpected argument 'more'");
    refused(&[&src, &mnt, "--fast"], 2, "unexpected argument '--fast'");
    refused(&["unmount"], 2, "<MOUNTPOINT>");
    refused(&["stats", &mnt, "--xml"], 2, "unexpected argument '--xml'");
    for (option, sentence) in [
        ("fast", "unknown option 'fast'"),
        ("paht=plain", "did you mean 'path'?"),
        ("path=fast", "choose one of auto, resident, passthrough, plain"),
        ("budget=1", "out of range: from 64K to 1T"),
        ("join_wait=1h", "out of range: from 0s to 10s"),
        ("model", "needs a value: model=PATH"),
        ("ro=yes", "takes no value"),
    ] {
        refused(&[&src, &mnt, "-o", option], 2, sentence);
    }
    assert_eq!(mounts_below(place.dir.path()), 0);
}

#[test]
fn what_cannot_be_mounted_is_32() {
    let place = Place::new();
    let (src, mnt, file, absent) =
        (place.path("src"), place.path("mnt"), place.path("file"), place.path("absent"));
    for foreground in [&[][..], &["-f"]] {
        let attempt =
            |arguments: &[&str], sentence: &str| refused(&[foreground, arguments].concat(), 32, sentence);
        attempt(&[&absent, &mnt], &format!("cannot mount: source {absent} does not exist"));
        attempt(&[&file, &mnt], &format!("cannot mount: source {file} is not a directory"));
        attempt(&[&src, &absent], &format!("cannot mount: mountpoint {absent} does not exist"));
        attempt(&[&src, &file], &format!("cannot mount: mountpoint {file} is not a directory"));
        let below_a_file = format!("model={file}/x.model");
        attempt(&[&src, &mnt, "-o", &below_a_file], "cannot be written");
        let behind = format!("model={mnt}/x.model");
        attempt(&[&src, &mnt, "-o", &behind], "lies below the mountpoint");
    }
    assert_eq!(mounts_below(place.dir.path()), 0);
}

#[test]
fn what_is_not_ours_is_1() {
    let place = Place::new();
    let mnt = place.path("mnt");
    refused(&["stats", &mnt], 1, &format!("no statistics: {mnt} is not a mountpoint"));
    refused(&["unmount", &mnt], 1, &format!("cannot unmount: {mnt} is not a mountpoint"));
    refused(&["unmount", "/proc"], 1, "cannot unmount: /proc is a mount of type proc, not of augurfs");
    assert!(Path::new("/proc/self").exists());
}

#[test]
fn help_and_version_are_0() {
    let help = augurfs(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success() && help.stderr.is_empty());
    for word in ["augurfs SOURCE MOUNTPOINT", "unmount", "stats", "demo", "join_wait=DURATION"] {
        assert!(text.contains(word), "{word}");
    }
    let version = augurfs(&["--version"]);
    assert_eq!(version.stdout, concat!("augurfs ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
}

#[test]
fn a_mount_that_hangs_holds_nobody_up() {
    let place = Place::new();
    let (src, mnt) = (place.path("src"), place.path("mnt"));
    let hanging = HandMount::new(Path::new(&mnt));
    let start = Instant::now();
    refused(&["stats", &mnt], 1, &format!("no daemon answers for {mnt}: "));
    assert!(start.elapsed() < Duration::from_secs(5));
    refused(&[&src, &mnt], 32, &format!("cannot mount: mountpoint {mnt} does not answer"));
    let start = Instant::now();
    assert!(augurfs(&["unmount", &mnt]).status.success());
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(mounts_below(place.dir.path()), 0);
    drop(hanging);
}

#[test]
fn a_dead_mount_is_unmounted() {
    let place = Place::new();
    let mnt = place.path("mnt");
    let mut dead = HandMount::new(Path::new(&mnt));
    dead.die();
    assert!(augurfs(&["unmount", &mnt]).status.success());
    assert_eq!(mounts_below(place.dir.path()), 0);
}

/// What is refused here is the source, so that this test needs no mount to succeed.
#[test]
fn a_dead_mount_in_the_way_is_removed() {
    let place = Place::new();
    let (src, mnt) = (place.path("src"), place.path("mnt"));
    let mut dead = HandMount::new(Path::new(&mnt));
    dead.die();
    let bad_model = format!("model={}/x.model", place.path("file"));
    let output = augurfs(&[&src, &mnt, "-o", &bad_model]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("removing the mount that a daemon which has died left")
            && said.contains("cannot be written"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(32));
    assert_eq!(mounts_below(place.dir.path()), 0);
}
