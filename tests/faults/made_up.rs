//! Files whose content comes into being when they are read (as in /proc): their size is told as 0, and what was read once
//! must not be kept.

use std::fs;
use std::path::Path;

use crate::mount::scratch::Scratch;
use crate::mount::{Mount, PATHS};

const SOURCE: &str = "/proc/sys/kernel";

#[test]
fn files_of_size_0_have_their_content() {
    for path in PATHS {
        let scratch = Scratch::new();
        let mount = Mount::of(Path::new(SOURCE), &scratch.point()).path(path).start();
        for name in ["ostype", "osrelease", "pid_max"] {
            let native = Path::new(SOURCE).join(name);
            assert_eq!(fs::metadata(&native).unwrap().len(), 0);
            assert_eq!(fs::read(mount.join(name)).unwrap(), fs::read(&native).unwrap(), "{path} {name}");
        }
        // Another one at each reading.
        let uuid = || fs::read(mount.join("random/uuid")).unwrap();
        let first = uuid();
        assert_eq!(first.len(), 37);
        assert_ne!(first, uuid(), "{path}");
    }
}

/// A cache keeps what has a size and times that tell of changes: not these.
#[test]
fn a_cache_of_our_own_does_not_keep_them() {
    let scratch = Scratch::new();
    let mount = Mount::of(Path::new(SOURCE), &scratch.point()).option("cache=own").start();
    assert_eq!(fs::read(mount.join("ostype")).unwrap(), b"Linux\n");
    let uuid = || fs::read(mount.join("random/uuid")).unwrap();
    assert!(!uuid().is_empty() && uuid() != uuid());
}
