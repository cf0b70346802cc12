//! Threads and wall clock around the pure engine.

pub mod control;
mod processes;

pub use processes::{Caller, OUTSIDE};
