//! A source whose files can be out of memory, and a job that reads them in an order of its own.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use augurfs::sys::cachestat;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::image::{Image, drop_caches};
use super::process::{Running, output_within};
use super::{Mount, PATIENCE, Recipe, wait_for};

/// Files of the tree.
pub const FILES: usize = 400;
const DIRECTORIES: usize = 20;
/// Three pages, the last not full.
const SIZE: usize = 9_000;

/// Emptying the caches empties those of every test: one at a time.
static CACHES: Mutex<()> = Mutex::new(());

/// While this is held nobody else empties the caches.
pub fn alone() -> MutexGuard<'static, ()> {
    CACHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The source, and places beside it.
pub struct Stage {
    // First, so that it is unmounted first.
    point: tempfile::TempDir,
    pub image: Image,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// The tree is written, and out of memory.
    pub fn new() -> Self {
        // A test that failed has left nothing behind that would harm the next one.
        let alone = alone();
        let stage = Stage { point: tempfile::tempdir().unwrap(), image: Image::new(), _alone: alone };
        for directory in 0..DIRECTORIES {
            fs::create_dir(stage.image.point().join(format!("dir-{directory}"))).unwrap();
        }
        for number in 0..FILES {
            fs::write(stage.image.point().join(name(number)), vec![number as u8; SIZE]).unwrap();
        }
        let mounted = stage.dir().join("mounted");
        fs::create_dir(&mounted).unwrap();
        let pipe = CString::new(stage.pipe().to_str().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, pipe.as_c_str(), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        drop_caches();
        stage
    }

    fn dir(&self) -> PathBuf {
        fs::canonicalize(self.point.path()).unwrap()
    }

    fn pipe(&self) -> PathBuf {
        self.dir().join("pipe")
    }

    /// A path beside source and mount.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub fn mount(&self, path: &str, predictor: &str) -> Recipe {
        Mount::of(self.image.point(), &self.dir().join("mounted"))
            .path(path)
            .option(&format!("predictor={predictor}"))
    }

    /// Reads these files, one after the other, in one process.
    pub fn run(&self, mount: &Mount, files: &[String]) {
        let output = output_within(&mut cat(mount.point(), files), PATIENCE);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout.len(), files.len() * SIZE);
    }

    /// Reads these files and then waits, still alive; afterwards `finish` ends it.
    pub fn begin(&self, mount: &Mount, files: &[String]) -> Waiting {
        self.begin_as(0, mount, files)
    }

    /// As `begin`, as this user.
    pub fn begin_as(&self, user: u32, mount: &Mount, files: &[String]) -> Waiting {
        for (place, mode) in [(self.dir(), 0o755), (self.pipe(), 0o644)] {
            fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut command = cat(mount.point(), files);
        if user != 0 {
            command.uid(user).gid(user);
        }
        command.arg(self.pipe()).stdout(Stdio::null());
        let running = Running::start(&mut command);
        // Opening our end waits for the other: by then everything before it has been read.
        let end = wait_for("the job to get there", || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(self.pipe(), flags, Mode::empty()).ok().map(File::from)
        });
        Waiting { end, running }
    }

    /// Is all of it in memory: in the source's pages, or in those of the mount?
    pub fn resident(&self, eye: &Eye, file: &str) -> bool {
        eye.places(self).any(|root| all_cached(&root.join(file)))
    }

    /// Waits until each of these has been resident: the machine may take memory back meanwhile.
    ///
    /// # Panics
    /// When they do not become so; with what is missing.
    pub fn await_all(&self, mount: &Mount, eye: &Eye, files: &[String]) {
        let start = Instant::now();
        let mut missing: Vec<_> = files.iter().collect();
        while !missing.is_empty() {
            assert!(start.elapsed() < PATIENCE, "not brought: {missing:?}; {}", mount.stats());
            missing.retain(|file| !self.resident(eye, file));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// As `resident`, but is any of it?
    pub fn touched(&self, eye: &Eye, file: &str) -> bool {
        eye.places(self).any(|root| !none_cached(&root.join(file)))
    }
}

/// A job that waits.
pub struct Waiting {
    end: File,
    running: Running,
}

impl Waiting {
    /// Ends the job.
    pub fn finish(self) {
        let Waiting { mut end, running } = self;
        end.write_all(b"end\n").unwrap();
        drop(end);
        assert_eq!(running.finish(), Some(0));
    }
}

/// Looks at what is in memory without being seen: at the source, and where data stays in the mount's own cache, at that, through
/// a second place of the same mount, on which opens are not watched (and, with this path, are no requests).
pub struct Eye(Option<tempfile::TempDir>);

impl Eye {
    /// For a mount by this path.
    pub fn on(mount: &Mount, path: &str) -> Self {
        Eye((path == "resident").then(|| {
            let dir = tempfile::tempdir().unwrap();
            rustix::mount::mount_bind(mount.point(), dir.path()).unwrap();
            dir
        }))
    }

    fn places<'a>(&'a self, stage: &'a Stage) -> impl Iterator<Item = &'a Path> {
        std::iter::once(stage.image.point()).chain(self.0.as_ref().map(|dir| dir.path()))
    }
}

impl Drop for Eye {
    fn drop(&mut self) {
        if let Some(dir) = &self.0 {
            let _ = rustix::mount::unmount(dir.path(), rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// The name of a file by its number; neighbours are in different directories.
pub fn name(number: usize) -> String {
    format!("dir-{}/file-{number}", number % DIRECTORIES)
}

/// The files in the order of the job: not the order of their names or places.
pub fn order() -> Vec<String> {
    // 171 has no divisor in common with 400: every file once.
    (0..FILES).map(|step| name((step * 171 + 3) % FILES)).collect()
}

fn cat(directory: &Path, files: &[String]) -> Command {
    let mut command = Command::new("cat");
    // A job of its own, as an interactive shell would make it.
    command.args(files).current_dir(directory).stdin(Stdio::null()).process_group(0);
    command
}

fn cached(path: &Path) -> cachestat::Cached {
    let flags = OFlags::RDONLY | OFlags::NOATIME | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).unwrap();
    let size = rustix::fs::statat(&file, c"", AtFlags::EMPTY_PATH).unwrap().st_size as u64;
    cachestat::cached(&file, 0, size).unwrap()
}

fn all_cached(path: &Path) -> bool {
    cached(path).all()
}

fn none_cached(path: &Path) -> bool {
    cached(path).none()
}
