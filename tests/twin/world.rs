//! One of the two directories, and the files a list of steps has open in it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, Dir, FileType, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
    Uid,
};
use rustix::io::Errno;

use super::outcome::{Outcome, attributes, bytes, time};
use super::step::{ATTRIBUTES, Name, SLOTS, Slot, Step, To, When, names, targets};

/// See the module's head.
#[derive(Debug)]
pub(crate) struct World {
    path: PathBuf,
    root: OwnedFd,
    open: [Option<OwnedFd>; SLOTS],
}

type Done = rustix::io::Result<String>;

fn ok<T>(_: T) -> String {
    "done".into()
}

impl World {
    /// The directory at `path`, with two of its files open.
    pub(crate) fn new(path: &Path) -> Self {
        let root = File::open(path).expect("it is there").into();
        let open =
            |name| File::options().read(true).write(true).open(path.join(name)).ok().map(OwnedFd::from);
        World { path: path.to_owned(), root, open: [open("a"), open("dir/b"), None, None] }
    }

    /// Does one step.
    pub(crate) fn step(&mut self, step: &Step) -> Outcome {
        match *step {
            Step::Open { slot, name, flags, mode } => self.open(slot, name, flags, mode),
            Step::Close { slot } => self.open[slot].take().map(ok).ok_or(Errno::BADF),
            Step::Read { .. } | Step::ReadOn { .. } | Step::Write { .. } | Step::WriteOn { .. } => {
                self.data(step)
            }
            Step::Seek { .. }
            | Step::TruncateOpen { .. }
            | Step::Allocate { .. }
            | Step::CopyRange { .. } => self.space(step),
            Step::Sync { .. } | Step::Lock { .. } | Step::StatOpen { .. } | Step::ChmodOpen { .. } => {
                self.state(step)
            }
            Step::Unlink { .. } | Step::Rmdir { .. } | Step::Rename { .. } | Step::Link { .. } => {
                self.names(step)
            }
            Step::Mkdir { .. } | Step::Mknod { .. } | Step::Symlink { .. } => self.make(step),
            Step::Readlink { .. }
            | Step::List { .. }
            | Step::Stat { .. }
            | Step::Access { .. }
            | Step::StatFs { .. } => self.look(step),
            Step::Truncate { .. } | Step::Chmod { .. } | Step::Chown { .. } | Step::Utimens { .. } => {
                self.change(step)
            }
            Step::SetAttribute { .. }
            | Step::GetAttribute { .. }
            | Step::ListAttributes { .. }
            | Step::RemoveAttribute { .. } => self.extended(step),
        }
    }

    fn fd(&self, slot: Slot) -> Result<BorrowedFd<'_>, Errno> {
        self.open[slot].as_ref().map(AsFd::as_fd).ok_or(Errno::BADF)
    }

    fn open(&mut self, slot: Slot, name: Name, flags: OFlags, mode: u32) -> Done {
        // Or a fifo would wait for its other end.
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.root, path(name), flags, Mode::from_raw_mode(mode))?;
        let stat = attributes(&rustix::fs::fstat(&fd)?);
        self.open[slot] = Some(fd);
        Ok(stat)
    }

    fn data(&self, step: &Step) -> Done {
        match *step {
            Step::Read { slot, at, len } => {
                let mut room = vec![0; len];
                let read = rustix::io::pread(self.fd(slot)?, &mut room[..], at)?;
                Ok(bytes(&room[..read]))
            }
            Step::ReadOn { slot, len } => {
                let mut room = vec![0; len];
                let read = rustix::io::read(self.fd(slot)?, &mut room[..])?;
                Ok(bytes(&room[..read]))
            }
            Step::Write { slot, at, len, fill } => {
                rustix::io::pwrite(self.fd(slot)?, &vec![fill; len], at).map(|n| n.to_string())
            }
            Step::WriteOn { slot, len, fill } => {
                rustix::io::write(self.fd(slot)?, &vec![fill; len]).map(|n| n.to_string())
            }
            _ => unreachable!("not about data"),
        }
    }

    fn space(&self, step: &Step) -> Done {
        match *step {
            Step::Seek { slot, to, at } => {
                let to = match to {
                    To::Start => SeekFrom::Start(at),
                    To::End => SeekFrom::End(at as i64),
                    To::Data => SeekFrom::Data(at),
                    To::Hole => SeekFrom::Hole(at),
                };
                let file = self.fd(slot)?;
                // Positions in a directory mean something to its own file system only.
                let kind = FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode);
                rustix::fs::seek(file, if kind.is_dir() { SeekFrom::Start(0) } else { to })
                    .map(|at| at.to_string())
            }
            Step::TruncateOpen { slot, len } => rustix::fs::ftruncate(self.fd(slot)?, len).map(ok),
            Step::Allocate { slot, mode, at, len } => {
                rustix::fs::fallocate(self.fd(slot)?, mode, at, len).map(ok)
            }
            Step::CopyRange { from, mut from_at, to, mut to_at, len } => {
                let (from, to) = (self.fd(from)?, self.fd(to)?);
                rustix::fs::copy_file_range(from, Some(&mut from_at), to, Some(&mut to_at), len)
                    .map(|n| format!("{n} from before {from_at} to before {to_at}"))
            }
            _ => unreachable!("not about space"),
        }
    }

    fn state(&self, step: &Step) -> Done {
        match *step {
            Step::Sync { slot, data_only: true } => rustix::fs::fdatasync(self.fd(slot)?).map(ok),
            Step::Sync { slot, data_only: false } => rustix::fs::fsync(self.fd(slot)?).map(ok),
            Step::Lock { slot, how } => rustix::fs::flock(self.fd(slot)?, how).map(ok),
            Step::StatOpen { slot } => rustix::fs::fstat(self.fd(slot)?).map(|stat| attributes(&stat)),
            Step::ChmodOpen { slot, mode } => {
                rustix::fs::fchmod(self.fd(slot)?, Mode::from_raw_mode(mode)).map(ok)
            }
            _ => unreachable!("not about an open file's state"),
        }
    }

    fn names(&self, step: &Step) -> Done {
        let root = &self.root;
        match *step {
            Step::Unlink { name } => rustix::fs::unlinkat(root, path(name), AtFlags::empty()).map(ok),
            Step::Rmdir { name } => rustix::fs::unlinkat(root, path(name), AtFlags::REMOVEDIR).map(ok),
            Step::Rename { from, to, flags } => {
                rustix::fs::renameat_with(root, path(from), root, path(to), flags).map(ok)
            }
            Step::Link { from, to, flags } => {
                rustix::fs::linkat(root, path(from), root, path(to), flags).map(ok)
            }
            _ => unreachable!("not about names"),
        }
    }

    fn make(&self, step: &Step) -> Done {
        let root = &self.root;
        match *step {
            Step::Mkdir { name, mode } => {
                rustix::fs::mkdirat(root, path(name), Mode::from_raw_mode(mode)).map(ok)
            }
            Step::Mknod { name, mode, device: (major, minor) } => {
                let (kind, mode) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777));
                rustix::fs::mknodat(root, path(name), kind, mode, rustix::fs::makedev(major, minor)).map(ok)
            }
            Step::Symlink { target, name } => {
                rustix::fs::symlinkat(&targets()[target][..], root, path(name)).map(ok)
            }
            _ => unreachable!("not about making"),
        }
    }

    fn look(&self, step: &Step) -> Done {
        let root = &self.root;
        match *step {
            Step::Readlink { name } => {
                rustix::fs::readlinkat(root, path(name), Vec::new()).map(|to| bytes(to.as_bytes()))
            }
            Step::List { name } => self.list(name),
            Step::Stat { name, follow } => {
                rustix::fs::statat(root, path(name), following(follow)).map(|stat| attributes(&stat))
            }
            Step::Access { name, mode } => {
                let mode = Access::from_bits_truncate(mode);
                rustix::fs::accessat(root, path(name), mode, AtFlags::empty()).map(ok)
            }
            Step::StatFs { name } => {
                let fd = rustix::fs::openat(root, path(name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                let volume = rustix::fs::fstatvfs(&fd)?;
                Ok(format!("longest name {}, blocks of {}", volume.f_namemax, volume.f_bsize))
            }
            _ => unreachable!("not about looking"),
        }
    }

    fn list(&self, name: Name) -> Done {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.root, path(name), flags, Mode::empty())?;
        let mut entries = Vec::new();
        for entry in Dir::new(fd)? {
            let entry = entry?;
            entries.push(format!("{} {:?}", entry.file_name().to_bytes().escape_ascii(), entry.file_type()));
        }
        entries.sort();
        Ok(entries.join(", "))
    }

    fn change(&self, step: &Step) -> Done {
        let root = &self.root;
        match *step {
            Step::Truncate { name, len } => {
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                // As truncate(2) does it: the file is not opened for good, but what cannot be opened so cannot be cut.
                let fd = rustix::fs::openat(root, path(name), flags, Mode::empty())?;
                rustix::fs::ftruncate(fd, len).map(ok)
            }
            Step::Chmod { name, mode } => {
                rustix::fs::chmodat(root, path(name), Mode::from_raw_mode(mode), AtFlags::empty()).map(ok)
            }
            Step::Chown { name, uid, gid, follow } => {
                let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
                rustix::fs::chownat(root, path(name), uid, gid, following(follow)).map(ok)
            }
            Step::Utimens { name, atime, mtime, follow } => self.set_times(name, atime, mtime, follow),
            _ => unreachable!("not about changing"),
        }
    }

    fn set_times(&self, name: Name, atime: When, mtime: When, follow: bool) -> Done {
        let times = Timestamps { last_access: timespec(atime), last_modification: timespec(mtime) };
        rustix::fs::utimensat(&self.root, path(name), &times, following(follow))?;
        let stat = rustix::fs::statat(&self.root, path(name), following(follow))?;
        let read = match atime {
            When::At(..) | When::Now => time(stat.st_atime, stat.st_atime_nsec as i64),
            // What it was before is the clock's business.
            When::Omit => "as before".into(),
        };
        Ok(format!("read {read}; {}", attributes(&stat)))
    }

    fn extended(&self, step: &Step) -> Done {
        let file = |name: Name| self.path.join(OsStr::from_bytes(path(name)));
        match *step {
            Step::SetAttribute { name, attribute, len, flags } => {
                rustix::fs::lsetxattr(file(name), ATTRIBUTES[attribute], &vec![len as u8; len], flags).map(ok)
            }
            Step::GetAttribute { name, attribute, room } => {
                let mut value = vec![0; room];
                let len = rustix::fs::lgetxattr(file(name), ATTRIBUTES[attribute], &mut value[..])?;
                Ok(format!("{len}: {}", bytes(&value[..len.min(room)])))
            }
            Step::ListAttributes { name } => extended_names(&file(name)),
            Step::RemoveAttribute { name, attribute } => {
                rustix::fs::lremovexattr(file(name), ATTRIBUTES[attribute]).map(ok)
            }
            _ => unreachable!("not about extended attributes"),
        }
    }
}

/// Names of extended attributes, in order.
pub(crate) fn extended_names(file: &Path) -> Done {
    let mut room = vec![0_u8; 4096];
    let len = rustix::fs::llistxattr(file, &mut room[..])?;
    let mut names: Vec<String> =
        room[..len].split(|byte| *byte == 0).map(|name| name.escape_ascii().to_string()).collect();
    names.sort();
    Ok(names.join(" "))
}

fn path(name: Name) -> &'static [u8] {
    &names()[name.0]
}

fn following(follow: bool) -> AtFlags {
    if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
}

fn timespec(when: When) -> Timespec {
    match when {
        When::At(secs, nanos) => Timespec { tv_sec: secs, tv_nsec: nanos.into() },
        When::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        When::Omit => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    }
}
