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
//!         live            threads and wall clock around the engine: who opened what, workers, control socket
//!           engine        observe(event) -> effects                      pure: no threads, files, clock, randomness
//!             predict     Pcm, Match, ... behind one trait               pure
//!             plan        predictions -> jobs: horizon, order, budget    pure
//!             stream      process -> stream: inheritance, program        pure
//!           model           the file of what was learned                 format
//!           event id clock config stats names                            vocabulary
//!             codec         numbers and bytes as the model file has them
//!   sys                   the few system calls                           no policy; the only unsafe code
//! ```
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod cli;
pub mod clock;
pub mod codec;
pub mod config;
pub mod demo;
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
pub mod run;
pub mod stats;
pub mod stream;
pub mod sys;
