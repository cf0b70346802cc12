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
use mount::process::{Running, output_within, sh, try_output};
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
