//! A source without space left: whoever writes hears of it, what was written is there, and what was there before stays whole.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::mount::image::Image;
use crate::mount::process::sh;
use crate::mount::scratch::Scratch;
use crate::mount::{Mount, wait_for};

/// The data paths, and the cache of our own.
const WAYS: [&str; 4] = ["path=resident", "path=passthrough", "path=plain", "cache=own"];
/// No divisor of a page: the last one does not fit as a whole.
const CHUNK: usize = 50_001;

/// Bytes that tell where they belong.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| (at / 7 + at / 4096) as u8).collect()
}

/// Writes until there is no room; how much the file system has taken.
fn fill(file: &mut File) -> usize {
    let mut taken = 0;
    loop {
        match file.write(&pattern(taken, CHUNK)) {
            Ok(length) => taken += length,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                return taken;
            }
        }
        assert!(taken < 1 << 30, "it is never full");
    }
}

fn try_one(what: &str, source: &Path, mount: &Mount) {
    let kept = pattern(3, 100_000);
    fs::write(mount.join("kept"), &kept).unwrap();
    let mut file = File::create_new(mount.join("filled")).unwrap();
    let taken = fill(&mut file);
    // All that was taken has its place: nobody is told a second time.
    file.sync_all().unwrap();
    let expected = pattern(0, taken);
    assert!(fs::read(mount.join("filled")).unwrap() == expected, "{what}: above, {taken} bytes");
    assert!(fs::read(source.join("filled")).unwrap() == expected, "{what}: below, {taken} bytes");
    assert!(taken > 500_000, "{what}: only {taken} bytes");
    // Content that cannot be replaced is not lost by who writes anew and renames, nor by who appends.
    let anew = fs::write(mount.join("anew"), pattern(0, 200_000));
    assert_eq!(anew.unwrap_err().kind(), ErrorKind::StorageFull, "{what}");
    let appended =
        File::options().append(true).open(mount.join("kept")).unwrap().write_all(&pattern(0, 200_000));
    assert_eq!(appended.unwrap_err().kind(), ErrorKind::StorageFull, "{what}");
    assert!(fs::read(source.join("kept")).unwrap().starts_with(&kept), "{what}");
    assert!(fs::read(mount.join("kept")).unwrap() == fs::read(source.join("kept")).unwrap(), "{what}");
    drop(file);
    fs::remove_file(mount.join("filled")).unwrap();
    // What is removed has its space until the kernel has said that it forgets it, a moment after the removal.
    wait_for(&format!("{what}: room"), || fs::write(mount.join("anew"), pattern(0, 200_000)).ok());
    assert!(fs::read(source.join("anew")).unwrap() == pattern(0, 200_000), "{what}");
    assert_eq!(mount.said(), "", "{what}");
}

#[test]
fn a_full_source_in_memory_tells_the_writer() {
    for way in WAYS {
        let scratch = Scratch::new();
        let source = scratch.source();
        rustix::mount::mount("tiny", &source, "tmpfs", MountFlags::empty(), c"size=2m").unwrap();
        let _off = Off(&source);
        let mount = scratch.mount("auto").option(way).start();
        try_one(way, &source, &mount);
        drop(mount);
    }
}

/// On a device, where room is found when data is written back.
#[test]
fn a_full_device_tells_the_writer() {
    for way in WAYS {
        let (scratch, image) = (Scratch::new(), Image::new());
        // Most of it at once, so that the rest is soon full.
        sh(image.point(), "fallocate -l 52M ballast");
        let mount = Mount::of(image.point(), &scratch.point()).option(way).start();
        try_one(way, image.point(), &mount);
        drop(mount);
    }
}

struct Off<'a>(&'a Path);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    }
}
