//! The few system calls that neither the standard library nor rustix offers, each behind a safe
//! function. No policy lives here.
//!
//! What must stay true: this is the only module with unsafe code, and every unsafe block says why
//! it is sound. Nothing in here knows the words of the layers above.
#![allow(unsafe_code)]

pub mod backing;
pub mod cachestat;
pub mod cgroup;
pub mod cold;
pub mod connection;
pub mod credentials;
pub mod descriptor;
pub mod fanotify;
pub mod fiemap;
pub mod filesystem;
pub mod handle;
pub mod lock;
pub mod memory;
pub mod mountinfo;
pub mod proc;
pub mod process;
pub mod thread;

use std::os::fd::{IntoRawFd, OwnedFd};

/// Closes a descriptor and tells of the errors that dropping it would swallow.
///
/// # Errors
/// What close(2) gives: on network file systems, of writes put off until now.
pub fn close(fd: OwnedFd) -> Result<(), rustix::io::Errno> {
    // SAFETY: the descriptor was owned, and is given up here whatever the call answers.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error())
            .unwrap_or(rustix::io::Errno::IO)),
    }
}
