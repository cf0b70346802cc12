//! A new process goes on with a mount: `augurfs upgrade`. Users see a pause, not an error.
//!
//! ```text
//! the one that serves (predecessor)            the one it starts (successor)
//!   starts the program         ------------>     reads its options
//!   saves the model            <--- hello ---
//!                              --- estate -->     device, source, what was agreed with the kernel
//!   still serves                                  loads the model, makes everything ready
//!                              <-- prepared -
//!   pauses (no request under way)
//!                              --- state --->     inodes, open files, locks
//!   paused                                        watches the source
//!                              <-- ready ----
//!                              ---- go ----->     from here on it is the successor's
//!   ends                       <-- serving --     guarded, answering
//! ```
//!
//! What must stay true: at every moment one of the two, and only one, may answer the kernel. Until `go` has been said
//! the predecessor can go on at any time, and does so whenever the successor is late, wrong or gone, after it has seen it
//! dead; the successor does nothing to the mount before it has heard `go`. The pause is bounded.

mod attendant;
mod estate;
mod predecessor;
mod successor;
mod wire;

pub use attendant::serve_if_asked;
pub(super) use estate::Deed;
pub use estate::EstateError;
pub(super) use predecessor::{Holdings, Order, Orders, Succession, hand_over, leave};
pub use successor::Heir;
pub(super) use successor::{Inheritance, Will};

use std::time::Duration;

/// Tells a process that it is a successor, and that its standard input leads to its predecessor.
const MARK: &str = "AUGURFS_SUCCESSOR";

/// For everything that happens while the mount is served: a large model takes seconds to load.
const PREPARATION: Duration = Duration::from_secs(30);

/// Longest pause. Programs that take a file system for hung after less are rare; a million inodes need a few seconds.
const PAUSE: Duration = Duration::from_secs(10);
