//! The kernel's FUSE protocol on one side, our words on the other.
//!
//! What must stay true: only this module and its rooms name fuser's types, and they steer around
//! what release 0.18.0 gets wrong:
//! - it unmounts by path, and after an unmount from outside that may be somebody else's mount: root
//!   mounts and unmounts here, without it;
//! - a comma in the file system's name would be read as further options: users' mounts escape it;
//! - times before 1970 arrive mangled (`convert`); extended setxattr panics (`capabilities`);
//! - a busy unmount fails and leaves a dead mount behind: `Session::unmount` detaches it.

mod adapter;
mod backing;
mod capabilities;
mod convert;
mod gate;
mod handover;
mod listing;
mod locking;
mod opening;
mod pool;
mod prologue;
mod readers;
mod replies;
mod serve;
pub mod slow;
mod waiting;

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Weak};

use fuser::{INodeNo, MountOption, Notifier, SessionACL};
use rustix::mount::MountFlags;

use crate::config::{Config, DataPath};
use crate::mirror::{Kernel, Mirror};
use crate::stats::Counters;
use crate::sys::descriptor;
use adapter::Adapter;
use backing::Backings;
use gate::Gate;
use pool::Pool;
use prologue::Agreed;
use readers::{READERS, Readers};
use serve::Desk;
use waiting::Waiting;

pub use handover::{Handover, Paused};

/// A mounted file system that has not begun to answer, or is answering.
#[derive(Debug)]
pub struct Session {
    session: fuser::Session<Adapter>,
    desk: Weak<Desk>,
    backings: Arc<Backings>,
    counters: Arc<Counters>,
}

/// Tells whether passthrough is in use; lives on while the session runs elsewhere.
#[derive(Clone, Debug)]
pub struct Passthrough(Arc<Backings>);

impl Passthrough {
    /// Is it in use?
    pub fn is_active(&self) -> bool {
        self.0.is_active()
    }
}

impl Session {
    /// Mounts `mirror` as `config` says, with data by `path`.
    ///
    /// # Errors
    /// What opening /dev/fuse, mount(2) or fusermount3 gives.
    pub fn mount(
        mirror: Arc<Mirror>,
        config: &Config,
        path: DataPath,
        counters: Arc<Counters>,
    ) -> io::Result<Self> {
        let desk = desk(mirror, path, counters)?;
        let adapter = Adapter { desk: desk.clone() };
        let session = if let Some(number) = config.descriptor {
            fuser::Session::from_fd(adapter, descriptor::adopt(number)?, SessionACL::All, threads())?
        } else if rustix::process::geteuid().is_root() {
            let device = mount_as_root(config)?;
            fuser::Session::from_fd(adapter, device, SessionACL::All, threads())
                .inspect_err(|_| detach(&config.mountpoint))?
        } else {
            fuser::Session::new(adapter, &config.mountpoint, &user_options(config))?
        };
        Self::of(session, &desk)
    }

    fn of(session: fuser::Session<Adapter>, desk: &Arc<Desk>) -> io::Result<Self> {
        let device = rustix::io::fcntl_dupfd_cloexec(&session, 0)?;
        desk.backings.set_device(Some(Arc::new(device)));
        let (backings, counters) = (desk.backings.clone(), desk.counters.clone());
        Ok(Session { session, desk: Arc::downgrade(desk), backings, counters })
    }

    /// The way to the kernel's caches of this mount.
    pub fn kernel(&self) -> Arc<dyn Kernel> {
        Arc::new(Caches { notifier: self.session.notifier(), counters: self.counters.clone() })
    }

    /// Tells later whether passthrough is in use.
    pub fn passthrough(&self) -> Passthrough {
        Passthrough(self.backings.clone())
    }

    /// Answers requests until the file system has been unmounted.
    ///
    /// # Errors
    /// What reading /dev/fuse gives, other than the end.
    pub fn run(self) -> io::Result<()> {
        let ended = self.session.run();
        self.backings.set_device(None);
        ended
    }
}

fn desk(mirror: Arc<Mirror>, path: DataPath, counters: Arc<Counters>) -> io::Result<Arc<Desk>> {
    Ok(Arc::new(Desk {
        mirror,
        pool: Pool::new()?,
        readers: Readers::new(READERS),
        gate: Gate::default(),
        agreed: Agreed::new(),
        waiting: Arc::new(Waiting::default()),
        path,
        backings: Arc::new(Backings::new(path == DataPath::Passthrough)),
        counters,
    }))
}

/// Mounts with mount(2); the open device comes back.
fn mount_as_root(config: &Config) -> io::Result<OwnedFd> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
    let mut data = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
    data.push_str(",default_permissions");
    if config.allow_other {
        data.push_str(",allow_other");
    }
    // A kernel without SELinux does not know the words, and mount(8) leaves them out there too.
    if Path::new("/sys/fs/selinux").exists() {
        config.contexts.iter().for_each(|context| data.extend([",", context]));
    }
    let name = config.fsname.as_deref().map_or(config.source.as_os_str(), OsStr::new);
    let data = std::ffi::CString::new(data)?;
    let kind = format!("fuse.{}", config.subtype);
    rustix::mount::mount(name, &config.mountpoint, kind, flags(config), Some(data.as_c_str()))?;
    Ok(device.into())
}

fn flags(config: &Config) -> MountFlags {
    let choices = [
        (config.read_only, MountFlags::RDONLY),
        (!config.dev, MountFlags::NODEV),
        (!config.suid, MountFlags::NOSUID),
        (!config.exec, MountFlags::NOEXEC),
        (!config.atime, MountFlags::NOATIME),
        (config.sync, MountFlags::SYNCHRONOUS),
        (config.dirsync, MountFlags::DIRSYNC),
    ];
    choices.iter().filter(|(wanted, _)| *wanted).fold(MountFlags::empty(), |all, (_, flag)| all | *flag)
}

/// How many threads read requests.
fn threads() -> fuser::Config {
    let mut config = fuser::Config::default();
    config.n_threads = Some(READERS);
    config
}

/// What fusermount3 is asked for.
fn user_options(config: &Config) -> fuser::Config {
    let name = config.fsname.as_deref().map_or(config.source.as_os_str(), OsStr::new);
    if config.dev || config.suid {
        log::warn!("dev and suid need root: without effect");
    }
    let mut options = vec![
        MountOption::FSName(escaped(name)),
        MountOption::Subtype(config.subtype.clone()),
        MountOption::DefaultPermissions,
    ];
    let choices = [
        (config.read_only, MountOption::RO),
        (!config.exec, MountOption::NoExec),
        (!config.atime, MountOption::NoAtime),
        (config.sync, MountOption::Sync),
        (config.dirsync, MountOption::DirSync),
    ];
    options.extend(choices.into_iter().filter(|(wanted, _)| *wanted).map(|(_, option)| option));
    let mut all = threads();
    all.mount_options = options;
    all.acl = if config.allow_other { SessionACL::All } else { SessionACL::Owner };
    all
}

/// A name that fusermount3 does not read as several options.
fn escaped(name: &OsStr) -> String {
    String::from_utf8_lossy(name.as_bytes()).replace('\\', "\\\\").replace(',', "\\,")
}

/// Takes away a mount that never came to life.
fn detach(mountpoint: &Path) {
    if let Err(error) = rustix::mount::unmount(mountpoint, rustix::mount::UnmountFlags::DETACH) {
        log::warn!("{} stays mounted: {error}", mountpoint.display());
    }
}

/// The kernel's caches, reached through notifications.
#[derive(Debug)]
struct Caches {
    notifier: Notifier,
    counters: Arc<Counters>,
}

impl Kernel for Caches {
    fn forget_inode(&self, nodeid: u64, content: bool) {
        self.counters.invalidations.one();
        let from = if content { 0 } else { -1 };
        if let Err(error) = self.notifier.inval_inode(INodeNo(nodeid), from, 0) {
            log::debug!("inode {nodeid} could not be invalidated: {error}");
        }
    }

    fn forget_entry(&self, parent: u64, name: &OsStr) {
        self.counters.invalidations.one();
        if let Err(error) = self.notifier.inval_entry(INodeNo(parent), name) {
            log::debug!("{} in {parent} could not be invalidated: {error}", name.display());
        }
    }
}
