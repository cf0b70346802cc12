//! Many readers and writers at once.

use std::fs;
use std::sync::Barrier;
use std::time::Duration;

use rustix::mount::{UnmountFlags, mount_bind, unmount};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::mount::process::sh;
use crate::mount::scratch::Scratch;
use crate::mount::{PATHS, wait_for};

fn content(number: usize) -> Vec<u8> {
    (0..40_000).map(|at| (at * 7 + number * 13) as u8).collect()
}

#[test]
fn sixty_four_readers_at_once_each_get_their_file() {
    const READERS: usize = 64;
    let contents: Vec<_> = (0..READERS).map(content).collect();
    for path in PATHS {
        let scratch = Scratch::new();
        for (number, content) in contents.iter().enumerate() {
            scratch.write(&format!("d{}/f{number}", number % 8), content);
        }
        let mount = scratch.mount(path).start();
        let start = Barrier::new(READERS);
        std::thread::scope(|scope| {
            for number in 0..READERS {
                let (mount, start, contents) = (&mount, &start, &contents);
                scope.spawn(move || {
                    start.wait();
                    for other in 0..READERS {
                        let number = (number + other) % READERS;
                        let read = fs::read(mount.join(format!("d{}/f{number}", number % 8))).unwrap();
                        assert!(read == contents[number], "file {number} on {path}");
                    }
                });
            }
        });
    }
}

#[test]
fn appends_of_many_are_all_there() {
    use std::io::Write;
    const WRITERS: usize = 8;
    const LINES: usize = 100;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.write("log", "");
        let mount = scratch.mount(path).start();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                // Half of them in the mount, half directly in the source.
                let place = if writer % 2 == 0 { mount.join("log") } else { below.clone() };
                scope.spawn(move || {
                    let mut log = fs::File::options().append(true).open(place).unwrap();
                    for line in 0..LINES {
                        log.write_all(format!("{writer} {line}\n").as_bytes()).unwrap();
                    }
                });
            }
        });
        let mut lines: Vec<String> = fs::read_to_string(&below).unwrap().lines().map(Into::into).collect();
        let mut expected: Vec<String> =
            (0..WRITERS).flat_map(|writer| (0..LINES).map(move |line| format!("{writer} {line}"))).collect();
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected, "{path}");
    }
}

/// The kernel opens each file that it reports as opened for the daemon, which has no descriptor left.
#[test]
fn opens_are_seen_again_when_descriptors_are_to_be_had_again() {
    let scratch = Scratch::new();
    scratch.write("file", "text");
    let elsewhere = scratch.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mount = scratch.mount("resident").start();
    let read = || sh(mount.point(), "cat file");
    let seen = || mount.count("/opens/total");
    read();
    // What the kernel was told at first may be relied on for a second only.
    std::thread::sleep(Duration::from_millis(1200));
    read();
    wait_for("the first open", || (seen() >= 1).then_some(()));
    // The daemon has ours.
    let usual = getrlimit(Resource::Nofile);
    let limit = |limit| prlimit(Pid::from_raw(mount.pid() as i32), Resource::Nofile, limit).unwrap();
    limit(Rlimit { current: Some(3), ..usual });
    for _ in 0..5 {
        // Without a question about the file, which the daemon could not answer now.
        sh(mount.point(), ": < file");
        // A mount that comes or goes makes the daemon look for its own.
        mount_bind(&elsewhere, &elsewhere).unwrap();
        unmount(&elsewhere, UnmountFlags::NOFOLLOW).unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    limit(usual);
    assert!(mount.count("/events/lost") > 0, "nothing was lost: {}", mount.stats());
    let before = seen();
    wait_for("opens after that", || {
        read();
        (seen() > before).then_some(())
    });
    assert_eq!(mount.said(), "");
}
