//! One operation, as data.

use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, OFlags, RenameFlags, XattrFlags};

/// A path below the root of the twin: an index into `names`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) usize);

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Name({}) /* {} */",
            self.0,
            names()[self.0][..names()[self.0].len().min(12)].escape_ascii()
        )
    }
}

/// A place for an open file.
pub(crate) type Slot = usize;
/// How many files a twin has open at most.
pub(crate) const SLOTS: usize = 4;

/// The paths that steps act on: few, so that they meet; among them names that are not text, the longest possible and one that
/// is too long, and ways through what may be no directory.
pub(crate) fn names() -> &'static [Vec<u8>] {
    static NAMES: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    NAMES.get_or_init(|| {
        let plain =
            ["a", "b", "c", "dir", "dir/a", "dir/b", "dir/sub", "dir/sub/a", "a/below", "none/a", "."];
        let mut names: Vec<Vec<u8>> = plain.iter().map(|name| name.as_bytes().to_vec()).collect();
        names.push(b"bytes \xff\xfe\n".to_vec());
        names.push(vec![b'l'; 255]);
        names.push(vec![b'm'; 256]);
        names
    })
}

/// Where a symbolic link may lead.
pub(crate) fn targets() -> [Vec<u8>; 6] {
    [b"a".to_vec(), b"dir".to_vec(), b"nowhere".to_vec(), b"c".to_vec(), b"t\xff".to_vec(), vec![b'x'; 300]]
}

/// Names of extended attributes; the last one belongs to no name space.
pub(crate) const ATTRIBUTES: [&[u8]; 5] = [b"user.a", b"user.b", b"user.\xfe", b"trusted.t", b"bogus.x"];

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(i64, u32),
    Now,
    Omit,
}

/// Where lseek goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Start,
    End,
    Data,
    Hole,
}

/// One operation.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named after the system calls they make")]
pub(crate) enum Step {
    Open { slot: Slot, name: Name, flags: OFlags, mode: u32 },
    Close { slot: Slot },
    Read { slot: Slot, at: u64, len: usize },
    ReadOn { slot: Slot, len: usize },
    Write { slot: Slot, at: u64, len: usize, fill: u8 },
    WriteOn { slot: Slot, len: usize, fill: u8 },
    Seek { slot: Slot, to: To, at: u64 },
    Truncate { name: Name, len: u64 },
    TruncateOpen { slot: Slot, len: u64 },
    Allocate { slot: Slot, mode: FallocateFlags, at: u64, len: u64 },
    CopyRange { from: Slot, from_at: u64, to: Slot, to_at: u64, len: usize },
    Sync { slot: Slot, data_only: bool },
    Lock { slot: Slot, how: FlockOperation },
    StatOpen { slot: Slot },
    ChmodOpen { slot: Slot, mode: u32 },
    Stat { name: Name, follow: bool },
    Access { name: Name, mode: u32 },
    List { name: Name },
    Unlink { name: Name },
    Rmdir { name: Name },
    Mkdir { name: Name, mode: u32 },
    Mknod { name: Name, mode: u32, device: (u32, u32) },
    Rename { from: Name, to: Name, flags: RenameFlags },
    Link { from: Name, to: Name, flags: AtFlags },
    Symlink { target: usize, name: Name },
    Readlink { name: Name },
    Chmod { name: Name, mode: u32 },
    Chown { name: Name, uid: Option<u32>, gid: Option<u32>, follow: bool },
    Utimens { name: Name, atime: When, mtime: When, follow: bool },
    SetAttribute { name: Name, attribute: usize, len: usize, flags: XattrFlags },
    GetAttribute { name: Name, attribute: usize, room: usize },
    ListAttributes { name: Name },
    RemoveAttribute { name: Name, attribute: usize },
    StatFs { name: Name },
}
