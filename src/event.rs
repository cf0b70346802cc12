//! What the engine is told: accesses, and the births and deaths of the streams that make them.

use crate::clock::Micros;
use crate::id::{FileId, GroupId, ProgramId, SessionId, StreamId};

/// A range of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Its name was resolved, or its attributes asked for, and the kernel did not know them.
    Lookup,
    /// A directory was opened or its entries asked for.
    List,
    /// A regular file was opened (or executed).
    Open,
    /// Bytes were asked for that the kernel did not have.
    Read(Span),
    /// Bytes were changed, or the size.
    Write,
    /// The last descriptor of an open for writing was closed.
    Close,
    /// The name is gone.
    Remove,
}

/// Where the data was at the time of the access (Kroeger and Long's read classes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Residency {
    /// Not looked at.
    #[default]
    Unknown,
    /// In memory: no device access.
    Hit,
    /// On its way, or partly there.
    Partial,
    /// Not there: a new device access.
    Miss,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessEvent {
    /// When.
    pub at: Micros,
    /// By whom.
    pub stream: StreamId,
    /// To what.
    pub file: FileId,
    /// How.
    pub op: Op,
    /// What it found.
    pub residency: Residency,
}

/// Where a stream comes from; known before its first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The stream of the process that forked it, where that one is known.
    pub parent: Option<StreamId>,
    /// What it runs.
    pub program: ProgramId,
    /// The job it belongs to.
    pub group: GroupId,
    /// The session the job belongs to.
    pub session: SessionId,
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which file it is.
    pub file: FileId,
    /// Its inode number in the source, as the directory tells it.
    pub inode: u64,
    /// Its place among the entries of the directory when they are sorted by name (as bytes), from 0.
    pub by_name: u32,
    /// Is it a directory?
    pub directory: bool,
}

/// What a directory contained when it was read, or a piece of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Which directory.
    pub dir: FileId,
    /// Entries before these, in pieces that were told before. 0 begins a new listing.
    pub at: u32,
    /// Nothing follows.
    pub last: bool,
    /// The entries, at most [`Listing::PIECE`], without `.` and `..`, in the order of the directory.
    pub entries: Vec<Entry>,
}

impl Listing {
    /// Most entries of a piece: as many as fit a record of a trace.
    pub const PIECE: usize = 256;

    /// A whole listing in pieces; at least one, also of an empty directory.
    pub fn pieces(dir: FileId, entries: &[Entry]) -> Vec<Listing> {
        let count = entries.len().div_ceil(Listing::PIECE).max(1);
        let piece = |number: usize| {
            let (from, to) = (number * Listing::PIECE, entries.len().min((number + 1) * Listing::PIECE));
            Listing { dir, at: from as u32, last: number + 1 == count, entries: entries[from..to].to_vec() }
        };
        (0..count).map(piece).collect()
    }
}

/// What is known of a file's place on the device and its size; used for order and budget only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Inode number in the source; 0 when nothing is known.
    pub inode: u64,
    /// Size in bytes (as of the last look).
    pub size: u64,
    /// Byte address of the first extent on the device, 0 when unknown.
    pub extent: u64,
    /// Is it a directory?
    pub directory: bool,
}

impl Facts {
    /// Has anybody looked at this file?
    pub fn known(&self) -> bool {
        self.inode != 0
    }
}
