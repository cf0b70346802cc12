//! Threads and wall clock around the pure engine.

mod processes;

pub use processes::{Caller, OUTSIDE};
