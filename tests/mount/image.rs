//! A small ext4 file system in a file, for tests that need a device of their own: one whose files are in memory only if somebody
//! has read them. Needs root, a loop device, and mkfs.ext4.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::UnmountFlags;

use super::process::output_within;
use super::{PATIENCE, wait_for};

/// Room for some thousand small files.
const SIZE: u64 = 64 << 20;

/// A mounted image, unmounted when dropped; its loop device goes with it.
#[derive(Debug)]
pub struct Image {
    point: PathBuf,
    _dir: tempfile::TempDir,
}

impl Image {
    /// A new one, empty.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let (file, point) = (dir.path().join("image"), dir.path().join("fs"));
        File::create(&file).and_then(|file| file.set_len(SIZE)).expect("room for an image");
        fs::create_dir(&point).expect("nothing is there yet");
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-O", "^has_journal"]).arg(&file));
        // The loop device is made for this mount, and goes with it.
        run(Command::new("mount").args(["-t", "ext4", "-o", "loop,noatime"]).arg(&file).arg(&point));
        Image { point: fs::canonicalize(point).expect("it is there"), _dir: dir }
    }

    /// Where it is mounted.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Takes the device's content away, and gives it back when the result is called: until then whatever has to be read
    /// from it is an error.
    pub fn break_device(&self) -> impl FnOnce() + use<> {
        let (file, copy) = (self._dir.path().join("image"), self._dir.path().join("copy"));
        rustix::fs::sync();
        fs::copy(&file, &copy).expect("room for a copy");
        File::options().write(true).open(&file).and_then(|file| file.set_len(0)).expect("it can be cut");
        move || {
            let mut from = File::open(copy).expect("it was made");
            io::copy(&mut from, &mut File::options().write(true).open(&file).expect("it is there"))
                .expect("it can be written");
        }
    }

    /// Takes it off and mounts nothing instead.
    fn unmount(&self) {
        let busy = || rustix::mount::unmount(&self.point, UnmountFlags::NOFOLLOW).is_ok().then_some(());
        if std::thread::panicking() {
            let _ = rustix::mount::unmount(&self.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        } else {
            wait_for("the image to be free", busy);
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn run(command: &mut Command) {
    let output = output_within(command, PATIENCE);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Empties all caches of clean pages, names and inodes, on this machine.
pub fn drop_caches() {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").expect("needs root");
}
