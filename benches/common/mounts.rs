//! A scratch directory in memory, loop devices and mounts, each undone when dropped; and the mount
//! namespace all of that happens in.
//!
//! What must stay true: nobody else sees our mounts, and none outlives us.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::mount::{MountFlags, UnmountFlags};

use super::shell::tool;

/// Fixed identities, so that hashed directories list in the same order every time.
const UUID: &str = "9b1a3f0e-52c7-4d0c-8f35-0c6f6f9a7e11";
/// Unmounting waits this long for the last users before it detaches.
const PATIENCE: Duration = Duration::from_secs(5);
/// Set in the copy of us that lives in its own mount namespace.
const INSIDE: &str = "AUGURFS_BENCH_INSIDE";

/// Runs us again, with the same arguments, in a mount namespace of our own; does nothing when that
/// has been done.
///
/// # Errors
/// Not root, or no `unshare`.
pub(crate) fn enter_namespace(arguments: &[OsString]) -> anyhow::Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        anyhow::bail!("needs root: it makes block devices and mounts them");
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    command.arg(std::env::current_exe()?).args(&arguments[1..]).env(INSIDE, "1");
    Err(anyhow::Error::new(command.exec()).context("unshare"))
}

/// A private tmpfs for images, models and output; gone when dropped.
pub(crate) struct Scratch {
    // In this order: what is mounted on the directory goes before it.
    _memory: Mounted,
    directory: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> anyhow::Result<Scratch> {
        let directory = tempfile::Builder::new().prefix("augurfs-bench-").tempdir()?;
        let _memory = Mounted::new("tmpfs", directory.path(), "tmpfs", "size=90%")?;
        Ok(Scratch { _memory, directory })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A new, empty directory.
    pub(crate) fn directory(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.path().join(name);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        }
        fs::create_dir(&path)?;
        Ok(path)
    }
}

/// Something mounted; unmounted when dropped.
pub(crate) struct Mounted {
    at: PathBuf,
}

impl Mounted {
    pub(crate) fn new(source: &str, at: &Path, kind: &str, data: &str) -> anyhow::Result<Mounted> {
        let data = std::ffi::CString::new(data)?;
        rustix::mount::mount(source, at, kind, MountFlags::NOATIME, data.as_c_str())
            .with_context(|| format!("mounting {kind} at {}", at.display()))?;
        Ok(Mounted { at: at.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.at);
    }
}

/// Unmounts, waits a while for those who still use it, and then detaches.
pub(crate) fn unmount(at: &Path) {
    let until = Instant::now() + PATIENCE;
    loop {
        match rustix::mount::unmount(at, UnmountFlags::NOFOLLOW) {
            Err(rustix::io::Errno::BUSY) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(rustix::io::Errno::BUSY) => {
                eprintln!("{} is still in use: detached", at.display());
                let _ = rustix::mount::unmount(at, UnmountFlags::DETACH);
                return;
            }
            _ => return,
        }
    }
}

/// An empty ext4 in a sparse file of `size` bytes, the same every time.
pub(crate) fn make_ext4(image: &Path, size: u64) -> anyhow::Result<()> {
    fs::File::create(image)?.set_len(size)?;
    // Nothing may be initialised later, in the background.
    let extended = format!("hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,nodiscard");
    tool("mkfs.ext4", &["-q", "-F", "-m", "0", "-U", UUID, "-E", &extended, utf8(image)?]).map(drop)
}

/// A loop device; detached when dropped, or when what was mounted from it is unmounted.
pub(crate) struct Loop {
    node: String,
}

impl Loop {
    pub(crate) fn attach(file: &Path, direct: bool) -> anyhow::Result<Loop> {
        let direct = if direct { "--direct-io=on" } else { "--direct-io=off" };
        let node = tool("losetup", &["--find", "--show", direct, utf8(file)?])?.trim().to_owned();
        Ok(Loop { node })
    }

    /// Mounts the ext4 on it, with these options.
    pub(crate) fn mount(self, at: &Path, data: &str) -> anyhow::Result<Mounted> {
        // Dropping self asks for a detach, which the kernel puts off until the unmount.
        Mounted::new(&self.node, at, "ext4", data)
    }
}

/// Its name in /dev.
impl AsRef<Path> for Loop {
    fn as_ref(&self) -> &Path {
        Path::new(&self.node)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(error) = tool("losetup", &["--detach", &self.node]) {
            eprintln!("{error}");
        }
    }
}

/// A path as an argument for programs that want text.
pub(crate) fn utf8(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("not UTF-8: {}", path.display()))
}
