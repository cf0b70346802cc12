//! Changes made directly in the source are seen in the mount.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::time::Duration;

use crate::mount::scratch::Scratch;
use crate::mount::{PATHS, wait_up_to};

/// A second and a half is what is promised; the rest is for machines that do many things at once.
const SOON: Duration = Duration::from_millis(3000);

/// On every path, with the source watched and not.
fn everywhere(test: impl Fn(&str, &Scratch, &crate::mount::Mount)) {
    for path in PATHS {
        for watch in ["auto", "off"] {
            let scratch = Scratch::new();
            scratch.write("dir/file", "old content");
            scratch.write("dir/other", "something else");
            let mount = scratch.mount(path).option(&format!("watch={watch}")).start();
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
