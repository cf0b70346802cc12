//! Random operation lists.

use proptest::prelude::*;
use proptest::sample::select;
use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, OFlags, RenameFlags, XattrFlags};

use super::step::{ATTRIBUTES, Name, SLOTS, Slot, Step, To, When, names, targets};

/// Longest list.
const STEPS: usize = 100;

/// Lists of steps.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..=STEPS)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => open(),
        12 => on_open(),
        8 => on_names(),
        6 => attributes(),
        3 => extended(),
    ]
}

fn name() -> impl Strategy<Value = Name> {
    // Mostly the ordinary ones, which stand first.
    prop_oneof![6 => 0..8_usize, 2 => 0..names().len()].prop_map(Name)
}

fn slot() -> impl Strategy<Value = Slot> {
    0..SLOTS
}

fn mode() -> impl Strategy<Value = u32> {
    select(vec![0o644, 0o600, 0o666, 0o777, 0o755, 0, 0o4755, 0o2755, 0o2644, 0o1777, 0o6777])
}

/// Around page borders, and far enough for holes.
fn place() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..40, select(vec![4095, 4096, 4097, 8192, 65_536, 131_071, 300_000])]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..40, select(vec![4096, 5000, 20_000, 140_000])]
}

fn open() -> impl Strategy<Value = Step> {
    let way = select(vec![OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR, OFlags::RDWR, OFlags::RDWR]);
    let more = prop_oneof![
        3 => Just(OFlags::empty()),
        4 => Just(OFlags::CREATE),
        1 => Just(OFlags::CREATE | OFlags::EXCL),
        1 => Just(OFlags::CREATE | OFlags::TRUNC),
        1 => Just(OFlags::TRUNC),
        2 => Just(OFlags::CREATE | OFlags::APPEND),
        1 => Just(OFlags::DIRECTORY),
        1 => Just(OFlags::NOFOLLOW),
        1 => Just(OFlags::SYNC),
        1 => Just(OFlags::CREATE | OFlags::NOFOLLOW),
        1 => Just(OFlags::PATH),
    ];
    (slot(), name(), way, more, mode()).prop_map(|(slot, name, way, more, mode)| Step::Open {
        slot,
        name,
        flags: way | more,
        mode,
    })
}

fn on_open() -> impl Strategy<Value = Step> {
    let allocation = select(vec![
        FallocateFlags::empty(),
        FallocateFlags::KEEP_SIZE,
        FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        FallocateFlags::ZERO_RANGE,
        FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
        FallocateFlags::PUNCH_HOLE,
    ]);
    let lock = select(vec![
        FlockOperation::NonBlockingLockShared,
        FlockOperation::NonBlockingLockExclusive,
        FlockOperation::NonBlockingUnlock,
    ]);
    let to = select(vec![To::Start, To::End, To::Data, To::Hole]);
    prop_oneof![
        1 => slot().prop_map(|slot| Step::Close { slot }),
        3 => (slot(), place(), length()).prop_map(|(slot, at, len)| Step::Read { slot, at, len }),
        2 => (slot(), length()).prop_map(|(slot, len)| Step::ReadOn { slot, len }),
        4 => (slot(), place(), length(), any::<u8>())
            .prop_map(|(slot, at, len, fill)| Step::Write { slot, at, len, fill }),
        3 => (slot(), length(), any::<u8>()).prop_map(|(slot, len, fill)| Step::WriteOn { slot, len, fill }),
        2 => (slot(), to, place()).prop_map(|(slot, to, at)| Step::Seek { slot, to, at }),
        2 => (slot(), place()).prop_map(|(slot, len)| Step::TruncateOpen { slot, len }),
        2 => (slot(), allocation, place(), place())
            .prop_map(|(slot, mode, at, len)| Step::Allocate { slot, mode, at, len }),
        2 => (slot(), place(), slot(), place(), length())
            .prop_map(|(from, from_at, to, to_at, len)| Step::CopyRange { from, from_at, to, to_at, len }),
        1 => (slot(), any::<bool>()).prop_map(|(slot, data_only)| Step::Sync { slot, data_only }),
        1 => (slot(), lock).prop_map(|(slot, how)| Step::Lock { slot, how }),
        2 => slot().prop_map(|slot| Step::StatOpen { slot }),
        1 => (slot(), mode()).prop_map(|(slot, mode)| Step::ChmodOpen { slot, mode }),
    ]
}

fn on_names() -> impl Strategy<Value = Step> {
    let kinds = select(vec![
        (libc::S_IFREG | 0o640, (0, 0)),
        (libc::S_IFIFO | 0o600, (0, 0)),
        (libc::S_IFSOCK | 0o644, (0, 0)),
        (libc::S_IFCHR | 0o666, (1, 3)),
        (libc::S_IFCHR | 0o600, (240, 70_000)),
    ]);
    let flags = select(vec![
        RenameFlags::empty(),
        RenameFlags::empty(),
        RenameFlags::NOREPLACE,
        RenameFlags::EXCHANGE,
        RenameFlags::NOREPLACE | RenameFlags::EXCHANGE,
        RenameFlags::WHITEOUT,
    ]);
    let follow = select(vec![AtFlags::empty(), AtFlags::SYMLINK_FOLLOW]);
    prop_oneof![
        3 => name().prop_map(|name| Step::Unlink { name }),
        2 => name().prop_map(|name| Step::Rmdir { name }),
        3 => (name(), mode()).prop_map(|(name, mode)| Step::Mkdir { name, mode }),
        2 => (name(), kinds).prop_map(|(name, (mode, device))| Step::Mknod { name, mode, device }),
        5 => (name(), name(), flags).prop_map(|(from, to, flags)| Step::Rename { from, to, flags }),
        3 => (name(), name(), follow).prop_map(|(from, to, flags)| Step::Link { from, to, flags }),
        3 => (0..targets().len(), name()).prop_map(|(target, name)| Step::Symlink { target, name }),
        2 => name().prop_map(|name| Step::Readlink { name }),
        3 => name().prop_map(|name| Step::List { name }),
    ]
}

fn attributes() -> impl Strategy<Value = Step> {
    let id = || select(vec![None, Some(0), Some(12_345), Some(70_000)]);
    let when = || {
        select(vec![
            When::At(0, 0),
            When::At(-1, 999_999_999),
            When::At(-86_400, 250_000_000),
            When::At(1_000_000_000, 123_456_789),
            When::At(-2_000_000_000, 1),
            When::Now,
            When::Omit,
        ])
    };
    prop_oneof![
        4 => (name(), any::<bool>()).prop_map(|(name, follow)| Step::Stat { name, follow }),
        2 => (name(), place()).prop_map(|(name, len)| Step::Truncate { name, len }),
        2 => (name(), mode()).prop_map(|(name, mode)| Step::Chmod { name, mode }),
        2 => (name(), id(), id(), any::<bool>())
            .prop_map(|(name, uid, gid, follow)| Step::Chown { name, uid, gid, follow }),
        3 => (name(), when(), when(), any::<bool>())
            .prop_map(|(name, atime, mtime, follow)| Step::Utimens { name, atime, mtime, follow }),
        1 => (name(), 0_u32..8).prop_map(|(name, mode)| Step::Access { name, mode }),
        1 => name().prop_map(|name| Step::StatFs { name }),
    ]
}

fn extended() -> impl Strategy<Value = Step> {
    let attribute = || 0..ATTRIBUTES.len();
    let flags = select(vec![XattrFlags::empty(), XattrFlags::CREATE, XattrFlags::REPLACE]);
    prop_oneof![
        4 => (name(), attribute(), select(vec![0_usize, 1, 9, 1500, 70_000]), flags)
            .prop_map(|(name, attribute, len, flags)| Step::SetAttribute { name, attribute, len, flags }),
        2 => (name(), attribute(), select(vec![0_usize, 1, 64, 2000]))
            .prop_map(|(name, attribute, room)| Step::GetAttribute { name, attribute, room }),
        2 => name().prop_map(|name| Step::ListAttributes { name }),
        1 => (name(), attribute()).prop_map(|(name, attribute)| Step::RemoveAttribute { name, attribute }),
    ]
}
