//! No byte is lost or stale: at the end of a mount, in large files, and while prefetching reads what programs change.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::Signal;

use crate::mount::map::Map;
use crate::mount::process::{output_within, sh};
use crate::mount::scratch::Scratch;
use crate::mount::watchdog::Stop;
use crate::mount::{Mount, PATHS, PATIENCE, wait_for};

/// How a mount may come to its end.
const ENDS: [&str; 4] = ["unmount", "signal", "outside", "kill"];

fn end(mount: &mut Mount, how: &str) {
    match how {
        "unmount" => drop(mount.unmount()),
        "signal" => mount.signal(Signal::TERM),
        "outside" => {
            let output = output_within(Command::new("umount").arg(mount.point()), PATIENCE);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        _ => mount.signal(Signal::KILL),
    }
    mount.wait_for_end();
}

#[test]
fn what_was_written_is_there_when_the_mount_has_ended() {
    for path in PATHS {
        for how in ENDS {
            let scratch = Scratch::new();
            scratch.write("mapped", vec![1; 8192]);
            let mut mount = scratch.mount(path).start();
            fs::write(mount.join("written"), vec![2; 300_000]).unwrap();
            let file = File::options().read(true).write(true).open(mount.join("mapped")).unwrap();
            let mut map = Map::of(&file, 8192, true);
            map.set(5000, 3);
            if how == "kill" {
                // The kernel alone knows of a byte in a map until somebody asks it to write.
                map.sync();
            }
            drop((map, file));
            end(&mut mount, how);
            let there = |name: &str| fs::read(scratch.source().join(name)).unwrap();
            assert!(there("written") == vec![2; 300_000], "{how} on {path}");
            assert_eq!(there("mapped")[5000], 3, "{how} on {path}: in the map");
        }
    }
}

#[test]
fn no_acknowledged_line_is_lost_when_the_daemon_goes() {
    // All at once: most of the time is the grace that users of a mount get.
    std::thread::scope(|scope| {
        for path in PATHS {
            for signal in [Signal::TERM, Signal::KILL] {
                scope.spawn(move || lines_survive(path, signal));
            }
        }
    });
}

fn lines_survive(path: &str, signal: Signal) {
    let scratch = Scratch::new();
    let mut mount = scratch.mount(path).start();
    let (written, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (written, done, log) = (&written, &done, mount.join("log"));
        scope.spawn(move || {
            let mut log = File::options().append(true).create(true).open(log).unwrap();
            // With kernel passthrough, an open file needs no daemon.
            while !done.load(Ordering::Relaxed) && log.write_all(b"a line of a log\n").is_ok() {
                written.fetch_add(1, Ordering::SeqCst);
            }
        });
        let _stop = Stop(done);
        wait_for("some lines", || (written.load(Ordering::SeqCst) > 100).then_some(()));
        mount.signal(signal);
        mount.wait_for_end();
    });
    let there = fs::read_to_string(scratch.source().join("log")).unwrap();
    let whole = there.lines().filter(|line| *line == "a line of a log").count() as u64;
    let written = written.load(Ordering::SeqCst);
    assert!(whole >= written, "{signal:?} on {path}: {whole} of {written} lines");
}

#[test]
fn offsets_beyond_four_gigabytes_are_offsets() {
    const FAR: u64 = (5 << 30) + 123;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.write("large", "");
        let mount = scratch.mount(path).start();
        let file = File::options().read(true).write(true).open(mount.join("large")).unwrap();
        file.write_all_at(b"far away", FAR).unwrap();
        assert_eq!(file.metadata().unwrap().len(), FAR + 8, "{path}");
        let mut room = [0; 8];
        file.read_exact_at(&mut room, FAR).unwrap();
        assert_eq!(&room, b"far away", "{path}");
        File::open(&below).unwrap().read_exact_at(&mut room, FAR).unwrap();
        assert_eq!(&room, b"far away", "{path}");
        file.set_len(FAR + 3).unwrap();
        assert_eq!(fs::metadata(&below).unwrap().len(), FAR + 3, "{path}");
    }
}

/// File systems use inode numbers again at once: another file under the same number is another file.
#[test]
fn a_new_file_under_an_old_inode_number_is_not_the_old_one() {
    // On `resident` files that were just looked up are held for a moment, and their numbers with them.
    let mut reused = 0;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.source().join("file");
        let mount = scratch.mount(path).start();
        let above = mount.join("file");
        let mut number = 0;
        for round in 0..40 {
            let text = format!("the text of round {round}");
            // Every other round through the mount, where it is known at once.
            let place = if round % 2 == 0 { &below } else { &above };
            fs::write(place, &text).unwrap();
            let now = fs::metadata(&below).unwrap().ino();
            reused += u32::from(now == number);
            number = now;
            wait_for(&format!("round {round} on {path}"), || {
                (fs::read_to_string(&above).ok()? == text).then_some(())
            });
            assert_eq!(fs::metadata(&above).unwrap().len(), text.len() as u64, "{path}");
            fs::remove_file(place).unwrap();
            wait_for(&format!("the end of round {round} on {path}"), || (!above.exists()).then_some(()));
        }
    }
    assert!(reused > 0, "this file system has not used a number again");
}

#[test]
fn prefetching_never_brings_back_old_content() {
    const FILES: usize = 60;
    for path in PATHS {
        let scratch = Scratch::new();
        for number in 0..FILES {
            scratch.write(&format!("f{number:02}"), vec![b'0'; 5000]);
        }
        let mount = scratch.mount(path).start();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (mount, done) = (&mount, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        crate::mount::image::drop_caches();
                        sh(mount.point(), "cat f* > /dev/null");
                    }
                });
            }
            let _stop = Stop(&done);
            for round in 0..8_usize {
                for number in 0..FILES {
                    let name = format!("f{number:02}");
                    let byte = b'A' + ((round + number) % 26) as u8;
                    // Half of them in place, half as another file.
                    if number % 2 == 0 {
                        let file = File::options().write(true).open(mount.join(&name)).unwrap();
                        file.write_all_at(&vec![byte; 5000], 0).unwrap();
                    } else {
                        fs::write(mount.join(format!("new-{name}")), vec![byte; 5000 + round]).unwrap();
                        fs::rename(mount.join(format!("new-{name}")), mount.join(&name)).unwrap();
                    }
                    let read = fs::read(mount.join(&name)).unwrap();
                    if read.iter().any(|other| *other != byte) || read.len() < 5000 {
                        panic!("{name}, round {round} on {path}: old content, {} bytes", read.len());
                    }
                }
            }
        });
    }
}
