//! How mounts end: when asked, when busy, when somebody else unmounts them, and when their daemon is killed.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::process::Command;
use std::time::{Duration, Instant};

use augurfs::sys::mountinfo;
use mount::process::{Running, output_within, sh};
use mount::scratch::Scratch;
use mount::{Mount, PATHS, PATIENCE, augurfs, wait_for, wait_up_to};
use rustix::process::Signal;

/// A daemon that was told to end while its mount is in use: it grants its users five seconds.
const SOME_SECONDS: Duration = Duration::from_secs(12);

fn refused_as_busy(mount: &Mount, who: &str) {
    let output = mount.try_unmount();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("augurfs: cannot unmount: ") && said.contains("is busy"), "{said}");
    assert!(said.contains(who), "{said}");
    assert!(mount.is_mounted());
}

#[test]
fn a_busy_mount_says_so_and_goes_on() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("dir/file", "text");
        let mut mount = scratch.mount(path).start();
        let inside = Running::script(&mount.join("dir"), "echo ready; read go; cat file");
        refused_as_busy(&mount, &format!("({})", inside.0.id()));
        let reader = Running::script(mount.point(), "exec 3< dir/file; cd /; echo ready; read go; cat <&3");
        assert_eq!(inside.finish(), Some(0), "{path}");
        refused_as_busy(&mount, &format!("({})", reader.0.id()));
        fs::write(mount.join("dir/new"), "it works").unwrap();
        assert_eq!(fs::read_to_string(scratch.source().join("dir/new")).unwrap(), "it works");
        // Opens are still watched, or asked for: the mount has lost nothing by the attempt.
        let before = mount.count("/opens/total");
        sh(mount.point(), "cat dir/file");
        wait_for(&format!("one more open on {path}"), || {
            (mount.count("/opens/total") > before).then_some(())
        });
        assert_eq!(reader.finish(), Some(0), "{path}");
        wait_for("the mount to be free", || mount.try_unmount().status.success().then_some(()));
        assert!(mount.wait_for_end().success(), "{path}");
    }
}

#[test]
fn a_signal_ends_a_busy_mount_too() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "text");
        let model = scratch.join("model");
        let mut mount = scratch.mount(path).model(&model).start();
        let mut open = File::options().read(true).write(true).open(mount.join("file")).unwrap();
        mount.signal(Signal::TERM);
        wait_for("the mount to go", || (!mount.is_mounted()).then_some(()));
        // The user is granted a moment: enough to finish what it does.
        std::io::Write::write_all(&mut open, b"TEXT").unwrap();
        open.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, "TEXT", "{path}");
        let start = Instant::now();
        let status = mount.wait_for_end();
        assert!(status.success() && start.elapsed() < SOME_SECONDS, "{path}: {status:?}");
        assert!(model.exists(), "{path}");
        assert_eq!(fs::read_to_string(scratch.source().join("file")).unwrap(), "TEXT", "{path}");
        drop(open);
        assert_eq!(mountinfo::at(&scratch.point()).unwrap(), None, "{path}");
    }
}

#[test]
fn somebody_else_unmounts_in_the_middle_of_things() {
    for path in PATHS {
        let scratch = Scratch::new();
        for number in 0..200 {
            scratch.write(&format!("d{}/f{number}", number % 10), vec![b'x'; 20_000]);
        }
        let model = scratch.join("model");
        let mut mount = scratch.mount(path).model(&model).start();
        for _ in 0..2 {
            sh(mount.point(), "find . -type f -exec cat {} + > /dev/null");
        }
        let output = output_within(Command::new("umount").arg(mount.point()), PATIENCE);
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!mount.is_mounted(), "{path}");
        assert!(mount.wait_for_end().success(), "{path}: {}", mount.said());
        assert!(model.exists(), "{path}");
    }
}

/// A lazy unmount: the mount is out of sight, but its last user may go on until it is done.
#[test]
fn a_lazy_unmount_ends_the_daemon_with_its_last_user() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "text");
        let mut mount = scratch.mount(path).start();
        let mut open = File::open(mount.join("file")).unwrap();
        rustix::mount::unmount(mount.point(), rustix::mount::UnmountFlags::DETACH).unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text", "{path}");
        drop(open);
        assert!(mount.wait_for_end().success(), "{path}: {}", mount.said());
    }
}

#[test]
fn what_a_killed_daemon_mirrored_can_be_mirrored_again() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "text");
        let mut mount = scratch.mount(path).start();
        let mut open = File::open(mount.join("file")).unwrap();
        mount.signal(Signal::KILL);
        mount.wait_for_end();
        let mut rest = Vec::new();
        // An error or the data, if it was in memory; never a wait.
        let _ = open.read_to_end(&mut rest);
        wait_for("the mountpoint", || mountinfo::at(&scratch.point()).unwrap().is_none().then_some(()));
        let mut next = scratch.mount(path).start();
        assert_eq!(fs::read_to_string(next.join("file")).unwrap(), "text", "{path}");
        drop(open);
        next.unmount();
        assert_eq!(mountinfo::at(&scratch.point()).unwrap(), None, "{path}");
    }
}

/// Cuts the connection of a FUSE mount by the minor number of its device.
fn cut(scratch: &Scratch, minor: u32) {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let control = scratch.join("control");
    fs::create_dir(&control).unwrap();
    mount("none", &control, "fusectl", MountFlags::empty(), None).unwrap();
    let written = fs::write(control.join(format!("{minor}/abort")), "1");
    unmount(&control, UnmountFlags::DETACH).unwrap();
    written.unwrap();
}

/// As when the session fails: nobody unmounted, and nobody answers any more. The real tree must be seen again.
#[test]
fn a_mount_whose_connection_is_cut_goes_and_says_so() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "text");
        let model = scratch.join("model");
        let mut mount = Mount::of(&scratch.source(), &scratch.source()).path(path).model(&model).start();
        assert!(mount.is_mounted());
        cut(&scratch, mount.device().1);
        assert_eq!(mount.wait_for_end().code(), Some(1), "{path}");
        assert!(!mount.is_mounted() && model.exists(), "{path}");
        let said = mount.said();
        assert!(said.contains("augurfs: the mount has ended before its time: "), "{path}: {said}");
        assert_eq!(fs::read_to_string(scratch.source().join("file")).unwrap(), "text", "{path}");
    }
}

#[test]
fn a_killed_daemon_frees_the_mountpoint() {
    let scratch = Scratch::new();
    for path in PATHS {
        let mut mount = scratch.mount(path).start();
        let device = mount.device();
        mount.signal(Signal::KILL);
        mount.wait_for_end();
        wait_for(&format!("the mountpoint on {path}"), || (!mount.is_mounted()).then_some(()));
        fs::read_dir(mount.point()).unwrap();
        let socket = augurfs::live::control::own_socket(device).unwrap();
        assert!(!socket.exists(), "{path}");
    }
}

/// Readers that wait for the daemon when it is killed get an error.
#[test]
fn a_kill_in_the_middle_of_reading_hangs_nobody() {
    for path in PATHS {
        let scratch = Scratch::new();
        for number in 0..500 {
            scratch.write(&format!("f{number}"), vec![b'x'; 50_000]);
        }
        let mut mount = scratch.mount(path).start();
        let script = "echo ready; while cat f* > /dev/null 2>&1; do :; done; exit 0";
        let readers: Vec<Running> = (0..4).map(|_| Running::script(mount.point(), script)).collect();
        mount.signal(Signal::KILL);
        mount.wait_for_end();
        for reader in readers {
            assert_eq!(reader.finish(), Some(0), "{path}");
        }
    }
}

fn sockets() -> BTreeSet<std::path::PathBuf> {
    let place = augurfs::live::control::own_socket((0, 0)).unwrap();
    let entries = fs::read_dir(place.parent().unwrap()).unwrap();
    let entries = entries.filter_map(|entry| entry.ok());
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path())
        .collect()
}

#[test]
fn twenty_rounds_leave_nothing_behind() {
    let scratch = Scratch::new();
    for number in 0..20 {
        scratch.write(&format!("f{number}"), "text");
    }
    let mut made = BTreeSet::new();
    for round in 0..20 {
        // In the background, as users do it.
        let mut command = augurfs();
        command.arg(scratch.source()).arg(scratch.point());
        command.args(["-o", "model=none", "-o"]).arg(format!("path={}", PATHS[round % 3]));
        let output = output_within(&mut command, PATIENCE);
        assert!(output.status.success(), "{round}: {}", String::from_utf8_lossy(&output.stderr));
        let guard = Background(scratch.point());
        let stats = output_within(augurfs().arg("stats").arg(scratch.point()).arg("--json"), PATIENCE);
        let stats: serde_json::Value = serde_json::from_slice(&stats.stdout).unwrap();
        let pid = stats["pid"].as_u64().unwrap();
        let mount = mountinfo::at(&scratch.point()).unwrap().unwrap();
        made.insert(augurfs::live::control::own_socket(mount.device).unwrap());
        assert_eq!(sh(&scratch.point(), "cat f*").len(), 80);
        let output = output_within(augurfs().arg("unmount").arg(scratch.point()), PATIENCE);
        assert!(output.status.success(), "{round}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(mountinfo::at(&scratch.point()).unwrap(), None, "{round}");
        assert!(!runs(pid), "{round}: the daemon {pid} still runs");
        drop(guard);
    }
    // Other tests have mounts as well, perhaps under a number that was ours.
    wait_up_to(PATIENCE, "the control sockets to go", || {
        let left: Vec<_> = sockets().intersection(&made).cloned().collect();
        left.iter().all(|socket| std::os::unix::net::UnixStream::connect(socket).is_ok()).then_some(())
    });
}

/// Is it there, and not only waiting to be collected?
fn runs(process: u64) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat"));
    status.is_ok_and(|text| !text.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

/// A mount whose daemon is nobody's child: torn off when dropped, which ends the daemon.
struct Background(std::path::PathBuf);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}
