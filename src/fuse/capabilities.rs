//! What we ask of the kernel, and what we must not.
//!
//! Asked for, where the kernel has it:
//! - cached data goes when size or modification time change (`AUTO_INVAL_DATA`);
//! - listings bring inodes along when the caller seems to want them (`READDIRPLUS_AUTO`);
//! - names of one directory are resolved in parallel; link targets are cached;
//! - set-ID bits are taken away by us (`HANDLE_KILLPRIV_V2`), else the kernel asks for a file's capabilities at each
//!   write. The library hides the flags that say when, except on writes: the mirror goes by who asks;
//! - the umask reaches us instead of being applied, because a default ACL replaces it; ACLs are
//!   checked by the kernel;
//! - with an own cache, files whose reads are all requests can be mapped shared all the same;
//! - locks are requests, where opens are: without these nobody would tell us that a lock ended with its file. A request
//!   for a lock does not say whether fcntl or flock asks (the library hides it), but the caller's system call does.
//!
//! Refused, because the adapter library or the mirror could not keep the promise:
//! - write-back caching: appends would overwrite what was appended below, and acknowledged writes
//!   would die with the daemon; it also excludes passthrough;
//! - `ATOMIC_O_TRUNC`: without open requests, truncation would never reach us;
//! - extended `setxattr` (fuser 0.18 panics), id-mapped mounts, io_uring, security contexts.

use fuser::{InitFlags, KernelConfig};

use crate::config::DataPath;

/// Requests that the kernel may send without anybody waiting for each: read-ahead, above all. The
/// default of 16 would hold parallel readers back.
const BACKGROUND: u16 = 256;

const WANTED: [InitFlags; 10] = [
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_DONT_MASK,
    InitFlags::FUSE_POSIX_ACL,
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    InitFlags::FUSE_ABORT_ERROR,
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
];

/// Agrees with the kernel on how to work together. What it was asked for comes back.
pub(crate) fn negotiate(config: &mut KernelConfig, path: DataPath, own_cache: bool) -> InitFlags {
    let mut asked = InitFlags::empty();
    let mut ask = |config: &mut KernelConfig, flag: InitFlags| {
        let granted = config.add_capabilities(flag).is_ok();
        asked.set(flag, granted);
        granted
    };
    for flag in WANTED {
        if !ask(config, flag) {
            log::info!("this kernel lacks {flag:?}");
        }
    }
    if path != DataPath::Resident {
        // Refused by kernels that have no locks at all.
        ask(config, InitFlags::FUSE_POSIX_LOCKS);
        if crate::sys::proc::tells_system_calls() {
            ask(config, InitFlags::FUSE_FLOCK_LOCKS);
        }
    }
    // Both refuse only zero.
    let _ = config.set_max_background(BACKGROUND);
    if own_cache && !ask(config, InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP) {
        log::warn!("this kernel maps no files shared while the own cache serves their reads");
    }
    if path == DataPath::Passthrough && ask(config, InitFlags::FUSE_PASSTHROUGH) {
        // At most 2, which is fuser's limit as well.
        let _ = config.set_max_stack_depth(1);
    }
    asked
}
