//! augurfs: a FUSE file system that mirrors a directory, learns in which order programs open its
//! files, and has the next ones in the page cache before they are asked for.
//!
//! # Layers
//!
//! An arrow points down only; `tests/layers.rs` reads the `use` lines and fails when one points up.
//!
//! ```text
//! main.rs, cli            words from the user -> Config -> run           the only place with clap
//!   run                   one mount from start to end: set-up, signals, teardown
//!   demo                  the whole of it on a source with a slow device, for show
//!     fuse                kernel protocol <-> our words                  the only place with fuser types
//!       mirror            passthrough operations, inode table, handles   the only place that changes the source
//!       shelf             model files outside of a mount: shown, checked, moved, united   format and files
//!         cache           the own page cache: bounded, shared, never stale
//!         live            threads and wall clock around the engine: who opened what, workers, control socket
//!         sim             virtual time around the same engine: simulated processes, memory and devices
//!           trace         what an engine was told, and its effects, as a file; replay, import   format
//!           engine        observe(event) -> effects                      pure: no threads, files, clock, randomness
//!             predict     Pcm, Match, ... behind one trait               pure
//!             walk        what a tree's structure tells of what is next  pure
//!             plan        predictions -> jobs: horizon, order, budget    pure
//!             stream      process -> stream: inheritance, program        pure
//!             replace     who leaves a full cache: Lru, Dear, ...        pure
//!           model           the file of what was learned                 format
//!           event id clock config stats names device                     vocabulary; how long devices take
//!             codec         numbers and bytes as the model file has them
//!   sys                   the few system calls                           no policy; the only unsafe code
//! ```
//!
//! # One straight line and one return wire
//!
//! ```text
//! application -> kernel -> fuse -> mirror -> source
//!                            | answer, then note (try_send: never waits; what does not fit is counted as lost)
//!                            v
//!          fanotify -> live: engine thread: observe -> effects -> board -> workers: warm the page cache
//!                                   ^                                          |
//!                                   '---------- started, settled --------------'
//! ```
//!
//! A request waits for a worker in one case only: what it wants is on its way or planned, and it would
//! have to go to the source itself otherwise. That wait is bounded (`join_wait`) and never keeps
//! other requests from being read.
//!
//! # Data paths
//!
//! - `resident` (root's default): the kernel is told once that opens are no requests; data, names and
//!   attributes live in the mount's own caches, and workers fill these through a private clone of the
//!   mount. Opens are seen through fanotify.
//! - `passthrough`: opens are requests, data goes straight to the source's file.
//! - `plain`: opens are requests, data lives in the mount's page cache.
//!
//! `run::path` chooses, `fuse::opening` carries out.
//!
//! # What the kernel may believe, and for how long
//!
//! Names and attributes for `timeout`, unless every change in the source is told of (`mirror::watch`):
//! then for an hour. A change is told to the kernel at once, and again when every answer that may have
//! been older than the change has been given.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod cache;
pub mod cli;
pub mod clock;
pub mod codec;
pub mod config;
pub mod demo;
pub mod device;
pub mod engine;
pub mod event;
pub mod fuse;
pub mod id;
pub mod live;
pub mod mirror;
pub mod model;
pub mod names;
pub mod plan;
pub mod predict;
pub mod replace;
pub mod run;
pub mod shelf;
pub mod sim;
pub mod stats;
pub mod stream;
pub mod sys;
pub mod trace;
pub mod walk;
