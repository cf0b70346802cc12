//! How many files the daemon may have open at once: as many as it is allowed to ask for.
//!
//! The usual limit (1024) is for programs that call select(2). Where opens are requests, each file that anybody has open in
//! the mount is one of ours too, so this limit would be one for all programs together.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the one above it. What cannot be had is done without: callers hear of it when they open too many.
pub(super) fn raise() {
    let usual = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: usual.maximum, maximum: usual.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        log::debug!("the limit on open files stays at {:?}: {error}", usual.current);
    }
}
