//! Single files in all the states they can be in.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::mount::map::Map;
use crate::mount::process::{Running, output_within, sh};
use crate::mount::scratch::Scratch;
use crate::mount::{PATHS, PATIENCE, wait_for, wait_up_to};

fn read_write(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

fn content(file: &mut File) -> String {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_open_file_outlives_its_name() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        for (name, replaced) in [("removed", false), ("replaced", true)] {
            let at = mount.join(name);
            fs::write(&at, "first").unwrap();
            let mut open = read_write(&at);
            if replaced {
                fs::write(mount.join("other"), "second").unwrap();
                fs::rename(mount.join("other"), &at).unwrap();
                assert_eq!(fs::read_to_string(&at).unwrap(), "second", "{path}");
            } else {
                fs::remove_file(&at).unwrap();
                assert!(!at.exists(), "{path}");
            }
            assert_eq!(content(&mut open), "first", "{name} on {path}");
            open.write_all(b" and more").unwrap();
            open.sync_all().unwrap();
            assert_eq!(content(&mut open), "first and more", "{name} on {path}");
            assert_eq!(open.metadata().unwrap().len(), 14, "{name} on {path}");
            assert_eq!(open.metadata().unwrap().nlink(), 0, "{name} on {path}");
            open.set_len(3).unwrap();
            // Also once nothing is held open on behalf of requests any more.
            std::thread::sleep(Duration::from_millis(900));
            assert_eq!(content(&mut open), "fir", "{name} on {path}");
            open.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!(open.metadata().unwrap().mode() & 0o777, 0o640, "{name} on {path}");
        }
    }
}

#[test]
fn hard_links_are_one_file() {
    for path in PATHS {
        let scratch = Scratch::new();
        let first = scratch.write("first", "one");
        fs::hard_link(&first, scratch.source().join("second")).unwrap();
        let mount = scratch.mount(path).start();
        fs::create_dir(mount.join("dir")).unwrap();
        fs::hard_link(mount.join("second"), mount.join("dir/third")).unwrap();
        let names = ["first", "second", "dir/third"];
        let stats = || names.map(|name| fs::metadata(mount.join(name)).unwrap());
        let numbers = stats().map(|stat| (stat.ino(), stat.nlink()));
        assert_eq!(numbers, [(numbers[0].0, 3); 3], "{path}");
        fs::write(mount.join("second"), "changed").unwrap();
        assert_eq!(names.map(|name| fs::read_to_string(mount.join(name)).unwrap()), ["changed"; 3], "{path}");
        fs::remove_file(mount.join("first")).unwrap();
        assert_eq!(fs::metadata(mount.join("dir/third")).unwrap().nlink(), 2, "{path}");
        assert_eq!(fs::read_to_string(mount.join("second")).unwrap(), "changed", "{path}");
    }
}

#[test]
fn names_are_bytes() {
    let names: [&[u8]; 6] = [
        b"\xff\xfe",
        b" blank ",
        b"line\nbreak",
        b"comma,back\\slash",
        "\u{fc}ml\u{e4}ut".as_bytes(),
        &[b'n'; 255],
    ];
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        for name in names {
            let name = OsStr::from_bytes(name);
            fs::write(mount.join(name), name.as_bytes()).unwrap();
            assert_eq!(fs::read(mount.join(name)).unwrap(), name.as_bytes());
            assert_eq!(fs::read(scratch.source().join(name)).unwrap(), name.as_bytes());
        }
        let mut listed: Vec<_> =
            fs::read_dir(mount.point()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let mut expected = names.map(|name| OsStr::from_bytes(name).to_owned());
        listed.sort();
        expected.sort();
        assert_eq!(listed, expected, "{path}");
    }
}

#[test]
fn a_read_only_mount_refuses_every_change() {
    for path in PATHS {
        let scratch = Scratch::new();
        scratch.write("file", "as it was");
        let mount = scratch.mount(path).option("ro").start();
        let file = mount.join("file");
        let refused = |what: &str, result: std::io::Result<()>| {
            let code = result.err().and_then(|error| error.raw_os_error());
            assert_eq!(code, Some(libc::EROFS), "{what} on {path}");
        };
        refused("write", fs::write(&file, "x"));
        refused("append", File::options().append(true).open(&file).map(drop));
        refused("create", File::create(mount.join("new")).map(drop));
        refused("mkdir", fs::create_dir(mount.join("new")));
        refused("unlink", fs::remove_file(&file));
        refused("rename", fs::rename(&file, mount.join("new")));
        refused("link", fs::hard_link(&file, mount.join("new")));
        refused("symlink", std::os::unix::fs::symlink("x", mount.join("new")));
        refused("chmod", fs::set_permissions(&file, fs::Permissions::from_mode(0o600)));
        refused("chown", std::os::unix::fs::chown(&file, Some(1), None));
        let xattr = rustix::fs::setxattr(&file, "user.x", b"1", rustix::fs::XattrFlags::empty());
        refused("setxattr", xattr.map_err(Into::into));
        assert_eq!(fs::read_to_string(&file).unwrap(), "as it was", "{path}");
    }
}

#[test]
fn holes_stay_holes() {
    const FAR: u64 = 64 << 20;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.write("sparse", "");
        let file = File::options().write(true).open(&below).unwrap();
        file.write_all_at(b"island", FAR).unwrap();
        let mount = scratch.mount(path).start();
        let mut seen = read_write(&mount.join("sparse"));
        assert_eq!(seen.metadata().unwrap().len(), FAR + 6);
        assert!(seen.metadata().unwrap().blocks() < 100, "{path}");
        assert_eq!(rustix::fs::seek(&seen, rustix::fs::SeekFrom::Data(0)), Ok(FAR & !4095), "{path}");
        assert_eq!(rustix::fs::seek(&seen, rustix::fs::SeekFrom::Hole(FAR)), Ok(FAR + 6), "{path}");
        let mut room = [9; 16];
        seen.read_exact_at(&mut room, FAR / 2).unwrap();
        assert_eq!(room, [0; 16], "{path}");
        seen.write_all_at(b"another", 2 * FAR).unwrap();
        seen.seek(SeekFrom::Start(FAR)).unwrap();
        assert!(fs::metadata(&below).unwrap().blocks() < 100, "{path}: written around the hole");
        assert_eq!(fs::metadata(&below).unwrap().len(), 2 * FAR + 7, "{path}");
    }
}

#[test]
fn mapped_files_and_read_files_are_the_same() {
    const LEN: usize = 3 * 4096 + 100;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.write("file", vec![1; LEN]);
        let mount = scratch.mount(path).start();
        let file = read_write(&mount.join("file"));
        let mut map = Map::of(&file, LEN, true);
        assert_eq!([0, 4096, LEN - 1].map(|at| map.get(at)), [1; 3], "{path}");
        file.write_all_at(&[2], 4096).unwrap();
        assert_eq!(map.get(4096), 2, "{path}: a write is seen in the map");
        map.set(5000, 3);
        let mut byte = [0];
        file.read_exact_at(&mut byte, 5000).unwrap();
        assert_eq!(byte, [3], "{path}: the map is seen by a read");
        map.sync();
        assert_eq!(fs::read(&below).unwrap()[5000], 3, "{path}: synced, it is in the source");
        map.set(LEN - 1, 4);
        drop((map, file));
        wait_for("what was mapped to reach the source", || {
            let there = fs::read(&below).unwrap();
            (there.len() == LEN && there[LEN - 1] == 4).then_some(())
        });
        let other = File::open(mount.join("file")).unwrap();
        assert_eq!(Map::of(&other, LEN, false).get(LEN - 1), 4, "{path}");
    }
}

/// A program of its own: some systems have no `true` that is not a link to something larger.
fn program(directory: &Path, name: &str) {
    fs::copy(fs::canonicalize("/bin/true").unwrap(), directory.join(name)).unwrap();
    fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn programs_run_from_the_mount_and_are_not_busy_afterwards() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        program(mount.point(), "prog");
        let run = |program: &Path| output_within(&mut Command::new(program), PATIENCE).status.code();
        assert_eq!(run(&mount.join("prog")), Some(0), "{path}");
        // What was written through the mount is no longer open for writing once it has been closed.
        let below = scratch.source().join("prog");
        wait_up_to(
            Duration::from_secs(5),
            &format!("the program in the source of {path} to be free"),
            || {
                let started = Command::new(&below).spawn();
                match started {
                    Ok(mut child) => child.wait().unwrap().success().then_some(()),
                    Err(error) => {
                        assert_eq!(error.raw_os_error(), Some(libc::ETXTBSY), "{path}: {error}");
                        None
                    }
                }
            },
        );
        // And what runs from the mount can be written again when it has ended.
        program(mount.point(), "prog");
        assert_eq!(run(&mount.join("prog")), Some(0), "{path}");
    }
}

#[test]
fn a_running_program_cannot_be_written() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        fs::copy(fs::canonicalize("/bin/sleep").unwrap(), mount.join("prog")).unwrap();
        let running = Running::start(Command::new(mount.join("prog")).arg("60"));
        let refused = File::options().write(true).open(mount.join("prog")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ETXTBSY), "{path}");
        drop(running);
        File::options().write(true).open(mount.join("prog")).unwrap();
    }
}

#[test]
fn a_default_acl_replaces_the_umask() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        fs::create_dir(scratch.join("native")).unwrap();
        let script = "mkdir d; setfacl -d -m u:12345:rwx,g::rx,o::- d; umask 077; touch d/f; mkdir d/s; \
                      getfacl -cnE d d/f d/s; stat -c '%n %a' d/f d/s";
        let (expected, found) = (sh(&scratch.join("native"), script), sh(mount.point(), script));
        assert!(expected.contains("user:12345:rwx"), "{expected}");
        assert_eq!(found, expected, "{path}");
        assert_eq!(
            sh(&scratch.source(), "getfacl -cnE d d/f d/s; stat -c '%n %a' d/f d/s"),
            expected,
            "{path}"
        );
    }
}
