//! What cannot be had through FUSE, or not on this data path: each limit as it is, so that nobody is surprised and a kernel
//! that lifts it is noticed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, CWD, StatxFlags, inotify};
use rustix::io::Errno;

use crate::mount::process::sh;
use crate::mount::{Mount, wait_for};
use crate::{on, on_each_path};

/// The time of birth travels in a request (statx) that the adapter library does not know.
#[test]
fn no_time_of_birth_is_told() {
    on_each_path(|path, scratch, mount| {
        let told = |file| {
            let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
            rustix::fs::statx(CWD, &file, AtFlags::empty(), wanted).unwrap()
        };
        let (below, above) = (told(scratch.write("f", "text")), told(mount.join("f")));
        assert_ne!(below.stx_mask & StatxFlags::BTIME.bits(), 0);
        assert_eq!(above.stx_mask & StatxFlags::BTIME.bits(), 0, "{path}: birth times have come: tell so");
        assert_eq!(
            (above.stx_size, above.stx_blocks, above.stx_mtime.tv_nsec),
            (below.stx_size, below.stx_blocks, below.stx_mtime.tv_nsec)
        );
    });
}

/// A program that watches a directory of the mount hears of what is done through the mount. The kernel has no way to tell it
/// of changes made below.
#[test]
fn inotify_in_the_mount_hears_of_changes_above_only() {
    on_each_path(|path, scratch, mount| {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, mount.point(), inotify::WatchFlags::CREATE).unwrap();
        scratch.write("below", "");
        // Whether the mount knows it by now or not.
        fs::write(mount.join("above"), "").unwrap();
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = events.next() {
            names.extend(event.file_name().map(|name| name.to_owned()));
        }
        assert_eq!(names, [c"above".to_owned()], "{path}");
    });
}

/// Where opens are requests, an open that an append-only or immutable file does not allow is refused. On `resident` nobody is
/// asked at an open, and FUSE has no word for these flags: what is refused there is the write. Neither path changes anything.
#[test]
fn files_that_must_not_change_do_not() {
    on_each_path(|path, scratch, mount| {
        scratch.write("fixed", "text");
        scratch.write("grows", "text");
        sh(&scratch.source(), "chattr +i fixed; chattr +a grows");
        let mut refusals = Vec::new();
        for name in ["fixed", "grows"] {
            match File::options().write(true).open(mount.join(name)) {
                Ok(file) => refusals.push(("write", file.write_at(b"X", 0).unwrap_err().raw_os_error())),
                Err(error) => refusals.push(("open", error.raw_os_error())),
            }
        }
        let removal = fs::remove_file(mount.join("fixed")).unwrap_err().raw_os_error();
        let appended = std::io::Write::write_all(
            &mut File::options().append(true).open(mount.join("grows")).unwrap(),
            b" more",
        );
        sh(&scratch.source(), "chattr -i fixed; chattr -a grows");
        let (step, refused) =
            (if path == "resident" { "write" } else { "open" }, Some(Errno::PERM.raw_os_error()));
        assert_eq!(refusals, [(step, refused); 2], "{path}");
        assert_eq!(removal, refused);
        appended.unwrap();
        let below = |name| fs::read_to_string(scratch.source().join(name)).unwrap();
        assert_eq!((below("fixed"), below("grows")), ("text".into(), "text more".into()), "{path}");
    });
}

/// Where opens are requests, an open file is there until it is closed, whatever is removed below. On `resident` nobody says
/// that it is open, but those met lately are held while the source is watched. (Of others that are removed below, what is not
/// in memory has gone, as on a network file system.)
#[test]
fn a_file_removed_below_goes_on_until_it_is_closed() {
    on_each_path(|path, scratch, mount| {
        wait_for("the source to be watched", || mount.stats()["watch"]["active"].as_bool()?.then_some(()));
        let below = scratch.write("f", "text");
        let file = File::options().read(true).write(true).open(mount.join("f")).unwrap();
        fs::remove_file(below).unwrap();
        wait_for("the name to go", || (!mount.join("f").exists()).then_some(()));
        file.write_at(b"TE", 0).unwrap();
        let mut content = [0; 4];
        file.read_exact_at(&mut content, 0).unwrap();
        assert_eq!(&content, b"TExt", "{path}");
        file.set_len(1).unwrap();
        file.sync_all().unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1);
        fs::write(mount.join("f"), "anew").unwrap();
        assert_eq!(fs::read(scratch.source().join("f")).unwrap(), b"anew");
        drop(file);
        wait_for("the space", || (deleted(mount) == 0).then_some(()));
    });
}

/// More files than are held are met after the removal.
#[test]
fn a_removed_file_outlasts_many_others() {
    on(&["resident"], |_, scratch, mount| {
        wait_for("the source to be watched", || mount.stats()["watch"]["active"].as_bool()?.then_some(()));
        let below = scratch.write("f", "text");
        let others: Vec<_> = (0..1500).map(|n| format!("other-{n}")).collect();
        others.iter().for_each(|name| drop(scratch.write(name, "")));
        let file = File::options().write(true).open(mount.join("f")).unwrap();
        fs::remove_file(below).unwrap();
        others.iter().for_each(|name| assert!(fs::read(mount.join(name)).unwrap().is_empty()));
        file.write_at(b"TE", 0).unwrap();
        assert_ne!(deleted(mount), 0);
        drop(file);
        wait_for("the space", || (deleted(mount) == 0).then_some(()));
    });
}

/// Removed files that the daemon holds.
fn deleted(mount: &Mount) -> usize {
    let held = fs::read_dir(format!("/proc/{}/fd", mount.pid())).unwrap();
    let links = held.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().ends_with(" (deleted)")).count()
}
