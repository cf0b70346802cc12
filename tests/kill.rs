//! The daemon is killed while programs read, write, map, sync and list: the path is usable again at once, what had been synced
//! is whole, what was never touched is unchanged, and the model is the one that was saved last.
//!
//! A few rounds a data path; `AUGURFS_KILLS=100 cargo test --release --test kill -- --nocapture` does a hundred and tells how
//! long the path was away at the longest. On a machine that does nothing else that has to be less than a second, which is
//! asserted then.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod mount;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use augurfs::sys::mountinfo;
use mount::map::Map;
use mount::process::{output_within, sh};
use mount::scratch::Scratch;
use mount::watchdog::Stop;
use mount::{Mount, PATHS, PATIENCE, augurfs, wait_for};
use rustix::process::{Pid, Signal, kill_process};

/// The data paths, and the cache of our own.
const WAYS: [&str; 4] = ["path=resident", "path=passthrough", "path=plain", "cache=own"];
/// What is promised on a machine with nothing else to do.
const SOON: Duration = Duration::from_secs(1);
/// Files that nobody changes.
const STILL: usize = 40;
/// One record of a file that grows.
const RECORD: usize = 64;

/// How often each way is killed, and is time asserted?
fn rounds() -> (usize, bool) {
    let asked = std::env::var("AUGURFS_KILLS").ok().map(|text| text.parse::<usize>().expect("a number"));
    (asked.unwrap_or(8).div_ceil(WAYS.len()), asked.is_some())
}

fn record(number: u64) -> Vec<u8> {
    let mut line = format!("{number:0>width$}", width = RECORD - 1).into_bytes();
    line.push(b'\n');
    line
}

/// What programs do at the time. Errors are what they get when the daemon dies.
struct Load<'a> {
    root: &'a Path,
    over: &'a AtomicBool,
    /// Records that were synced, by writer.
    synced: &'a [AtomicU64; 2],
}

impl Load<'_> {
    /// Appends records, each synced before it is counted.
    fn append(&self, writer: usize) -> std::io::Result<()> {
        let mut file =
            File::options().create(true).append(true).open(self.root.join(format!("grows-{writer}")))?;
        while !self.over.load(Ordering::Relaxed) {
            let next = self.synced[writer].load(Ordering::SeqCst);
            file.write_all(&record(next))?;
            file.sync_data()?;
            self.synced[writer].store(next + 1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Reads everything and compares what must not change.
    fn read(&self) -> std::io::Result<()> {
        while !self.over.load(Ordering::Relaxed) {
            for entry in fs::read_dir(self.root)? {
                let path = entry?.path();
                let content = fs::read(&path)?;
                if let Some(number) = still(&path) {
                    assert!(content == content_of(number), "{} is damaged as read above", path.display());
                }
            }
        }
        Ok(())
    }

    /// Makes, renames and removes files.
    fn churn(&self) -> std::io::Result<()> {
        let (new, old) = (self.root.join("new"), self.root.join("old"));
        while !self.over.load(Ordering::Relaxed) {
            fs::write(&new, "short-lived")?;
            fs::rename(&new, &old)?;
            fs::remove_file(&old)?;
        }
        Ok(())
    }

    /// Writes to the same place again and again.
    fn overwrite(&self) -> std::io::Result<()> {
        let path = self.root.join("same-place");
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        while !self.over.load(Ordering::Relaxed) {
            file.write_all_at(&[b'x'; 8192], 0)?;
            file.sync_all()?;
        }
        Ok(())
    }
}

fn content_of(number: usize) -> Vec<u8> {
    format!("{number} ").repeat(3000).into_bytes()
}

fn still(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix("still-")?.parse().ok()
}

fn sow(source: &Path) {
    for number in 0..STILL {
        fs::write(source.join(format!("still-{number}")), content_of(number)).unwrap();
    }
}

/// Is everything there that had been synced, and nothing of it damaged?
fn check(source: &Path, synced: &[AtomicU64; 2], what: &str) {
    for number in 0..STILL {
        let content = fs::read(source.join(format!("still-{number}"))).unwrap();
        assert!(content == content_of(number), "{what}: still-{number} is damaged");
    }
    for (writer, synced) in synced.iter().enumerate() {
        let synced = synced.load(Ordering::SeqCst);
        let content = fs::read(source.join(format!("grows-{writer}"))).unwrap_or_default();
        let records = content.chunks(RECORD).enumerate();
        let whole = records.take_while(|(number, bytes)| *bytes == record(*number as u64)).count() as u64;
        assert!(whole >= synced, "{what}: {synced} records were synced, {whole} are whole");
        // The one under way may be there too, if nobody has been told.
        assert!(content.len() as u64 <= (synced + 1) * RECORD as u64, "{what}: more than was written");
    }
}

/// Kills the daemon in the middle of things. How long the path was away comes back.
fn kill(mount: &mut Mount, after: Duration, synced: &[AtomicU64; 2]) -> Duration {
    let over = AtomicBool::new(false);
    let root = mount.point().to_owned();
    let load = Load { root: &root, over: &over, synced };
    std::thread::scope(|scope| {
        let _stop = Stop(&over);
        let load = &load;
        scope.spawn(|| load.append(0));
        scope.spawn(|| load.append(1));
        scope.spawn(|| load.read());
        scope.spawn(|| load.churn());
        scope.spawn(|| load.overwrite());
        std::thread::sleep(after);
        mount.signal(Signal::KILL);
        let start = Instant::now();
        wait_for("the path", || (!mount.is_mounted() && fs::read_dir(&root).is_ok()).then_some(()));
        start.elapsed()
    })
}

#[test]
fn a_kill_under_full_load_costs_nothing_that_was_synced() {
    let (rounds, timed) = rounds();
    let mut longest = Duration::ZERO;
    for way in WAYS {
        for round in 0..rounds {
            let scratch = Scratch::new();
            let source = scratch.source();
            sow(&source);
            // Every other time over itself: then the real tree has to be there again.
            let point = if round % 2 == 0 { scratch.point() } else { source.clone() };
            let model = scratch.join("model");
            let mut mount = Mount::of(&source, &point).option(way).model(&model).start();
            sh(&point, "cat still-1 still-2 still-3 > /dev/null");
            mount.signal(Signal::USR1);
            wait_for("the model", || model.exists().then_some(()));
            let saved = fs::read(&model).unwrap();
            let synced = [AtomicU64::new(0), AtomicU64::new(0)];
            let what = format!("{way}, round {round}");
            longest =
                longest.max(kill(&mut mount, Duration::from_millis(20 + 37 * (round as u64 % 8)), &synced));
            check(&source, &synced, &what);
            assert_eq!(fs::read(&model).unwrap(), saved, "{what}: the model is not the one saved last");
            let told = output_within(augurfs().args(["model", "check"]).arg(&model), PATIENCE);
            assert!(told.status.success(), "{what}: {}", String::from_utf8_lossy(&told.stdout));
        }
    }
    let kills = rounds * WAYS.len();
    #[allow(clippy::print_stdout, reason = "the figure the README tells")]
    {
        println!("{kills} of {kills} kills survived; the path was away for {longest:?} at the longest");
    }
    assert!(!timed || longest < SOON, "away for {longest:?}");
}

/// The processes a process has started.
fn children(pid: u32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let lists =
        tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

/// Kills guardian and daemon: a dead mount is left.
fn leave_a_dead_mount(mount: &mut Mount) {
    for guardian in children(mount.pid()) {
        kill_process(Pid::from_raw(guardian).unwrap(), Signal::KILL).unwrap();
    }
    mount.signal(Signal::KILL);
    mount.wait_for_end();
    let told = fs::read_dir(mount.point()).map(drop).unwrap_err();
    assert!(matches!(told.raw_os_error(), Some(libc::ENOTCONN | libc::ECONNABORTED)), "{told}");
}

#[test]
fn a_dead_mount_is_cleaned_up_by_the_next_start() {
    for path in PATHS {
        for over_itself in [false, true] {
            let scratch = Scratch::new();
            scratch.write("file", "text");
            let point: PathBuf = if over_itself { scratch.source() } else { scratch.point() };
            let mut first = Mount::of(&scratch.source(), &point).path(path).start();
            leave_a_dead_mount(&mut first);
            let mut next = Mount::of(&scratch.source(), &point).path(path).start();
            assert_eq!(fs::read_to_string(next.join("file")).unwrap(), "text", "{path}");
            next.unmount();
            assert_eq!(mountinfo::at(&point).unwrap(), None, "{path}: nothing of the dead one is left");
            let seen = fs::read_dir(&point).unwrap().count();
            assert_eq!(seen, usize::from(over_itself), "{path}");
        }
    }
}

/// A page that was stored to and not written out when the daemon died: nobody hangs.
#[test]
fn a_dirty_page_does_not_keep_the_path() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", vec![b'x'; 4096]);
        let mut mount = scratch.mount(path).start();
        let file = File::options().read(true).write(true).open(mount.join("file")).unwrap();
        let mut map = Map::of(&file, 4096, true);
        map.set(0, b'y');
        mount.signal(Signal::KILL);
        wait_for(path, || (!mount.is_mounted()).then_some(()));
        mount.wait_for_end();
        drop((map, file));
        let content = fs::read(scratch.source().join("file")).unwrap();
        assert!(content[0] == b'x' || content[0] == b'y', "{path}");
        assert!(content[1..].iter().all(|&byte| byte == b'x'), "{path}");
    }
}
