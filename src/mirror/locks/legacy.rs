//! Who holds locks, for the process that goes on with the mount.
//!
//! What must stay true: a lock is one of an open file description, and goes on with it: it is never given up and taken
//! again, so nobody below can get in between.

use super::{Locks, Owner, Style};
use crate::codec::{CodecError, put_varint};
use crate::mirror::legacy::{Bundle, Legacy};

impl Locks {
    pub(in crate::mirror) fn bequeath(&self, words: &mut Vec<u8>, bundle: &mut Bundle) {
        let owners = self.owners.lock();
        put_varint(words, owners.values().map(|here| here.len() as u64).sum());
        let mut all: Vec<_> =
            owners.iter().flat_map(|(at, here)| here.iter().map(move |one| (*at, one))).collect();
        all.sort_by_key(|&(nodeid, _)| nodeid);
        for (nodeid, owner) in all {
            put_varint(words, nodeid);
            put_varint(words, owner.number);
            words.push((owner.style == Style::Whole).into());
            put_varint(words, owner.handle);
            put_varint(words, owner.pid.into());
            put_varint(words, bundle.put(&owner.description));
        }
    }

    pub(in crate::mirror) fn inherit(&self, legacy: &mut Legacy<'_>) -> Result<(), CodecError> {
        for _ in 0..legacy.words.count("how many hold locks")? {
            let words = &mut legacy.words;
            let nodeid = words.varint("a locked file")?;
            let number = words.varint("an owner of locks")?;
            let whole = words.below(2, "a kind of lock")? == 1;
            let style = if whole { Style::Whole } else { Style::Record };
            let handle = words.varint("the handle of a lock")?;
            let pid = words.below(1 << 32, "the process of a lock")? as u32;
            let description = legacy.file()?;
            self.enter(nodeid, Owner { number, style, handle, pid, description });
        }
        Ok(())
    }
}
