//! The contexts of an access, as keys: what a process used last, or first since its program started.
//!
//! What must stay true: the keys of a live access and those made again from its entry are the same.

use super::contexts::key;
use super::entry::Life;
use super::follower::Trust;
use super::log::Log;
use crate::id::ProgramId;

/// Stands for "no file yet" in a context.
pub(super) const NOTHING: u32 = u32::MAX;

/// Kinds of context.
const LAST_THREE: u32 = 1;
const LAST_TWO: u32 = 2;
const FIRST: u32 = 3;
const FIRST_TWO: u32 = 4;

/// The keys of an access, best first.
pub(super) type Keys = [Option<(u32, Trust)>; 3];

/// Where a process of `program` stands whose last three files, newest first, are these.
pub(super) fn keys(program: ProgramId, life: Life, [new, middle, old]: [u32; 3]) -> Keys {
    let start = match life {
        Life::First => Some(key(FIRST, [program.0, new, 0, 0])),
        Life::Second => Some(key(FIRST_TWO, [program.0, middle, new, 0])),
        Life::Later => None,
        Life::Payload => return [None; 3],
    };
    [
        (old != NOTHING).then(|| (key(LAST_THREE, [program.0, old, middle, new]), Trust::Good)),
        start.map(|key| (key, Trust::Good)),
        // Whatever the program: a tree is often walked in the same order by another one.
        (middle != NOTHING).then(|| (key(LAST_TWO, [middle, new, 0, 0]), Trust::Doubtful)),
    ]
}

/// The keys that stand at an entry.
pub(super) fn of_entry(log: &Log, position: u64) -> Keys {
    let Some(entry) = log.get(position).filter(|entry| !entry.item.forgotten()) else { return [None; 3] };
    let middle = log.back(position);
    let old = middle.and_then(|at| log.back(at));
    let file = |at: Option<u64>| at.and_then(|at| log.get(at)).map_or(NOTHING, |entry| entry.item.file().0);
    let recent = [entry.item.file().0, file(middle), file(old)];
    without_scan(keys(entry.by.program(), entry.by.life(), recent), entry.by.scan())
}

/// A scan leads its own program only: it says nothing about what others do.
pub(super) fn without_scan(keys: Keys, scan: bool) -> Keys {
    keys.map(|key| key.filter(|&(_, trust)| !scan || trust == Trust::Good))
}
