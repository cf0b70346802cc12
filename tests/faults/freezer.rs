//! The freezer of control groups, as suspend and container runtimes use it: who is frozen while a request is under way holds up
//! nobody, and after the thaw everything is as if nothing had been.
//!
//! Needs cgroup2. A caller that waits for an answer cannot be frozen before it has it, on any FUSE file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::brittle::{Fault, Op};
use crate::errors::on_each_way;
use crate::hang::{answered, at_once, begin, others_go_on, the_directory_too};
use crate::mount::process::Running;
use crate::mount::wait_for;
use crate::on_each_path;

/// More than there are threads that read requests.
const CALLERS: usize = 12;
/// How often all are frozen and thawed.
const ROUNDS: u64 = 20;

/// A control group of its own, gone when dropped; whoever is in it then goes back.
struct Freezer {
    parent: PathBuf,
    group: PathBuf,
}

impl Freezer {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let hierarchy = mounts.find(|mount| mount[2] == "cgroup2").expect("cgroup2 is mounted")[1].to_owned();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own =
            own.lines().find_map(|line| line.strip_prefix("0::/")).expect("we are in a group").to_owned();
        let parent = Path::new(&hierarchy).join(own);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = parent.join(format!("augurfs-test-{}-{number}", std::process::id()));
        fs::create_dir(&group).unwrap();
        Freezer { parent, group }
    }

    fn take(&self, process: u32) {
        fs::write(self.group.join("cgroup.procs"), process.to_string()).unwrap();
    }

    /// A shell script that runs in it.
    fn run(&self, directory: &Path, script: &str) -> Running {
        let procs = self.group.join("cgroup.procs");
        let script = format!("echo $$ > {}; {script}", procs.display());
        let mut command = Command::new("sh");
        command.args(["-ec", &script]).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
        Running::start(&mut command)
    }

    fn freeze(&self) {
        fs::write(self.group.join("cgroup.freeze"), "1").unwrap();
    }

    fn thaw(&self) {
        fs::write(self.group.join("cgroup.freeze"), "0").unwrap();
    }

    /// Is everybody in it?
    fn is_frozen(&self) -> bool {
        fs::read_to_string(self.group.join("cgroup.events")).unwrap().contains("frozen 1")
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.thaw();
        let members = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        members.lines().for_each(|process| drop(fs::write(self.parent.join("cgroup.procs"), process)));
        // Those that have ended leave a moment later.
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn callers_frozen_during_a_request_hold_up_nobody() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        let freezer = Freezer::new();
        for op in [Op::Read, Op::Truncate] {
            let what = format!("{way}: {op:?}");
            source.break_down("bad", op, Fault::Hang);
            let script = if op == Op::Read { "cat bad" } else { "truncate -s 2 bad" };
            let callers: Vec<_> = (0..CALLERS).map(|_| freezer.run(mount.point(), script)).collect();
            wait_for(&what, || (source.waiting() > 0).then_some(()));
            freezer.freeze();
            others_go_on(&what, mount);
            the_directory_too(&what, mount);
            // They get their answer while they are frozen, and what they held is free.
            source.mend();
            wait_for(&format!("{what}: all to be frozen"), || freezer.is_frozen().then_some(()));
            others_go_on(&what, mount);
            at_once(&what, Op::Read, mount.join("bad"));
            at_once(&what, Op::Write, mount.join("bad"));
            freezer.thaw();
            for caller in callers {
                assert_eq!(caller.finish(), Some(0), "{what}");
            }
        }
    });
}

#[test]
fn a_frozen_daemon_goes_on_where_it_was() {
    on_each_path(|path, scratch, mount| {
        ["one", "two", "gone"].iter().for_each(|name| drop(scratch.write(name, "old")));
        let freezer = Freezer::new();
        freezer.take(mount.pid());
        freezer.freeze();
        wait_for(&format!("{path}: the daemon to be frozen"), || freezer.is_frozen().then_some(()));
        let asked = [
            begin(Op::Read, mount.join("one")),
            begin(Op::Create, mount.join("new")),
            begin(Op::Unlink, mount.join("gone")),
            begin(Op::List, mount.point().to_owned()),
        ];
        // Nobody below waits for it, though it watches the source.
        at_once(path, Op::Write, scratch.source().join("two"));
        at_once(path, Op::Create, scratch.source().join("three"));
        let told = asked[0].recv_timeout(Duration::from_millis(50));
        assert_eq!(told, Err(RecvTimeoutError::Timeout), "{path}: somebody else has answered");
        freezer.thaw();
        for caller in &asked {
            assert_eq!(answered(caller), Ok(()), "{path}");
        }
        assert!(!scratch.source().join("gone").exists() && scratch.source().join("new").exists());
        wait_for(&format!("{path}: the edit below"), || {
            (fs::read(mount.join("two")).unwrap() == b"xyd" && mount.join("three").exists()).then_some(())
        });
        assert!(mount.is_mounted() && mount.said().is_empty(), "{path}: {}", mount.said());
    });
}

/// As a suspend does it, at any moment. A caller may have to wait for a daemon that is frozen already: then not all of them can
/// be, but the thaw must bring everybody back.
#[test]
fn all_frozen_at_once_and_thawed_are_all_there_again() {
    on_each_path(|path, scratch, mount| {
        (0..40).for_each(|n| drop(scratch.write(&format!("f{n}"), "text")));
        let freezer = Freezer::new();
        freezer.take(mount.pid());
        let work = "until [ -e stop ]; do cat f*; echo more >> log$$; rm log$$; done; echo over > end$$";
        let callers: Vec<_> = (0..4).map(|_| freezer.run(mount.point(), work)).collect();
        for round in 0..ROUNDS {
            freezer.freeze();
            // Some in the middle of it, some when all that can be frozen is.
            std::thread::sleep(Duration::from_millis(round % 5 * 7));
            freezer.thaw();
            at_once(path, Op::Read, mount.join(format!("f{round}")));
            at_once(path, Op::Write, mount.join("f0"));
        }
        fs::write(scratch.source().join("stop"), "").unwrap();
        let ends = callers.into_iter().map(Running::finish).collect::<Vec<_>>();
        assert_eq!(ends, [Some(0); 4], "{path}");
        let left = fs::read_dir(scratch.source()).unwrap().map(|entry| entry.unwrap().file_name());
        let ends = left.filter(|name| name.to_string_lossy().starts_with("end")).count();
        assert_eq!(ends, 4, "{path}");
    });
}
