//! The own page cache: blocks of files in the daemon's memory, bounded, with a replacement policy that sees every read.
//!
//! It knows nothing of file systems: whoever asks brings a file's number, its present version, and a way to read it.
//!
//! What must stay true:
//! - the bytes held are never more than the capacity;
//! - a block is as the file was in the version it is held for: asked for another version, or told that the file changed,
//!   the cache lets all of the file go, and what was on its way then is not kept when it comes (a late fill loses);
//! - a block that is missing is read once, however many wait for it; errors go to whoever read, and are not kept;
//! - no lock is held while anything is read.

use crate::id::ProgramId;
use crate::replace::{Arrival, Policy};

mod figures;
mod own;
mod shelf;

pub use figures::{CacheFigures, OwnerPattern};
pub use own::OwnCache;

/// Where the cache's locks come from.
mod sync {
    pub(super) use parking_lot::{Condvar, Mutex};
}

/// How the cache is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Most bytes of blocks held.
    pub capacity: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// Who leaves.
    pub policy: Policy,
}

/// A read, or what a prefetch wants to have.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<V> {
    /// The file, by any number that is its own.
    pub file: u64,
    /// What it is like now: any change of content changes this.
    pub version: V,
    /// Its size in bytes in this version.
    pub size: u64,
    /// By which program.
    pub owner: ProgramId,
    /// Used, or fetched ahead.
    pub arrival: Arrival,
    /// First byte.
    pub offset: u64,
    /// Bytes at most.
    pub len: usize,
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
