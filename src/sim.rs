//! The simulator: workloads through the very engine the mount has, in virtual time.
//!
//! ```text
//! trace or generator -> Workload -> Machine: processes -> kernel's memory -> device
//!                                     engine's driver -> workers -----------^
//! ```
//!
//! A process does its steps in their order; a step comes a think time after the one before it was done.
//! A file that is not in memory costs its directories' entries, inodes and bytes at the device
//! (`crate::device`); one that is costs a few microseconds. The engine is told what the mount would tell it
//! on the path `resident`, and what it asks for is done by as many workers as the mount would have. Processes
//! go first at the device. Writing costs nothing: it is done behind everybody's back.
//!
//! What must stay true: no clock and no chance but the seed's, so that a run can be repeated to the
//! microsecond; only the measuring of the engine's own cost looks at the time.

mod account;
pub mod blocks;
mod draft;
mod driver;
pub mod generate;
mod grid;
mod kernel;
mod layout;
mod machine;
mod memory;
mod order;
mod run;
mod source;
mod table;
mod task;
mod workload;

pub use driver::Script;
pub use grid::{Grid, Place, Row};
pub use layout::lay_out;
pub use run::{Done, Figures, Settings, Spread, run};
pub use source::{LineError, Recordings};
pub use table::{Format, UnknownFormat, table};
pub use workload::{Deed, File, Pass, Step, Workload};

#[cfg(test)]
mod tests;
