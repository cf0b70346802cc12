//! Threads and wall clock around the pure engine.

mod board;
pub mod control;
mod pace;
mod processes;

pub use board::{Joined, Want};
pub use pace::Ways;
pub use processes::{Caller, OUTSIDE};
