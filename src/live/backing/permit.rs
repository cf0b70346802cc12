//! May the user whom a job is for do what the job does?
//!
//! What must stay true: what is brought for a user is what the source would have let this very user look up, list or read,
//! at the moment of the job; where nobody can say, the answer is no. A job for nobody in particular (somebody with the
//! daemon's own rights asked for it) is not checked.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::lower::Found;
use crate::sys::credentials::{self, Credentials};
use crate::sys::thread::Impersonation;

/// What a job is about to do with what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Look at name and inode: of a directory, list it.
    Look,
    /// Read it.
    Read,
}

/// As [`Found::at`], for `user`.
pub(super) fn find(
    source: &OwnedFd,
    path: &[u8],
    deed: Deed,
    user: Option<&Credentials>,
) -> Result<Found, Errno> {
    let Some(user) = user.filter(|user| !user.is_root()) else { return Found::at(source, path) };
    let own = rustix::process::geteuid();
    if own.is_root() {
        let _acting = Impersonation::begin(user.uid, user.gid, &user.groups).map_err(|_| Errno::ACCESS)?;
        let found = Found::at(source, path)?;
        if found.reads(deed) {
            credentials::may_read(found.handle())?;
        }
        return Ok(found);
    }
    // Without root's rights we reach no more than we may ourselves.
    let found = Found::at(source, path)?;
    let (owner, group, mode) = found.permissions();
    let may = user.uid == own.as_raw() || !found.reads(deed) || user.may_read(owner, group, mode);
    if may { Ok(found) } else { Err(Errno::ACCESS) }
}

impl Found {
    /// Does the deed need permission to read?
    fn reads(&self, deed: Deed) -> bool {
        deed == Deed::Read || self.kind() == rustix::fs::FileType::Directory
    }
}
