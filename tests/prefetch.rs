//! What it is all for: a file that a program will want next is in memory before it asks.
//!
//! Needs root, /dev/fuse and loop devices: the source is a file system of its own, so that what is in memory is known.
//!
//! What must stay true: a file counts as brought only when nobody but the daemon can have brought it, and nothing here depends
//! on how fast that is.
#![allow(clippy::unwrap_used)]

mod mount;
mod prefetch {
    mod ahead;
    mod nodes;
    mod wrong;
}
