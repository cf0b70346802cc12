//! Where a stream has been in a directory, and what lies ahead in one.

use super::directory::Order;
use super::lanes::Lanes;
use crate::id::FileId;

/// What the stream did in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    /// The last entry of each kind, by its place as listed.
    pub(super) opened: Option<u32>,
    pub(super) entered: Option<u32>,
    pub(super) looked_at: Option<u32>,
    /// Directories on the way to something below them, by threads that go side by side.
    pub(super) passed: Lanes,
    pub(super) listed: bool,
    /// Its entries were brought: looking at them is not seen.
    pub(super) brought: bool,
    pub(super) fronted: bool,
}

/// A level of what lies ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub(super) dir: FileId,
    pub(super) order: Order,
    pub(super) next: u32,
    pub(super) end: u32,
    /// Its files one by one, and nothing else: a window of siblings.
    pub(super) alone: bool,
}
