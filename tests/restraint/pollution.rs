//! A walk over more than there is memory for: of what others work with, no more goes than without prefetching.

use std::fs;
use std::path::{Path, PathBuf};

use augurfs::sys::cachestat;

use crate::mount::Mount;
use crate::mount::image::drop_caches;
use crate::mount::process::sh;
use crate::mount::stage::alone;
use crate::mount::wait_for;

/// Memory of the group, in bytes. The daemon and its model take some megabytes of it.
const MEMORY: u64 = 96 << 20;
/// What is worked with: a quarter of it.
const WORKING_SET: usize = 24;
/// What is walked over: twice as much as there is memory, in files that nobody reads twice.
const WALK: usize = 768;
const MIB: usize = 1 << 20;

/// A memory group, gone when dropped.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Self {
        let place = |kind: &str, option: &str| {
            let mounts = augurfs::sys::mountinfo::read().unwrap();
            let here = |mount: &augurfs::sys::mountinfo::Mount| {
                mount.kind == kind && mount.options.split(',').any(|one| option.is_empty() || one == option)
            };
            mounts.into_iter().find(here).map(|mount| mount.point)
        };
        let (at, limit) = match place("cgroup", "memory") {
            Some(at) => (at, "memory.limit_in_bytes"),
            None => (place("cgroup2", "").expect("control groups"), "memory.max"),
        };
        if limit == "memory.max" {
            fs::write(at.join("cgroup.subtree_control"), "+memory").expect("memory can be limited");
        }
        let group = at.join(format!("augurfs-test-{}-{name}", std::process::id()));
        fs::create_dir(&group).expect("a group can be made");
        fs::write(group.join(limit), MEMORY.to_string()).expect("a limit can be set");
        Group(group)
    }

    fn join(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).expect("a process can be moved");
    }

    /// A script in the group.
    fn run(&self, directory: &Path, script: &str) {
        sh(directory, &format!("echo $$ > {}/cgroup.procs; {script}", self.0.display()));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who is in it ends a moment later.
        let gone = || fs::remove_dir(&self.0).is_ok().then_some(());
        if !std::thread::panicking() {
            wait_for("the group to be empty", gone);
        }
    }
}

/// Pages of the working set that are in memory.
fn kept(set: &Path) -> u64 {
    let pages = |number| {
        let file = fs::File::open(set.join(format!("{number}"))).unwrap();
        cachestat::cached(&file, 0, MIB as u64).unwrap().pages
    };
    (0..WORKING_SET).map(pages).sum()
}

/// The walk, after one that taught it, beside a working set. Returns pages of the set that are left, and the statistics.
fn walk(dir: &Path, prefetch: &str) -> (u64, serde_json::Value) {
    let (source, point, set) = (dir.join("source"), dir.join("point"), dir.join("set"));
    let mut mount = Mount::of(&source, &point).option(&format!("prefetch={prefetch}")).start();
    let script = "for d in *; do cat $d/* > /dev/null; done";
    sh(mount.point(), script);
    drop_caches();
    let group = Group::new(prefetch);
    group.join(mount.pid());
    let read_set = "cat * > /dev/null; cat * > /dev/null; cat * > /dev/null";
    group.run(&set, read_set);
    assert!(kept(&set) > 0);
    group.run(mount.point(), script);
    let (left, stats) = (kept(&set), mount.stats());
    mount.unmount();
    (left, stats)
}

#[test]
fn a_walk_larger_than_memory_leaves_the_working_set_as_without_prefetching() {
    let _alone = alone();
    // On a disk: a tmpfs does not give up its pages.
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    for name in ["source", "point", "set"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    for number in 0..WORKING_SET {
        fs::write(root.join(format!("set/{number}")), vec![1; MIB]).unwrap();
    }
    for number in 0..WALK {
        let directory = root.join(format!("source/{:02}", number / 24));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{number:03}")), vec![2; MIB / 4]).unwrap();
    }
    let (without, _) = walk(&root, "off");
    let (with, stats) = walk(&root, "on");
    let set = (WORKING_SET * MIB) as u64 / cachestat::page_size();
    assert!(stats["prefetch"]["files"].as_u64().unwrap() > WALK as u64 / 2, "it was fetched ahead: {stats}");
    assert!(without > set / 2, "without prefetching the walk drives the set out itself: {without} of {set}");
    // The kernel does not choose the same pages each time: one in sixteen is chance.
    assert!(
        with + set / 16 >= without,
        "left of {set} pages: {with}, without prefetching {without}; {stats}"
    );
}
