//! Threads and wall clock around the engine.

pub mod control;
