//! Set-ID bits and file capabilities go when content or owner change, by the rules of the source, whoever asks.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::XattrFlags;

use crate::mount::process::{ALICE, sh_as};
use crate::on_each_path;

/// What takes them away, as a script over the file `f`.
const CHANGES: [&str; 5] = [
    "printf x >> f",
    "truncate -s 1 f",
    ": > f",
    "fallocate -l 10 f",
    "dd if=/dev/zero of=f count=1 conv=notrunc status=none",
];

const MODES: [u32; 4] = [0o6777, 0o2767, 0o4777, 0o6767];

fn fresh(directory: &Path, mode: u32) {
    fs::write(directory.join("f"), "text").unwrap();
    fs::set_permissions(directory.join("f"), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(directory: &Path) -> u32 {
    fs::metadata(directory.join("f")).unwrap().mode() & 0o7777
}

#[test]
fn bits_go_with_a_change_as_in_a_plain_directory() {
    on_each_path(|path, scratch, mount| {
        let native = scratch.join("native");
        fs::create_dir(&native).unwrap();
        for user in [ALICE, 0] {
            for change in CHANGES {
                for bits in MODES {
                    for directory in [&native, mount.point()] {
                        fresh(directory, bits);
                        // So that the kernel has seen them.
                        assert_eq!(mode(directory), bits);
                        assert_eq!(sh_as(user, directory, change), (0, String::new()), "{path}");
                    }
                    let told = (mode(mount.point()), mode(&scratch.source()));
                    assert_eq!(told, (mode(&native), mode(&native)), "{path}: {user} {change} {bits:o}");
                }
            }
        }
    });
}

#[test]
fn bits_go_with_a_change_of_owner() {
    on_each_path(|path, scratch, mount| {
        let native = scratch.join("native");
        fs::create_dir(&native).unwrap();
        for owner in ["54321:54321", ":54321", "0"] {
            for bits in MODES {
                for directory in [&native, mount.point()] {
                    fresh(directory, bits);
                    assert_eq!(sh_as(0, directory, &format!("chown {owner} f")), (0, String::new()));
                }
                let told = (mode(mount.point()), mode(&scratch.source()));
                assert_eq!(told, (mode(&native), mode(&native)), "{path}: {owner} {bits:o}");
            }
        }
    });
}

/// A change of owner that changes nothing takes the bits all the same; whoever is neither owner nor root, and may not
/// write, may not even ask.
#[test]
fn a_stranger_takes_no_bits_away() {
    let ask = r#"perl -e 'exit !chown -1, -1, "f"'"#;
    on_each_path(|path, scratch, mount| {
        let native = scratch.join("native");
        fs::create_dir(&native).unwrap();
        for (user, bits) in [(ALICE, 0o4755), (ALICE, 0o2755), (ALICE, 0o6775), (0, 0o6777), (0, 0o6755)] {
            let told = [&native, mount.point()].map(|directory| {
                fresh(directory, bits);
                assert_eq!(mode(directory), bits);
                (sh_as(user, directory, ask).0, mode(directory))
            });
            assert_eq!(told[0], told[1], "{path}: {user} {bits:o}");
            assert_eq!(mode(&scratch.source()), told[0].1, "{path}: {user} {bits:o}");
        }
    });
}

const CAPABILITY: &str = "security.capability";

/// `cap_net_bind_service=p`, in the form of the attribute's second version.
const VALUE: [u8; 20] = [0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn has_capability(file: &Path) -> bool {
    let mut value = [0; 64];
    match rustix::fs::getxattr(file, CAPABILITY, &mut value) {
        Ok(length) => value[..length] == VALUE,
        Err(error) => {
            assert_eq!(error, rustix::io::Errno::NODATA);
            false
        }
    }
}

#[test]
fn capabilities_are_kept_until_content_or_owner_change() {
    on_each_path(|path, scratch, mount| {
        let (above, below) = (mount.join("f"), scratch.source().join("f"));
        for (user, change) in
            [(ALICE, "printf x >> f"), (ALICE, "truncate -s 1 f"), (0, "printf x >> f"), (0, "chown 54321 f")]
        {
            fresh(mount.point(), 0o777);
            rustix::fs::setxattr(&above, CAPABILITY, &VALUE, XattrFlags::empty()).unwrap();
            assert!(has_capability(&above) && has_capability(&below), "{path}");
            assert_eq!(sh_as(user, mount.point(), change), (0, String::new()));
            assert!(!has_capability(&above) && !has_capability(&below), "{path}: {user} {change}");
        }
    });
}

#[test]
fn the_length_of_an_attribute_can_be_asked_for() {
    on_each_path(|path, scratch, mount| {
        scratch.write("f", "text");
        let file = mount.join("f");
        rustix::fs::setxattr(&file, "user.word", b"seven b", XattrFlags::empty()).unwrap();
        assert_eq!(rustix::fs::getxattr_query(&file, "user.word"), Ok(7), "{path}");
        assert_eq!(rustix::fs::listxattr_query(&file), Ok("user.word\0".len()), "{path}");
    });
}
