//! Set-ID bits: a change of a file's content takes them away, as on any file system, unless the caller may keep them.
//!
//! What must stay true: the rule is the kernel's own (`setattr_should_drop_suidgid`), judged for the caller and not for
//! us, who may keep them. File capabilities need nothing: they go with any write, and we do the writing.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::requester::Standing;
use super::source::{proc_path, stat_fd};
use super::{Requester, Result};

const REGULAR: u32 = libc::S_IFREG;
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// The content of `file` changes, by order of `who`.
///
/// # Errors
/// The source's own.
pub(super) fn strip(who: Requester, file: &OwnedFd) -> Result<()> {
    let stat = stat_fd(file)?;
    let mode = u32::from(stat.stx_mode);
    if !has_set_id(mode) {
        return Ok(());
    }
    let standing = Standing::of(who);
    let kept = if standing.keeps { mode } else { stripped(mode, standing.is_in(stat.stx_gid)) };
    set(file, mode, kept)
}

/// `who` asks for nothing but the loss of the bits. The kernel does so for a change of content that it does not tell us
/// of, which who may write has made; and for a change of owner that changes nothing, which only the owner and root may
/// ask for, and which takes the bits from them too.
///
/// # Errors
/// `EPERM` for anybody else, else the source's own.
pub(super) fn strip_alone(who: Requester, file: &OwnedFd) -> Result<()> {
    let stat = stat_fd(file)?;
    let mode = u32::from(stat.stx_mode);
    if !has_set_id(mode) {
        return Ok(());
    }
    let standing = Standing::of(who);
    let member = standing.is_in(stat.stx_gid);
    let by_group = mode & libc::S_IWGRP != 0 && (member || has_acl(file));
    let writes = by_group || mode & libc::S_IWOTH != 0;
    if !(standing.keeps || who.uid == stat.stx_uid || writes) {
        return Err(Errno::PERM);
    }
    set(file, mode, stripped(mode, member || standing.keeps))
}

/// Is it ours to take bits away? Without root's rights the source has done so already.
fn has_set_id(mode: u32) -> bool {
    mode & libc::S_IFMT == REGULAR && mode & SET_ID != 0 && rustix::process::geteuid().is_root()
}

/// Has it an access list, whose mask the group's bits are then? Whom it lets write is the kernel's to know.
fn has_acl(file: &OwnedFd) -> bool {
    rustix::fs::getxattr(proc_path(file.as_fd()), c"system.posix_acl_access", &mut [0_u8; 4096][..]).is_ok()
}

fn set(file: &OwnedFd, mode: u32, kept: u32) -> Result<()> {
    if kept == mode {
        return Ok(());
    }
    rustix::fs::chmod(proc_path(file.as_fd()), Mode::from_raw_mode(kept & 0o7777))
}

/// What is left of a mode. Without execute permission for the group, the set-group-ID bit stays for members: it once
/// meant something else.
fn stripped(mode: u32, member: bool) -> u32 {
    let keeps_group = member && mode & libc::S_IXGRP == 0;
    mode & !(if keeps_group { libc::S_ISUID } else { SET_ID })
}

#[cfg(test)]
mod tests {
    use super::stripped;

    #[test]
    fn the_group_bit_stays_only_for_members_and_without_execute_permission() {
        for (mode, member, left) in [
            (0o104_755, false, 0o100_755),
            (0o106_777, true, 0o100_777),
            (0o102_767, false, 0o100_767),
            (0o106_767, true, 0o102_767),
            (0o100_644, false, 0o100_644),
        ] {
            assert_eq!(stripped(mode, member), left, "{mode:o} {member}");
        }
    }
}
