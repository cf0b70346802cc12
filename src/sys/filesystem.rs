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

/// File systems whose files the kernel makes up when they are read: their sizes and times say nothing of their content.
const MADE_UP: [u64; 15] = [
    0x9FA0,      // proc
    0x6265_6572, // sysfs
    0x0027_E0EB, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xCAFE_4A11, // bpf
    0xDE5E_81E4, // efivarfs
    0x6165_676C, // pstore
    0xF97C_FF8C, // selinuxfs
    0x6573_5543, // fusectl
    0x4249_4E4D, // binfmt_misc
    0x0765_5821, // resctrl
];

/// Is the content of `file` (any descriptor) made up by the kernel at each reading? "No" when nobody can say.
pub fn is_made_up(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|volume| MADE_UP.contains(&(volume.f_type as u64)))
}

/// File systems that a program serves (FUSE), block devices and virtiofs among them.
const IN_USER_SPACE: u64 = 0x6573_5546;

/// Is `file` (any descriptor) served by a program? "No" when nobody can say.
pub fn is_in_user_space(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|volume| volume.f_type as u64 == IN_USER_SPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_made_up_and_a_disk_is_not() {
        assert!(is_made_up(std::fs::File::open("/proc").unwrap()));
        assert!(!is_made_up(std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap()));
    }

    #[test]
    fn a_disk_is_local_and_proc_is_not_listed() {
        assert!(is_local(std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap()));
        assert!(!is_local(std::fs::File::open("/proc").unwrap()));
    }
}
