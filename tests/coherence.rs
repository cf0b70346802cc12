//! Files are edited below while they are read above: what is read is never older than what was seen before, and what was
//! changed is seen within the stated time, whichever way it was changed and on whichever path it is read.
//!
//! Some edits a way; `AUGURFS_EDITS=10000 cargo test --release --test coherence -- --nocapture` makes ten thousand and tells
//! how long the slowest took to be seen; with `own_cache`, `passthrough`, `plain` or `resident` before the `--`, on that way only.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod mount;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mount::map::Map;
use mount::scratch::Scratch;
use mount::watchdog::Stop;
use mount::{Mount, wait_for, wait_up_to};

/// Most that an edit takes on average, with all that looks at it, on a machine that does other things too.
const EDIT: Duration = Duration::from_millis(100);
/// The data paths, and the cache of our own.
const WAYS: [&str; 4] = ["path=resident", "path=passthrough", "path=plain", "cache=own"];
/// With the source watched, and believed for a stated time. (A user's mount is of the second kind.)
const WATCHES: [&str; 2] = ["watch=auto", "watch=off,timeout=20ms"];
/// Far beyond both: a machine may do other things.
const SOON: Duration = Duration::from_secs(10);
/// A file is made of records of this length, each of which names the edit it is from; a page holds whole ones.
const RECORD: usize = 8;
/// Two pages and a part of one.
const RECORDS: usize = 1100;

fn edits() -> u64 {
    std::env::var("AUGURFS_EDITS").map_or(60, |text| text.parse().expect("a number"))
}

fn content(edit: u64, records: usize) -> Vec<u8> {
    format!("{edit:07} ").repeat(records).into_bytes()
}

/// The edits that content is from: `None` for a record that no edit has made.
fn origins(content: &[u8]) -> impl Iterator<Item = Option<u64>> + '_ {
    content.chunks_exact(RECORD).map(|record| std::str::from_utf8(&record[..RECORD - 1]).ok()?.parse().ok())
}

/// The file below, and another name of it.
struct Below {
    file: PathBuf,
    link: PathBuf,
    new: PathBuf,
}

impl Below {
    fn of(scratch: &Scratch) -> Self {
        let file = scratch.write("dir/file", content(0, RECORDS));
        let at = |name| scratch.source().join(name);
        Below { file, link: at("link"), new: at("dir/new") }
    }

    /// Makes an edit, of the kind its number says; how long the file is now.
    fn edit(&self, edit: u64) -> usize {
        let open = |path| File::options().read(true).write(true).open(path).unwrap();
        let long = RECORDS + (edit as usize * 37) % 700;
        match edit % 7 {
            // In place, and as long as before.
            0 => {
                let file = open(&self.file);
                let records = file.metadata().unwrap().len() as usize / RECORD;
                file.write_all_at(&content(edit, records), 0).unwrap();
                records
            }
            1 => {
                fs::write(&self.file, content(edit, long)).unwrap();
                long
            }
            2 => {
                let file = open(&self.file);
                file.set_len((RECORD * 10) as u64).unwrap();
                file.write_all_at(&content(edit, 10), 0).unwrap();
                10
            }
            3 => {
                fs::write(&self.new, content(edit, long)).unwrap();
                fs::rename(&self.new, &self.file).unwrap();
                long
            }
            // By another name.
            4 => {
                let _ = fs::remove_file(&self.link);
                fs::hard_link(&self.file, &self.link).unwrap();
                fs::write(&self.link, content(edit, long)).unwrap();
                long
            }
            // Through a mapping. Of a file that was just made: stores to one that has been written lately may not show in
            // its times, by which it is known where nobody watches.
            5 => {
                fs::write(&self.new, content(0, RECORDS)).unwrap();
                let file = open(&self.new);
                let mut map = Map::of(&file, RECORDS * RECORD, true);
                content(edit, RECORDS).iter().enumerate().for_each(|(at, &byte)| map.set(at, byte));
                map.sync();
                drop((map, file));
                fs::rename(&self.new, &self.file).unwrap();
                RECORDS
            }
            // Content and then times that were never true.
            _ => {
                fs::write(&self.file, content(edit, long)).unwrap();
                open(&self.file).set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(edit)).unwrap();
                long
            }
        }
    }
}

/// What a reader has seen.
#[derive(Debug, Default)]
struct Seen {
    reads: u64,
    /// Reads in which there were records that no edit had made: of a moment at which the file was being cut or grown.
    torn: u64,
}

/// Reads until it is over; nothing may be older than what had been seen before the read began.
fn read_on(above: &PathBuf, known: &AtomicU64, over: &AtomicBool, what: &str) -> Seen {
    let mut seen = Seen::default();
    while !over.load(Ordering::Relaxed) {
        let oldest = known.load(Ordering::SeqCst);
        // Between two edits by rename, a name may lead to a file that has gone.
        let Ok(content) = fs::read(above) else { continue };
        seen.reads += 1;
        let stale = origins(&content).flatten().find(|&origin| origin != 0 && origin < oldest);
        assert_eq!(stale, None, "{what}: {oldest} had been seen before");
        seen.torn += u64::from(origins(&content).any(|origin| origin.is_none()));
    }
    seen
}

fn try_one(way: &str, watch: &str) -> (Duration, Seen) {
    let what = format!("{way},{watch}");
    let scratch = Scratch::new();
    let below = Below::of(&scratch);
    let mount: Mount = scratch.mount("auto").option(way).option(watch).life(EDIT * edits() as u32).start();
    if watch == "watch=auto" {
        wait_for("the source to be watched", || mount.stats()["watch"]["active"].as_bool()?.then_some(()));
    }
    let above = mount.join("dir/file");
    let (known, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut slowest = Duration::ZERO;
    let seen = std::thread::scope(|scope| {
        let stop = Stop(&over);
        let reader = scope.spawn(|| read_on(&above, &known, &over, &what));
        for edit in 1..=edits() {
            let wanted = content(edit, below.edit(edit));
            let start = Instant::now();
            wait_up_to(SOON, &format!("{what}: edit {edit}"), || {
                assert!(!reader.is_finished(), "{what}: the reader has seen something stale");
                fs::read(&above).is_ok_and(|content| content == wanted).then_some(())
            });
            slowest = slowest.max(start.elapsed());
            known.store(edit, Ordering::SeqCst);
            let size = || (fs::metadata(&above).unwrap().len() == wanted.len() as u64).then_some(());
            wait_up_to(SOON, &format!("{what}: the size after edit {edit}"), size);
            if edit % 10 == 0 {
                let map = Map::of(&File::open(&above).unwrap(), wanted.len(), false);
                assert!((0..wanted.len()).all(|at| map.get(at) == wanted[at]), "{what}: mapped, edit {edit}");
            }
        }
        drop(stop);
        reader.join().unwrap()
    });
    (slowest, seen)
}

fn nothing_read_is_older_than_what_was_seen_on(way: &str) {
    assert!(WAYS.contains(&way));
    for watch in WATCHES {
        let (slowest, seen) = try_one(way, watch);
        assert!(seen.reads > 0);
        #[allow(clippy::print_stdout, reason = "the figures of the long run")]
        {
            println!("{way},{watch}: slowest {slowest:?}; {} of {} reads torn", seen.torn, seen.reads);
        }
    }
}

mod nothing_read_above_is_older_than_what_was_seen {
    use super::nothing_read_is_older_than_what_was_seen_on as on;

    #[test]
    fn resident() {
        on("path=resident");
    }

    #[test]
    fn passthrough() {
        on("path=passthrough");
    }

    #[test]
    fn plain() {
        on("path=plain");
    }

    #[test]
    fn own_cache() {
        on("cache=own");
    }
}

/// Who watches by time-outs has to see what an edit left in the file's times, though they are those of the last edit.
#[test]
fn times_that_were_set_back_hide_nothing() {
    for way in WAYS {
        let scratch = Scratch::new();
        let file = scratch.write("file", "one");
        let mount = scratch.mount("auto").option(way).option("watch=off,timeout=20ms").start();
        assert_eq!(fs::read(mount.join("file")).unwrap(), b"one");
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "two").unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
        wait_up_to(SOON, way, || (fs::read(mount.join("file")).unwrap() == b"two").then_some(()));
    }
}
