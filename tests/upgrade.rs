//! `augurfs upgrade`: another process goes on with a mount, and its users notice a pause at most.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mount::map::Map;
use mount::process::{Running, output_within, sh};
use mount::scratch::Scratch;
use mount::{Mount, PATHS, PATIENCE, augurfs, wait_for};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than the daemon waits for a program that says nothing.
const LONG: Duration = Duration::from_secs(60);

fn try_upgrade(mount: &Mount, program: Option<&Path>) -> Output {
    let mut command = augurfs();
    command.arg("upgrade").arg(mount.point());
    program.iter().for_each(|program| {
        command.arg("--program").arg(program);
    });
    output_within(&mut command, LONG)
}

/// Upgrades; the number of the process that serves now comes back.
fn upgrade(mount: &Mount) -> u64 {
    let before = mount.count("/pid");
    let output = try_upgrade(mount, None);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}; the daemon: {}", mount.said());
    let after = mount.count("/pid");
    assert_ne!(before, after);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.starts_with(&format!("process {after} serves it now")), "{told}");
    after
}

#[test]
fn open_files_stay_open() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("read", "to be read");
        scratch.write("removed", "without a name");
        scratch.write("dir/moved", "moved");
        let mut mount = scratch.mount(path).start();
        let mut read = File::open(mount.join("read")).unwrap();
        let mut removed = File::options().read(true).write(true).open(mount.join("removed")).unwrap();
        let mut log = File::options().append(true).create(true).open(mount.join("log")).unwrap();
        let mapped =
            File::options().read(true).write(true).create(true).truncate(true).open(mount.join("mapped"));
        let mapped = mapped.unwrap();
        mapped.set_len(8192).unwrap();
        let mut map = Map::of(&mapped, 8192, true);
        map.set(0, 1);
        let directory = File::open(mount.join("dir")).unwrap();
        fs::remove_file(mount.join("removed")).unwrap();
        let mut half = [0; 4];
        read.read_exact(&mut half).unwrap();
        for round in 1..=3 {
            upgrade(&mount);
            writeln!(log, "line {round}").unwrap();
            removed.seek(SeekFrom::Start(0)).unwrap();
            let mut text = String::new();
            removed.read_to_string(&mut text).unwrap();
            assert_eq!(text, "without a name", "{path}");
            map.set(4096, round);
            map.sync();
            assert_eq!((map.get(0), map.get(4096)), (1, round), "{path}");
            fs::rename(mount.join("dir"), mount.join("other")).unwrap();
            assert_eq!(fs::read_to_string(mount.join("other/moved")).unwrap(), "moved");
            fs::rename(mount.join("other"), mount.join("dir")).unwrap();
            assert_eq!(rustix::fs::Dir::read_from(&directory).unwrap().count(), 3, "{path}");
        }
        let mut rest = String::new();
        read.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "e read", "{path}");
        removed.write_all_at(b"WITHOUT", 0).unwrap();
        let source = scratch.source();
        assert_eq!(fs::read_to_string(source.join("log")).unwrap(), "line 1\nline 2\nline 3\n", "{path}");
        assert_eq!(fs::read(source.join("mapped")).unwrap()[4096], 3, "{path}");
        drop((read, removed, log, map, mapped, directory));
        assert!(mount.unmount().success(), "{path}: {}", mount.said());
    }
}

/// One user among several: everything it makes is there and right, or it ends with a number that says what was not.
const USER: &str = r#"
mkdir "$0"; cd "$0"; echo ready; i=0
while [ ! -e ../../stop ]; do
    i=$((i + 1))
    echo "$i" > file || exit 3
    [ "$(cat file)" = "$i" ] || exit 4
    mkdir dir && mv file dir/moved && [ "$(cat dir/moved)" = "$i" ] || exit 5
    [ "$(stat -c %s dir/moved)" = $((${#i} + 1)) ] || exit 6
    ls -l . .. > /dev/null || exit 7
    [ "$(cksum < ../big)" = "$(cksum < "$1/big")" ] || exit 8
    echo more >> ../log || exit 9
    rm -r dir || exit 10
done
[ "$i" -gt 0 ]
"#;

/// Numbers that differ from place to place.
fn pattern(block: u64, round: u64) -> [u8; 512] {
    let mut bytes = [0; 512];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (block * 131 + round * 31 + at as u64) as u8;
    }
    bytes
}

/// Writes and reads again through one open file, until it is to stop; the rounds come back.
fn write_and_read(file: &File, stop: &AtomicBool, rounds: &AtomicU64) {
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        for block in 0..16 {
            file.write_all_at(&pattern(block, round), block * 512).unwrap();
        }
        for block in 0..16 {
            let mut bytes = [0; 512];
            file.read_exact_at(&mut bytes, block * 512).unwrap();
            assert_eq!(bytes, pattern(block, round));
        }
        rounds.store(round, Ordering::Relaxed);
    }
}

#[test]
fn twenty_upgrades_under_load_disturb_nobody_on_resident() {
    twenty_upgrades_under_load("resident");
}

#[test]
fn twenty_upgrades_under_load_disturb_nobody_on_passthrough() {
    twenty_upgrades_under_load("passthrough");
}

#[test]
fn twenty_upgrades_under_load_disturb_nobody_on_plain() {
    twenty_upgrades_under_load("plain");
}

fn twenty_upgrades_under_load(path: &str) {
    let scratch = Scratch::new();
    let big: Vec<u8> = (0..300_000_u32).map(|n| (n * 7) as u8).collect();
    scratch.write("big", &big);
    let mut mount = scratch.mount(path).start();
    let users: Vec<_> = (0..3)
        .map(|number| {
            let mut command = Command::new("sh");
            command.args(["-c", USER, &format!("user{number}")]).arg(scratch.source());
            command.current_dir(mount.point()).stdin(std::process::Stdio::null());
            command.stdout(std::process::Stdio::null());
            Running::start(&mut command)
        })
        .collect();
    let open = File::options().read(true).write(true).create(true).truncate(true).open(mount.join("open"));
    let open = open.unwrap();
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_and_read(&open, &stop, &rounds));
        for upgrades in 1..=20 {
            upgrade(&mount);
            let before = rounds.load(Ordering::Relaxed);
            let goes_on = || (rounds.load(Ordering::Relaxed) > before || writer.is_finished()).then_some(());
            wait_for(&format!("life after upgrade {upgrades} on {path}"), goes_on);
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    });
    fs::write(scratch.join("stop"), "").unwrap();
    for mut user in users {
        let code = wait_for("a user's end", || user.0.try_wait().unwrap());
        assert_eq!(code.code(), Some(0), "{path}: {}", mount.said());
    }
    assert_eq!(fs::read(scratch.source().join("big")).unwrap(), big);
    let log = fs::read_to_string(scratch.source().join("log")).unwrap();
    assert!(log.lines().all(|line| line == "more"), "{path}");
    drop(open);
    assert!(mount.unmount().success(), "{path}: {}", mount.said());
}

fn script(scratch: &Scratch, name: &str, text: &str) -> std::path::PathBuf {
    let program = scratch.join(name);
    fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_program_that_fails_changes_nothing() {
    let scratch = Scratch::new();
    scratch.write("file", "text");
    let mut mount = scratch.mount("plain").start();
    let pid = mount.count("/pid");
    let file = File::open(mount.join("file")).unwrap();
    let many: Vec<File> = (0..60).map(|_| File::open(mount.join("file")).unwrap()).collect();
    let real = env!("CARGO_BIN_EXE_augurfs");
    let cases = [
        (scratch.join("nowhere"), "cannot be started"),
        (script(&scratch, "ends", "exit 0"), "has ended"),
        (script(&scratch, "dies", "kill -9 $$"), "has ended"),
        // One that is not understood by this version.
        (script(&scratch, "refuses", &format!("exec {real} \"$@\" -o quux")), "unknown option"),
        (script(&scratch, "other", "echo hello >&0; sleep 1000"), "was said"),
        // Has no room for the files that are open.
        (script(&scratch, "short", &format!("ulimit -n 50; exec {real} \"$@\"")), "lost on their way"),
    ];
    for (program, why) in cases {
        let output = try_upgrade(&mount, Some(&program));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{program:?}: {said}");
        assert!(said.contains("goes on as it was") && said.contains(why), "{program:?}: {said}");
        assert_eq!(mount.count("/pid"), pid, "{program:?}");
        let mut text = [0; 4];
        file.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"text");
        fs::write(mount.join("new"), "it works").unwrap();
    }
    upgrade(&mount);
    drop((file, many));
    assert!(mount.unmount().success());
}

#[test]
fn a_program_that_hangs_is_given_up() {
    let scratch = Scratch::new();
    scratch.write("file", "text");
    let mount = scratch.mount("resident").start();
    let hangs = script(&scratch, "hangs", "exec sleep 1000");
    let pid = mount.count("/pid");
    std::thread::scope(|scope| {
        let attempt = || String::from_utf8(try_upgrade(&mount, Some(&hangs)).stderr).unwrap();
        let attempts = [scope.spawn(attempt), scope.spawn(attempt)];
        // While it is waited for, the mount serves, and says so to whoever asks for another.
        assert_eq!(fs::read_to_string(mount.join("file")).unwrap(), "text");
        let said = attempts.map(|attempt| attempt.join().unwrap());
        let told = |what: &str| said.iter().filter(|said| said.contains(what)).count();
        assert_eq!((told("silent"), told("an upgrade is under way already")), (1, 1), "{said:?}");
    });
    assert_eq!((mount.count("/pid"), sh(mount.point(), "cat file").as_str()), (pid, "text"));
    upgrade(&mount);
}

#[test]
fn a_mount_over_its_own_source() {
    let scratch = Scratch::new();
    scratch.write("file", "text");
    let source = scratch.source();
    for path in PATHS {
        let mut mount = Mount::of(&source, &source).path(path).start();
        let open = File::open(source.join("file")).unwrap();
        upgrade(&mount);
        fs::write(source.join("file"), "TEXT").unwrap();
        upgrade(&mount);
        let mut text = [0; 4];
        open.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"TEXT", "{path}");
        drop(open);
        assert!(mount.unmount().success(), "{path}");
        assert_eq!(fs::read_to_string(source.join("file")).unwrap(), "TEXT");
        fs::write(source.join("file"), "text").unwrap();
    }
}

#[test]
fn changes_below_are_noticed_after_an_upgrade() {
    // On the disk of the project: a tmpfs may hide handles in some sandboxes.
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let (source, point) = (dir.path().join("source"), dir.path().join("point"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&point).unwrap();
    for path in PATHS {
        let mut mount = Mount::of(&source, &point).path(path).option("timeout=1h").start();
        for round in 0..5 {
            fs::write(source.join("file"), format!("before {round}")).unwrap();
            let shown = || fs::read_to_string(mount.join("file")).unwrap_or_default();
            let show = |text: String| wait_for(&text, || (shown() == text).then_some(()));
            show(format!("before {round}"));
            let changer = source.join("file");
            // In the midst of it: whoever watches, the change is told.
            std::thread::scope(|scope| {
                let change = scope.spawn(|| {
                    for n in 0..200 {
                        fs::write(&changer, format!("during {n}")).unwrap();
                        let _ = fs::metadata(mount.join("file"));
                        std::thread::yield_now();
                    }
                });
                upgrade(&mount);
                change.join().unwrap();
            });
            show("during 199".into());
            fs::write(source.join("file"), "after").unwrap();
            show("after".into());
        }
        assert!(mount.unmount().success(), "{path}");
    }
}

#[test]
fn locks_are_held_on() {
    for path in ["plain", "passthrough"] {
        let scratch = Scratch::new();
        scratch.write("locked", "");
        let mut mount = scratch.mount(path).start();
        let held = File::open(mount.join("locked")).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        // One of its own for each question: what it gets goes with it.
        let refused = || {
            let below = File::open(scratch.source().join("locked")).unwrap();
            flock(&below, FlockOperation::NonBlockingLockExclusive).is_err()
        };
        assert!(refused());
        // Waits across the upgrades: its request is sent again.
        let waiter = Running::script(mount.point(), "exec 3< locked; echo ready; flock -x 3; read go");
        wait_for("a waiter", || (mount.count("/requests/setlk/count") >= 2).then_some(()));
        for _ in 0..3 {
            upgrade(&mount);
            assert!(refused(), "{path}: it is held still");
        }
        let mut waiter = waiter;
        assert!(waiter.0.try_wait().unwrap().is_none(), "{path}: it waits still");
        flock(&held, FlockOperation::Unlock).unwrap();
        wait_for("the waiter's lock", || refused().then_some(()));
        assert_eq!(waiter.finish(), Some(0), "{path}");
        wait_for("the end of all locks", || (!refused()).then_some(()));
        drop(held);
        assert!(mount.unmount().success(), "{path}: {}", mount.said());
    }
}

#[test]
fn the_guardian_follows() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "text");
        let mut mount = scratch.mount(path).start();
        upgrade(&mount);
        let pid = upgrade(&mount);
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
        wait_for("the mount to go", || (!mount.is_mounted()).then_some(()));
        // Who waits for the first process hears how the last one ended.
        assert_eq!(mount.wait_for_end().code(), Some(128 + 9), "{path}");
    }
}

#[test]
fn in_front_somebody_stays_who_passes_signals_on() {
    let scratch = Scratch::new();
    let model = scratch.join("model");
    scratch.write("file", "text");
    let mut mount = scratch.mount("resident").model(&model).start();
    for _ in 0..3 {
        upgrade(&mount);
    }
    mount.signal(Signal::TERM);
    assert!(mount.wait_for_end().success(), "{}", mount.said());
    assert!(!mount.is_mounted() && model.exists());
}

#[test]
fn what_was_set_and_learned_stays() {
    let scratch = Scratch::new();
    let model = scratch.join("model");
    for name in ["a", "b", "c"] {
        scratch.write(name, "text");
    }
    let mut mount = scratch.mount("plain").model(&model).start();
    sh(mount.point(), "cat a b c");
    let set = output_within(augurfs().arg("set").arg(mount.point()).arg("budget=3M,prefetch=off"), PATIENCE);
    assert!(set.status.success());
    let files = mount.count("/predictor/files");
    assert!(files >= 3);
    upgrade(&mount);
    let stats = mount.stats();
    assert_eq!(stats["memory"]["budget_bytes"], 3 << 20, "{stats}");
    assert_eq!(stats["prefetching"]["active"], false, "{stats}");
    assert_eq!(stats["predictor"]["files"], files, "{stats}");
    assert_eq!(stats["model"]["path"], model.to_str().unwrap(), "{stats}");
    assert!(mount.unmount().success());
}
