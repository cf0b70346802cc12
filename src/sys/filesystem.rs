//! What kind of file system a file is on.

use std::os::fd::AsFd;

/// File systems that keep their data on this machine, by the magic numbers of statfs(2): they answer
/// from memory what is in memory, and nobody changes them but through this kernel.
const LOCAL: [u64; 12] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683E, // btrfs
    0xF2F5_2010, // f2fs
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0x794C_7630, // overlayfs
    0x2FC1_2FC1, // zfs
    0xCA45_1A4E, // bcachefs
    0x7371_7368, // squashfs
    0xE0F5_E1E2, // erofs
    0x9660,      // iso9660
];

/// Is the file system that `file` (any descriptor) is on one of this machine? "No" when nobody can say.
pub fn is_local(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|volume| LOCAL.contains(&(volume.f_type as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_local_and_proc_is_not_listed() {
        assert!(is_local(std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap()));
        assert!(!is_local(std::fs::File::open("/proc").unwrap()));
    }
}
