//! Only regular files are ever opened ahead of their use.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::mount::image::drop_caches;
use crate::mount::stage::{Eye, FILES, Stage, order};
use crate::mount::{PATHS, wait_for};

/// What became of three files that had been learned.
const FIFO: usize = 100;
const DEVICE: usize = 101;
const LINK: usize = 102;

fn replace(path: &Path, kind: FileType, device: u64) {
    fs::remove_file(path).unwrap();
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o666), device).unwrap();
}

#[test]
fn fifos_devices_and_links_are_never_opened_ahead() {
    for path in PATHS {
        let stage = Stage::new();
        let secret = stage.beside("secret");
        fs::write(&secret, vec![1; 100_000]).unwrap();
        let order = order();
        let source = |step: usize| stage.image.point().join(&order[step]);
        let mount = stage.mount(path, "default").start();
        stage.run(&mount, &order);
        replace(&source(FIFO), FileType::Fifo, 0);
        // Reading it would be harmless; opening it is what must not happen.
        replace(&source(DEVICE), FileType::CharacterDevice, rustix::fs::makedev(1, 3));
        fs::remove_file(source(LINK)).unwrap();
        symlink(&secret, source(LINK)).unwrap();
        drop_caches();
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        for node in [source(FIFO), source(DEVICE), secret.clone()] {
            inotify::add_watch(&watch, node, WatchFlags::OPEN).unwrap();
        }
        let eye = Eye::on(&mount, path);
        let job = stage.begin(&mount, &order[..5]);
        wait_for(&format!("the files around them on {path}"), || {
            [FIFO - 1, LINK + 1, FILES - 1]
                .iter()
                .all(|step| stage.resident(&eye, &order[*step]))
                .then_some(())
        });
        drop(eye);
        let mut room = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut room);
        assert_eq!(events.next().err(), Some(rustix::io::Errno::AGAIN), "{path}: something was opened");
        // Somebody who waits in opening the fifo would let us open its other end.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        let other_end = rustix::fs::open(source(FIFO), flags, Mode::empty());
        assert_eq!(other_end.err(), Some(rustix::io::Errno::NXIO), "{path}: a reader waits at the fifo");
        job.finish();
    }
}
