//! Identity of a single thread: whose files it makes, and under which umask.
//!
//! What must stay true: these act on the calling thread only. The C library's wrappers for the
//! real and effective ids act on the whole process; the file-system ids and a raw setgroups do not.

use std::io;
use std::time::Duration;

use rustix::process::Gid;

/// Gives the calling thread a umask and working directory of its own, which it shares with all
/// other threads otherwise.
///
/// # Errors
/// `ENOMEM`.
pub fn own_umask() -> io::Result<()> {
    // SAFETY: only the umask and the working directory become this thread's own; no descriptor
    // table and no memory changes hands.
    let rc = unsafe { libc::unshare(libc::CLONE_FS) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Time that the calling thread has spent on a processor.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// An id that is none.
const NOBODY: u32 = u32::MAX;

/// The calling thread acts on files as another user until this is dropped.
///
/// Leaving uid 0 takes the file capabilities out of the effective set with it, so that the source
/// checks rights, quotas and reserved blocks as it would for that user.
#[derive(Debug)]
pub struct Impersonation {
    gid: u32,
    uid: u32,
    groups: Option<Vec<Gid>>,
}

impl Impersonation {
    /// Takes on `uid`, `gid` and the supplementary `groups`.
    ///
    /// # Errors
    /// What setgroups gives, `EPERM` when the ids could not be had; nothing has changed then.
    pub fn begin(uid: u32, gid: u32, groups: &[u32]) -> io::Result<Self> {
        let before = rustix::process::getgroups()?;
        let wanted: Vec<Gid> = groups.iter().map(|&g| Gid::from_raw(g)).collect();
        let changed = before != wanted;
        if changed {
            rustix::thread::set_thread_groups(&wanted)?;
        }
        let was_gid = set_fs_gid(gid);
        let was = (set_fs_uid(uid), was_gid);
        let begun = Impersonation { gid: was.1, uid: was.0, groups: changed.then_some(before) };
        // The calls do not say whether they succeeded; that an impossible id is refused tells which one is set.
        if (set_fs_uid(NOBODY), set_fs_gid(NOBODY)) != (uid, gid) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        Ok(begun)
    }
}

impl Drop for Impersonation {
    fn drop(&mut self) {
        set_fs_uid(self.uid);
        set_fs_gid(self.gid);
        if let Some(groups) = &self.groups
            && let Err(error) = rustix::thread::set_thread_groups(groups)
        {
            log::error!("a thread could not get its groups back: {error}");
        }
    }
}

/// Sets the file-system user id of the calling thread; the former one comes back.
fn set_fs_uid(uid: u32) -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::setfsuid(uid) as u32 }
}

/// Sets the file-system group id of the calling thread; the former one comes back.
fn set_fs_gid(gid: u32) -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::setfsgid(gid) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn files_belong_to_the_impersonated_user_and_only_in_this_thread() {
        assert!(rustix::process::geteuid().is_root(), "this test needs root");
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let there = dir.path().to_owned();
        std::thread::spawn(move || {
            let guard = Impersonation::begin(60001, 60002, &[60003]).unwrap();
            fs::write(there.join("theirs"), b"").unwrap();
            assert!(fs::read_to_string("/proc/self/mem").is_err());
            drop(guard);
            fs::write(there.join("ours"), b"").unwrap();
        })
        .join()
        .unwrap();
        let theirs = fs::metadata(dir.path().join("theirs")).unwrap();
        assert_eq!((theirs.uid(), theirs.gid()), (60001, 60002));
        assert_eq!(fs::metadata(dir.path().join("ours")).unwrap().uid(), 0);
    }
}
