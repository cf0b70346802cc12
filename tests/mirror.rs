//! What a mirror has to be beyond the single operation (for those see `twin`): mounts over and inside each other, users,
//! large trees, memory maps, programs, and changes made directly in the source.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;
mod mirror {
    mod below;
    mod crowd;
    mod data;
    mod files;
    mod large;
    mod nested;
    mod unprivileged;
    mod users;
}
