//! Locks reach the source, wherever the kernel tells of closed files: not on `resident`.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use augurfs::sys::lock::{self, Mode, Range};
use augurfs::sys::proc::is_in_flock;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::mount::process::Running;
use crate::mount::wait_for;
use crate::{on, on_each_path};

/// Where locks are requests.
const TOLD: [&str; 2] = ["passthrough", "plain"];

fn open(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

/// Is a lock of the whole file to be had? It is given up again.
fn is_free(file: &File) -> bool {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            rustix::fs::flock(file, FlockOperation::Unlock).unwrap();
            true
        }
        Err(error) => {
            assert_eq!(error, Errno::AGAIN);
            false
        }
    }
}

/// A program that waits for a lock of `path`, takes it and ends.
fn waiting_for(path: &Path) -> Running {
    let waiting = Running::start(Command::new("flock").arg(path).arg("true").stdin(Stdio::null()));
    wait_for("the program to ask", || is_in_flock(waiting.0.id()).then_some(()));
    waiting
}

#[test]
fn whole_file_locks_exclude_above_and_below() {
    on(&TOLD, |path, scratch, mount| {
        let below = scratch.write("f", "text");
        let above = mount.join("f");
        for (one, other) in [(&above, &below), (&below, &above), (&above, &above)] {
            let (holder, asker) = (open(one), open(other));
            rustix::fs::flock(&holder, FlockOperation::LockExclusive).unwrap();
            assert!(!is_free(&asker), "{path}: {} {}", one.display(), other.display());
            rustix::fs::flock(&holder, FlockOperation::LockShared).unwrap();
            rustix::fs::flock(&asker, FlockOperation::NonBlockingLockShared).unwrap();
            rustix::fs::flock(&asker, FlockOperation::Unlock).unwrap();
            let copy = holder.try_clone().unwrap();
            drop(holder);
            assert!(!is_free(&asker), "{path}: lost with one of two descriptors");
            drop(copy);
            // The mount hears of the last close a moment later.
            wait_for("the end of the lock", || is_free(&asker).then_some(()));
        }
    });
}

#[test]
fn record_locks_exclude_above_and_below_by_the_byte() {
    on(&TOLD, |path, scratch, mount| {
        let below = scratch.write("f", "text");
        let above = mount.join("f");
        let range = |start, end| Range { start, end };
        for (one, other) in [(&above, &below), (&below, &above), (&above, &above)] {
            let (holder, asker) = (open(one), open(other));
            lock::set(&holder, Mode::Exclusive, range(10, 19)).unwrap();
            lock::set(&asker, Mode::Exclusive, range(20, 29)).unwrap();
            assert!(lock::set(&asker, Mode::Shared, range(19, 19)).is_err(), "{path}");
            let held = lock::in_the_way(&asker, Mode::Shared, Range::WHOLE).unwrap().unwrap();
            assert_eq!((held.mode, held.range), (Mode::Exclusive, range(10, 19)), "{path}");
            lock::set(&holder, Mode::Unlock, range(15, 19)).unwrap();
            lock::set(&asker, Mode::Shared, range(15, 19)).unwrap();
            drop(holder);
            wait_for("the end of the locks", || lock::set(&asker, Mode::Exclusive, Range::WHOLE).ok());
        }
    });
}

#[test]
fn the_two_kinds_of_lock_know_nothing_of_each_other() {
    on(&TOLD, |_, scratch, mount| {
        scratch.write("f", "text");
        let (one, other) = (open(&mount.join("f")), open(&mount.join("f")));
        rustix::fs::flock(&one, FlockOperation::LockExclusive).unwrap();
        lock::set(&other, Mode::Exclusive, Range::WHOLE).unwrap();
        lock::set(&other, Mode::Unlock, Range::WHOLE).unwrap();
        assert!(!is_free(&other));
    });
}

#[test]
fn who_waits_for_a_lock_gets_it_and_delays_nobody() {
    on(&TOLD, |_, scratch, mount| {
        let below = scratch.write("f", "text");
        let above = mount.join("f");
        for holding in [&below, &above] {
            let holder = open(holding);
            rustix::fs::flock(&holder, FlockOperation::LockExclusive).unwrap();
            // More of them than there are threads that read requests.
            let waiting: Vec<_> = (0..12).map(|_| waiting_for(&above)).collect();
            assert_eq!(std::fs::read(&above).unwrap(), b"text");
            drop(holder);
            for program in waiting {
                assert_eq!(program.finish(), Some(0));
            }
        }
    });
}

#[test]
fn who_waits_for_a_lock_can_be_killed() {
    on(&TOLD, |_, scratch, mount| {
        let holder = open(&scratch.write("f", "text"));
        rustix::fs::flock(&holder, FlockOperation::LockExclusive).unwrap();
        for signal in [Signal::TERM, Signal::KILL] {
            let waiting = waiting_for(&mount.join("f"));
            kill_process(Pid::from_raw(waiting.0.id() as i32).unwrap(), signal).unwrap();
            assert_eq!(waiting.finish(), None);
        }
    });
}

#[test]
fn the_locks_of_a_killed_program_are_over() {
    on(&TOLD, |_, scratch, mount| {
        let below = open(&scratch.write("f", "text"));
        let script = "exec 9<>f; flock 9; printf ready; read wait";
        let program = Running::script(mount.point(), script);
        assert!(!is_free(&below));
        drop(program);
        wait_for("the end of the lock", || is_free(&below).then_some(()));
    });
}

/// A limit: on this path opens are no requests, and so neither are closes. But FUSE has no other word for the end of a lock
/// that ends with its file: such a lock would be held for ever. The kernel keeps locks by itself, inside the mount.
#[test]
fn on_resident_locks_exclude_inside_the_mount_only() {
    on(&["resident"], |_, scratch, mount| {
        let below = open(&scratch.write("f", "text"));
        let (one, other) = (open(&mount.join("f")), open(&mount.join("f")));
        rustix::fs::flock(&one, FlockOperation::LockExclusive).unwrap();
        lock::set(&one, Mode::Exclusive, Range::WHOLE).unwrap();
        assert!(!is_free(&other) && lock::set(&other, Mode::Shared, Range::WHOLE).is_err());
        assert!(is_free(&below));
        lock::set(&below, Mode::Exclusive, Range::WHOLE).unwrap();
    });
}

#[test]
fn locks_inside_the_mount_pass_on_without_a_break() {
    on_each_path(|path, scratch, mount| {
        scratch.write("count", "0");
        let add = "i=0; while [ $i -lt 40 ]; do flock count sh -c 'n=$(cat count); echo $((n + 1)) > count'; i=$((i + 1)); done";
        let adders: Vec<_> = (0..3)
            .map(|_| {
                Running::start(
                    Command::new("sh").args(["-ec", add]).current_dir(mount.point()).stdin(Stdio::null()),
                )
            })
            .collect();
        for adder in adders {
            assert_eq!(adder.finish(), Some(0), "{path}");
        }
        assert_eq!(std::fs::read_to_string(mount.join("count")).unwrap(), "120\n", "{path}");
    });
}
