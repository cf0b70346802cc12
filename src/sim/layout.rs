//! Where files lie on a simulated device.
//!
//! Inodes lie in one region from the start, 256 bytes each, sixteen to a block, as ext4 has them; data
//! lies behind them. What has no place gets one: files are numbered and laid out in the order of their
//! paths, as a tree that was unpacked at once is, in whole blocks with nothing between them.
//!
//! What must stay true: no two files given a place share a byte of it.

use super::workload::{File, Workload};
use crate::device::Span;
use crate::event::Facts;
use crate::id::FileId;

/// What is read at once at least: a block of the file system.
pub(super) const BLOCK: u64 = 4096;
/// Bytes of an inode, ext4's default.
const INODE: u64 = 256;
/// The smallest device: what the bench's default image is.
const DEVICE_MIN: u64 = 1 << 30;
/// Inodes 1 to 10 are the file system's own on ext4; the root is 2.
const FIRST_INODE: u64 = 11;

/// Gives a place to every file that has none.
pub fn lay_out(workload: &mut Workload) {
    let mut homeless: Vec<(String, usize)> = (0..workload.files.len())
        .filter(|&number| !workload.files[number].facts.known())
        .map(|number| (workload.path(FileId(number as u32)), number))
        .collect();
    homeless.sort_unstable();
    let known = workload.files.iter().map(|file| file.facts).filter(Facts::known);
    let first = known.clone().map(|facts| facts.inode + 1).max().unwrap_or(FIRST_INODE).max(FIRST_INODE);
    let used = known.map(|facts| facts.extent + blocks(facts.size)).max().unwrap_or(0);
    let mut address = used.max(blocks((first + homeless.len() as u64) * INODE));
    for (inode, (_, number)) in (first..).zip(homeless) {
        let File { facts, .. } = &mut workload.files[number];
        (facts.inode, facts.extent) = (inode, address);
        address += blocks(facts.size);
    }
}

/// The size of a device that holds all of it.
pub(super) fn device_size(workload: &Workload) -> u64 {
    let ends = workload.files.iter().map(|file| {
        let facts = file.facts;
        (facts.extent + blocks(facts.size)).max((facts.inode + 1) * INODE)
    });
    ends.max().unwrap_or(0).max(DEVICE_MIN)
}

/// The block that a file's inode lies in, by number.
pub(super) fn inode_block(facts: &Facts) -> u64 {
    facts.inode * INODE / BLOCK
}

/// Where the block of inodes with this number lies.
pub(super) fn block_span(block: u64) -> Span {
    Span { offset: block * BLOCK, len: BLOCK }
}

/// Where a file's bytes from `from` to `to` lie, in whole blocks; a directory's entries have one at least.
pub(super) fn data_span(facts: &Facts, from: u64, to: u64) -> Span {
    let start = from / BLOCK * BLOCK;
    Span { offset: facts.extent + start, len: blocks(to).max(BLOCK) - start }
}

fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK) * BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, parent: u32, size: u64) -> File {
        let facts = Facts { size, ..Facts::default() };
        File { name: name.into(), parent: FileId(parent), facts }
    }

    #[test]
    fn places_are_given_in_the_order_of_the_paths() {
        let mut workload = Workload {
            files: vec![file("", 0, 4096), file("b", 0, 5000), file("a", 0, 4096), file("x", 2, 1)],
            ..Workload::default()
        };
        workload.files[2].facts.directory = true;
        lay_out(&mut workload);
        let places: Vec<_> =
            workload.files.iter().map(|file| (file.facts.inode, file.facts.extent / BLOCK)).collect();
        assert_eq!(places, [(11, 1), (14, 4), (12, 2), (13, 3)]);
        assert_eq!(device_size(&workload), 1 << 30);
        let facts = workload.files[1].facts;
        assert_eq!(data_span(&facts, 0, 5000), Span { offset: 4 * BLOCK, len: 2 * BLOCK });
        assert_eq!(data_span(&facts, 4097, 5000), Span { offset: 5 * BLOCK, len: BLOCK });
        assert_eq!(block_span(inode_block(&facts)), Span { offset: 0, len: BLOCK });
    }

    #[test]
    fn what_has_a_place_keeps_it_and_the_others_come_behind() {
        let mut workload =
            Workload { files: vec![file("", 0, 4096), file("a", 0, 1)], ..Workload::default() };
        workload.files[0].facts.inode = 100;
        workload.files[0].facts.extent = 1 << 31;
        lay_out(&mut workload);
        let facts = workload.files[1].facts;
        assert_eq!((facts.inode, facts.extent), (101, (1 << 31) + 4096));
        assert_eq!(device_size(&workload), (1 << 31) + 8192);
    }
}
