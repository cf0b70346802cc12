//! A source whose offsets in a directory mean something only to the handle that gave them (sshfs is one): listing it in many
//! requests never shows it an offset it does not know, and shows each entry once.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};

use crate::mount::scratch::Scratch;
use crate::mount::{Mount, PATHS, wait_for};
use crate::strict::Strict;

/// More than a request's buffer, and than what a request reads for the engine.
const MANY: usize = 3000;
/// A getdents call of this size gives a handful of entries.
const SMALL: usize = 256;

fn name(number: usize) -> String {
    format!("file-{number:05}")
}

fn names() -> Vec<String> {
    (0..MANY).map(name).collect()
}

/// Runs a test on each path, with a source of `MANY` files.
fn on_each_path(test: impl Fn(&str, &Strict, &Mount)) {
    for path in PATHS {
        let scratch = Scratch::new();
        let source = Strict::mount(&scratch.source(), names());
        let mount = scratch.mount(path).option("timeout=0s").start();
        test(path, &source, &mount);
        assert_eq!(source.refused(), 0, "{path}: the source was asked for an offset it never gave there");
    }
}

fn listed(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn open(dir: &Path) -> OwnedFd {
    rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// What one small getdents call gives: names, each with the offset behind it. Nothing at the end.
fn some(dir: &OwnedFd) -> Vec<(String, u64)> {
    let mut buffer = Vec::with_capacity(SMALL);
    let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut found = Vec::new();
    while found.is_empty() || !raw.is_buffer_empty() {
        let Some(entry) = raw.next() else { break };
        let entry = entry.unwrap();
        found.push((entry.file_name().to_str().unwrap().to_owned(), entry.next_entry_cookie()));
    }
    found
}

#[test]
fn a_large_directory_is_listed_whole_again_and_again() {
    on_each_path(|path, source, mount| {
        for round in 0..3 {
            assert_eq!(listed(mount.point()), names(), "{path}, round {round}");
        }
        source.put("file-new");
        assert!(wait_for("the new file", || {
            let found = listed(mount.point());
            (found.len() == MANY + 1).then(|| found.contains(&"file-new".to_owned()))
        }));
    });
}

#[test]
fn a_listing_goes_on_from_wherever_it_has_been() {
    on_each_path(|path, _, mount| {
        let dir = open(mount.point());
        let mut places = Vec::new();
        loop {
            let found = some(&dir);
            if found.is_empty() {
                break;
            }
            places.extend(found);
        }
        assert_eq!(places.len(), MANY, "{path}");
        // Also by a descriptor of its own, which was given none of these offsets.
        for at in [&dir, &open(mount.point())] {
            for number in [MANY - 2, 3, 1500, 0, 2999, 700] {
                rustix::fs::seek(at, SeekFrom::Start(places[number].1)).unwrap();
                let next = some(at).first().map(|(name, _)| name.clone());
                assert_eq!(next, places.get(number + 1).map(|(name, _)| name.clone()), "{path}: {number}");
            }
        }
    });
}

#[test]
fn listings_that_nobody_ends_are_bounded() {
    on_each_path(|path, source, mount| {
        let begun: Vec<_> = (0..200)
            .map(|_| {
                let dir = open(mount.point());
                assert!(!some(&dir).is_empty(), "{path}");
                dir
            })
            .collect();
        // 64 are held, and a few are in use for a moment.
        assert!(wait_for("descriptors to be closed", || (source.open() <= 70).then_some(true)), "{path}");
        for dir in &begun {
            let mut count = 0;
            while !some(dir).is_empty() {
                count += 1;
            }
            assert!(count > 0, "{path}");
        }
    });
}
