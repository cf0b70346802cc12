//! What writing and reading share: the tags, and the last number of each kind, to which the next is a difference.
//!
//! Must stay true: both sides take exactly the same steps.

use crate::codec::{CodecError, Reader, put_varint, unzigzag, zigzag};

/// Records other than steps and effects.
pub(super) mod tag {
    pub(in crate::trace) const SETTING: u8 = 1;
    /// The next file number has this name.
    pub(in crate::trace) const NAMED: u8 = 2;
    /// The next file number has none.
    pub(in crate::trace) const NAMELESS: u8 = 3;
    /// A known number has another name now.
    pub(in crate::trace) const RENAMED: u8 = 4;
    /// A known number has lost its name.
    pub(in crate::trace) const UNNAMED: u8 = 5;
    pub(in crate::trace) const PROGRAM: u8 = 6;
    pub(in crate::trace) const LEARNED: u8 = 7;
    pub(in crate::trace) const FACTS: u8 = 8;
    pub(in crate::trace) const END: u8 = 9;
    pub(in crate::trace) const BEGIN: u8 = 0x10;
    pub(in crate::trace) const EXEC: u8 = 0x11;
    pub(in crate::trace) const ENDED: u8 = 0x12;
    pub(in crate::trace) const STARTED: u8 = 0x13;
    pub(in crate::trace) const TICK: u8 = 0x14;
    pub(in crate::trace) const WINDOW: u8 = 0x15;
    pub(in crate::trace) const BUDGET: u8 = 0x16;
    pub(in crate::trace) const FORGET: u8 = 0x17;
    /// And the residency in the low two bits.
    pub(in crate::trace) const JUDGE: u8 = 0x18;
    /// And the outcome in the low two bits.
    pub(in crate::trace) const SETTLED: u8 = 0x1c;
    /// And the target in the low two bits.
    pub(in crate::trace) const PREFETCH: u8 = 0x20;
    pub(in crate::trace) const WITHDRAW: u8 = 0x24;
    pub(in crate::trace) const LISTED: u8 = 0x28;
    pub(in crate::trace) const INODE_WINDOW: u8 = 0x29;
    /// And the operation in the middle, the residency in the low two bits.
    pub(in crate::trace) const ACCESS: u8 = 0x40;
}

/// Times are below this, in microseconds: two thousand years, and sums of some of them fit 64 bits.
pub(super) const TIME_MAX: u64 = 1 << 56;
/// Sizes and amounts of bytes are below this: larger than any file system, and sums of thousands of them fit 64 bits.
pub(super) const BYTES_MAX: u64 = 1 << 50;
/// File numbers are below this, as `Names` hands them out.
pub(super) const FILES_MAX: u64 = (1 << 30) - 1;
/// Longest component, as `Names` has it.
pub(super) const COMPONENT_MAX: usize = 1024;

/// A number kept as its difference to the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Running(u64);

impl Running {
    pub(super) fn put(&mut self, out: &mut Vec<u8>, number: u64) {
        put_varint(out, zigzag(number.wrapping_sub(self.0) as i64));
        self.0 = number;
    }

    /// The next number, which must be below `limit`.
    pub(super) fn get(
        &mut self,
        body: &mut Reader<'_>,
        limit: u64,
        expected: &'static str,
    ) -> Result<u64, CodecError> {
        let wrong = body.error(expected);
        let before = *self;
        match self.any(body, expected)? {
            number if number < limit => Ok(number),
            _ => {
                *self = before;
                Err(wrong)
            }
        }
    }

    /// The next number, whatever it is.
    pub(super) fn any(&mut self, body: &mut Reader<'_>, expected: &'static str) -> Result<u64, CodecError> {
        self.0 = self.0.wrapping_add(unzigzag(body.varint(expected)?) as u64);
        Ok(self.0)
    }
}

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coder {
    pub(super) time: Running,
    pub(super) stream: Running,
    pub(super) file: Running,
    pub(super) job: Running,
    pub(super) inode: Running,
    pub(super) extent: Running,
    /// Numbers introduced so far: all below these.
    pub(super) files: u32,
    pub(super) programs: u32,
}

impl Coder {
    /// Before the first record: the root is known.
    pub(super) fn new() -> Self {
        let (time, stream, file, job, inode, extent) = Default::default();
        Coder { time, stream, file, job, inode, extent, files: 1, programs: 0 }
    }
}
