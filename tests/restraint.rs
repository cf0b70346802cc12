//! Prefetching that holds itself back: nothing is brought for who may not read it, what cannot be brought is dropped and counted,
//! what is brought has room, and a walk does not drive out what others work with. Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;

#[path = "restraint/permits.rs"]
mod permits;
#[path = "restraint/pollution.rs"]
mod pollution;
#[path = "restraint/savings.rs"]
mod savings;
