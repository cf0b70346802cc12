//! Changes made directly in the source are seen in the mount.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::Signal;

use crate::mount::map::Map;
use crate::mount::scratch::Scratch;
use crate::mount::{Mount, PATHS, wait_for, wait_up_to};

/// A second and a half is what is promised; the rest is for machines that do many things at once.
const SOON: Duration = Duration::from_millis(3000);

/// More than the kernel's queue of changes holds (16,384, unless the system was told otherwise).
const FLOOD: usize = 20_000;

fn is_watched(mount: &Mount) -> bool {
    mount.stats()["watch"]["active"] == true
}

/// On every path, with the source watched and not.
fn everywhere(test: impl Fn(&str, &Scratch, &Mount)) {
    for path in PATHS {
        for watch in ["auto", "off"] {
            let scratch = Scratch::new();
            scratch.write("dir/file", "old content");
            scratch.write("dir/other", "something else");
            let mount = scratch.mount(path).option(&format!("watch={watch}")).start();
            assert_eq!(is_watched(&mount), watch == "auto", "{}", mount.stats()["watch"]);
            test(&format!("{path}, watch={watch}"), &scratch, &mount);
        }
    }
}

#[test]
fn new_content_is_seen() {
    everywhere(|how, scratch, mount| {
        let (above, below) = (mount.join("dir/file"), scratch.source().join("dir/file"));
        let open = File::open(&above).unwrap();
        assert_eq!(fs::read_to_string(&above).unwrap(), "old content");
        // As long as before, and in place.
        File::options().write(true).open(&below).unwrap().write_all_at(b"new", 0).unwrap();
        wait_up_to(SOON, &format!("new content on {how}"), || {
            (fs::read_to_string(&above).unwrap() == "new content").then_some(())
        });
        let mut room = [0; 11];
        open.read_exact_at(&mut room, 0).unwrap();
        assert_eq!(&room, b"new content", "{how}: by what was open already");
        fs::write(&below, "much longer than it was").unwrap();
        wait_up_to(SOON, &format!("another size on {how}"), || {
            (fs::read_to_string(&above).unwrap() == "much longer than it was").then_some(())
        });
        assert_eq!(fs::metadata(&above).unwrap().len(), 23, "{how}");
        fs::write(scratch.source().join("dir/replacement"), "replaced").unwrap();
        fs::rename(scratch.source().join("dir/replacement"), &below).unwrap();
        wait_up_to(SOON, &format!("another file of that name on {how}"), || {
            (fs::read_to_string(&above).unwrap() == "replaced").then_some(())
        });
    });
}

#[test]
fn new_names_and_gone_names_are_seen() {
    everywhere(|how, scratch, mount| {
        let list = || {
            let entries = fs::read_dir(mount.join("dir")).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(list(), ["file", "other"], "{how}");
        assert!(!mount.join("dir/new").exists());
        fs::write(scratch.source().join("dir/new"), "came below").unwrap();
        wait_up_to(SOON, &format!("a new name on {how}"), || mount.join("dir/new").exists().then_some(()));
        wait_up_to(SOON, &format!("a new entry on {how}"), || {
            (list() == ["file", "new", "other"]).then_some(())
        });
        fs::remove_file(scratch.source().join("dir/other")).unwrap();
        wait_up_to(SOON, &format!("a name gone on {how}"), || {
            (!mount.join("dir/other").exists()).then_some(())
        });
        wait_up_to(SOON, &format!("an entry gone on {how}"), || (list() == ["file", "new"]).then_some(()));
        fs::rename(scratch.source().join("dir"), scratch.source().join("moved")).unwrap();
        wait_up_to(SOON, &format!("a directory moved on {how}"), || {
            let moved = fs::read_to_string(mount.join("moved/new")).is_ok_and(|text| text == "came below");
            (moved && !mount.join("dir").exists()).then_some(())
        });
    });
}

#[test]
fn new_attributes_are_seen() {
    everywhere(|how, scratch, mount| {
        let (above, below) = (mount.join("dir/file"), scratch.source().join("dir/file"));
        assert_eq!(fs::metadata(&above).unwrap().mode() & 0o777, 0o644, "{how}");
        fs::set_permissions(&below, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&below, Some(7), Some(8)).unwrap();
        fs::hard_link(&below, scratch.source().join("link")).unwrap();
        wait_up_to(SOON, &format!("new attributes on {how}"), || {
            let stat = fs::metadata(&above).unwrap();
            ((stat.mode() & 0o777, stat.uid(), stat.gid(), stat.nlink()) == (0o600, 7, 8, 2)).then_some(())
        });
    });
}

/// Stores through a shared mapping are no changes to the kernel until mapping and descriptor have gone, and only the
/// first one changes the file's times: who does not watch has no way to know.
#[test]
fn stores_through_a_mapping_are_seen() {
    for how in PATHS {
        let scratch = Scratch::new();
        scratch.write("dir/file", "old content");
        let mount = scratch.mount(how).start();
        let (above, below) = (mount.join("dir/file"), scratch.source().join("dir/file"));
        let file = File::options().read(true).write(true).open(&below).unwrap();
        let mut map = Map::of(&file, 11, true);
        map.set(0, b'o');
        assert_eq!(fs::read_to_string(&above).unwrap(), "old content", "{how}");
        for (at, byte) in b"new".iter().enumerate() {
            map.set(at, *byte);
        }
        drop((map, file));
        wait_up_to(SOON, &format!("what was stored on {how}"), || {
            (fs::read_to_string(&above).unwrap() == "new content").then_some(())
        });
    }
}

#[test]
fn a_source_without_handles_is_not_relied_on() {
    let scratch = Scratch::new();
    // Its changes are reported, but files have no handles: no report could be known to concern one.
    let source = Overlay::at(&scratch);
    scratch.write("file", "old");
    let mount = scratch.mount("resident").start();
    assert!(!is_watched(&mount), "{}", mount.stats()["watch"]);
    assert!(!mount.join("new").exists());
    assert_eq!(fs::read_to_string(mount.join("file")).unwrap(), "old");
    scratch.write("file", "changed");
    scratch.write("new", "");
    wait_up_to(SOON, "new content", || {
        (fs::read_to_string(mount.join("file")).unwrap() == "changed").then_some(())
    });
    wait_up_to(SOON, "a new name", || mount.join("new").exists().then_some(()));
    drop((mount, source));
}

/// Makes more changes than the kernel remembers, and others that it therefore forgets.
fn flood(scratch: &Scratch, mount: &Mount, number: usize, meanwhile: impl FnOnce()) {
    let noise = scratch.join(format!("noise-{number}"));
    fs::create_dir(&noise).unwrap();
    // Nobody reads the reports.
    mount.signal(Signal::STOP);
    fs::write(noise.join("0"), "").unwrap();
    // One report for each name: those of the same name may be merged.
    for number in 1..FLOOD {
        fs::rename(noise.join(format!("{}", number - 1)), noise.join(format!("{number}"))).unwrap();
    }
    meanwhile();
    mount.signal(Signal::CONT);
}

#[test]
fn what_is_lost_in_a_flood_is_seen_all_the_same() {
    let scratch = Scratch::new();
    scratch.write("dir/file", "old");
    scratch.write("dir/linked", "linked");
    let source = scratch.source();
    fs::hard_link(source.join("dir/linked"), source.join("link")).unwrap();
    fs::hard_link(source.join("dir/linked"), source.join("dir/again")).unwrap();
    let mount = scratch.mount("resident").start();
    // What the daemon was told at first may be relied on for a second only.
    fs::metadata(mount.join("dir/file")).unwrap();
    wait_for("a name that is not asked for again", || {
        let before = mount.count("/requests/lookup/count");
        std::thread::sleep(Duration::from_millis(1200));
        fs::metadata(mount.join("dir/file")).unwrap();
        (mount.count("/requests/lookup/count") == before).then_some(())
    });
    let linked = ["dir/linked", "link", "dir/again"].map(|name| mount.join(name));
    // The first name is asked for last, and remembered.
    for name in linked.iter().rev() {
        assert_eq!(fs::read_to_string(name).unwrap(), "linked");
    }
    let held = File::open(&linked[2]).unwrap();
    let absent = ["absent", "dir/absent"].map(|name| mount.join(name));
    assert!(absent.iter().all(|name| !name.exists()));
    flood(&scratch, &mount, 0, || {
        fs::write(source.join("dir/file"), "new").unwrap();
        for name in ["link", "dir/again"] {
            fs::remove_file(source.join(name)).unwrap();
        }
        for name in ["absent", "dir/absent"] {
            fs::write(source.join(name), "").unwrap();
        }
    });
    wait_up_to(SOON, "new content", || {
        (fs::read_to_string(mount.join("dir/file")).unwrap() == "new").then_some(())
    });
    for name in &absent {
        wait_up_to(SOON, &format!("{} to come", name.display()), || name.exists().then_some(()));
    }
    for name in &linked[1..] {
        wait_up_to(SOON, &format!("{} to go", name.display()), || (!name.exists()).then_some(()));
    }
    drop(held);
}

#[test]
fn watching_rests_when_flood_follows_flood() {
    let scratch = Scratch::new();
    scratch.write("file", "old");
    let mount = scratch.mount("resident").start();
    assert_eq!(fs::read_to_string(mount.join("file")).unwrap(), "old");
    // Three within ten seconds, on a machine that has time; else some more.
    let mut number = 0;
    wait_for("it to rest", || {
        flood(&scratch, &mount, number, || {});
        number += 1;
        (!is_watched(&mount)).then_some(())
    });
    assert!(number >= 3, "a single flood is no storm");
    assert!(mount.stats()["watch"]["reason"].as_str().unwrap().contains("faster"));
    scratch.write("file", "new");
    wait_up_to(SOON, "new content by time-out", || {
        (fs::read_to_string(mount.join("file")).unwrap() == "new").then_some(())
    });
}

/// An overlay file system at the place of the source.
struct Overlay(PathBuf);

impl Overlay {
    fn at(scratch: &Scratch) -> Self {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| {
            let path = scratch.join(name);
            fs::create_dir(&path).unwrap();
            path.display().to_string()
        });
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let options = CString::new(options).unwrap();
        let place = scratch.source();
        rustix::mount::mount("none", &place, "overlay", MountFlags::empty(), Some(options.as_c_str()))
            .unwrap();
        Overlay(place)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}
