//! Mounts over themselves, inside their source, around it, and file systems mounted inside the source.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::mount::process::sh;
use crate::mount::scratch::Scratch;
use crate::mount::{Mount, PATHS, wait_for};

#[test]
fn a_directory_mounted_over_itself_is_the_same_directory() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("dir/old", "from before");
        let source = scratch.source();
        let mut mount = Mount::of(&source, &source).path(path).start();
        assert_eq!(fs::read_to_string(source.join("dir/old")).unwrap(), "from before");
        fs::write(source.join("dir/new"), "written on top").unwrap();
        fs::remove_file(source.join("dir/old")).unwrap();
        assert_eq!(fs::metadata(source.join("dir/new")).unwrap().dev(), device(&mount), "{path}");
        mount.unmount();
        assert_eq!(fs::read_to_string(source.join("dir/new")).unwrap(), "written on top", "{path}");
        assert_eq!(sh(&source, "find . | sort"), ".\n./dir\n./dir/new", "{path}");
    }
}

fn device(mount: &Mount) -> u64 {
    let (major, minor) = mount.device();
    rustix::fs::makedev(major, minor)
}

#[test]
fn a_mountpoint_inside_the_source_is_seen_empty_and_nothing_hangs() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "here");
        let inside = scratch.source().join("deep/point");
        fs::create_dir_all(&inside).unwrap();
        let mut mount = Mount::of(&scratch.source(), &inside).path(path).start();
        let seen = sh(mount.point(), "find . | sort");
        assert_eq!(seen, ".\n./deep\n./deep/point\n./file", "{path}");
        // The way in from the source leads through the mount itself.
        assert_eq!(fs::read_to_string(scratch.source().join("deep/point/file")).unwrap(), "here");
        fs::write(mount.join("deep/point/below"), "under the mount").unwrap();
        mount.unmount();
        assert_eq!(fs::read_to_string(inside.join("below")).unwrap(), "under the mount", "{path}");
    }
}

#[test]
fn a_source_inside_the_mountpoint_is_reached_though_hidden() {
    for path in PATHS {
        let scratch = Scratch::new();
        let source = scratch.point().join("hidden/source");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("file"), "here").unwrap();
        let mut mount = Mount::of(&source, &scratch.point()).path(path).start();
        assert_eq!(sh(mount.point(), "find . | sort; cat file"), ".\n./file\nhere", "{path}");
        fs::write(mount.join("new"), "there").unwrap();
        mount.unmount();
        assert_eq!(fs::read_to_string(source.join("new")).unwrap(), "there", "{path}");
    }
}

/// A tmpfs, gone when dropped.
struct Tmpfs(std::path::PathBuf);

impl Tmpfs {
    fn at(point: &std::path::Path) -> Self {
        fs::create_dir_all(point).unwrap();
        rustix::mount::mount("tests", point, "tmpfs", MountFlags::empty(), Some(c"size=4m"))
            .expect("needs root");
        Tmpfs(point.to_owned())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn a_file_system_mounted_inside_the_source_is_part_of_the_tree() {
    for path in PATHS {
        let scratch = Scratch::new();
        for number in 0..20 {
            scratch.write(&format!("outer-{number}"), "outside");
        }
        let tmpfs = Tmpfs::at(&scratch.source().join("inner"));
        for number in 0..20 {
            scratch.write(&format!("inner/file-{number}"), "inside");
        }
        let mount = scratch.mount(path).start();
        let mut seen = HashMap::new();
        for place in [".", "inner"] {
            for entry in fs::read_dir(mount.join(place)).unwrap() {
                let path = entry.unwrap().path();
                let other = seen.insert(fs::metadata(&path).unwrap().ino(), path.clone());
                assert_eq!(other, None, "two files with the inode number of {}", path.display());
            }
        }
        assert_eq!(seen.len(), 41);
        assert_eq!(fs::read_to_string(mount.join("inner/file-7")).unwrap(), "inside");
        fs::write(mount.join("inner/new"), "through the mount").unwrap();
        assert_eq!(fs::read_to_string(tmpfs.0.join("new")).unwrap(), "through the mount");
        let across = fs::hard_link(mount.join("outer-1"), mount.join("inner/link")).unwrap_err();
        assert_eq!(across.raw_os_error(), Some(libc::EXDEV), "{path}");
    }
}

#[test]
fn a_file_system_mounted_inside_the_source_can_be_unmounted_again() {
    for path in PATHS {
        let scratch = Scratch::new();
        let inner = scratch.source().join("inner");
        let tmpfs = Tmpfs::at(&inner);
        fs::create_dir(inner.join("dir")).unwrap();
        fs::write(inner.join("dir/file"), "inside").unwrap();
        let mount = scratch.mount(path).start();
        assert_eq!(sh(mount.point(), "cat inner/dir/file"), "inside", "{path}");
        // By now the mirror has let go of it. What was open before is found by its handle though it was moved.
        std::thread::sleep(Duration::from_millis(200));
        let mut open = fs::File::open(mount.join("inner/dir/file")).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        fs::rename(inner.join("dir"), inner.join("moved")).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut open, &mut text).unwrap();
        assert_eq!(text, "inside", "{path}");
        assert_eq!(open.metadata().unwrap().len(), 6, "{path}");
        drop(open);
        wait_for(&format!("the file system inside to be free on {path}"), || {
            rustix::mount::unmount(&tmpfs.0, UnmountFlags::empty()).is_ok().then_some(())
        });
    }
}
