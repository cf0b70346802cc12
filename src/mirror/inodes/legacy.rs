//! The inode table, for the process that goes on with the mount.
//!
//! What must stay true: every number the kernel holds comes back with its look-ups, generation and lasting name; made-up
//! numbers go on to be made up alike.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::fs::FileType;

use super::{Found, Inode, Inodes, Place, ROOT};
use crate::codec::{CodecError, Reader, put_bytes, put_varint, unzigzag, zigzag};
use crate::mirror::attr::{Key, Version};
use crate::mirror::legacy::{Bundle, Legacy};
use crate::sys::handle::FileHandle;

impl Inodes {
    pub(in crate::mirror) fn bequeath(&self, words: &mut Vec<u8>, bundle: &mut Bundle) {
        put_key(words, self.root.key);
        put_varint(words, self.generations.load(Ordering::Acquire));
        let synthetic = self.synthetic.lock();
        put_varint(words, synthetic.devices.len() as u64);
        synthetic.devices.iter().for_each(|&device| put_varint(words, device));
        put_varint(words, synthetic.misfits.len() as u64);
        let mut misfits: Vec<_> = synthetic.misfits.iter().map(|(&key, &place)| (place, key)).collect();
        misfits.sort_unstable();
        for (place, key) in misfits {
            put_key(words, key);
            put_varint(words, place);
        }
        drop(synthetic);
        let mut all: Vec<_> = self.all().into_iter().filter(|inode| inode.nodeid != ROOT).collect();
        all.sort_unstable_by_key(|inode| inode.nodeid);
        put_varint(words, all.len() as u64);
        all.iter().for_each(|inode| inode.bequeath(words, bundle));
    }

    pub(in crate::mirror) fn inherit(&self, legacy: &mut Legacy<'_>) -> Result<(), CodecError> {
        let words = &mut legacy.words;
        if key(words)? != self.root.key {
            return Err(words.error("the same source"));
        }
        self.generations.store(words.varint("the last generation")?, Ordering::Release);
        {
            let mut synthetic = self.synthetic.lock();
            for _ in 0..words.count("how many further devices")? {
                synthetic.devices.push(words.varint("a device")?);
            }
            for _ in 0..words.count("how many misfits")? {
                let key = key(words)?;
                synthetic.misfits.insert(key, words.varint("a misfit's place")?);
            }
        }
        let count = legacy.words.count("how many inodes")?;
        let mut nodes = self.nodes.write();
        for _ in 0..count {
            nodes.insert(Arc::new(inode(legacy)?));
        }
        Ok(())
    }
}

impl Inode {
    fn bequeath(&self, words: &mut Vec<u8>, bundle: &mut Bundle) {
        put_varint(words, self.nodeid);
        put_key(words, self.key);
        put_varint(words, self.kind.as_raw_mode().into());
        put_varint(words, self.lookups.load(Ordering::Acquire));
        put_varint(words, self.generation());
        words.push(self.is_locked().into());
        let state = self.state.lock();
        put_varint(words, state.place.parent);
        put_bytes(words, &state.place.name);
        words.push(state.handle.is_some().into());
        if let Some(handle) = &state.handle {
            let (kind, bytes) = handle.parts();
            put_varint(words, zigzag(kind.into()));
            put_bytes(words, bytes);
        }
        words.push(state.pin.is_some().into());
        if let Some(pin) = &state.pin {
            put_varint(words, bundle.put(pin));
        }
        words.push(state.cached.is_some().into());
        if let Some((version, _)) = &state.cached {
            version.parts().iter().for_each(|&part| put_varint(words, zigzag(part)));
        }
    }
}

fn inode(legacy: &mut Legacy<'_>) -> Result<Inode, CodecError> {
    let words = &mut legacy.words;
    let nodeid = words.varint("a node id")?;
    let key = key(words)?;
    let kind = FileType::from_raw_mode(words.varint("a type")? as u32);
    let lookups = words.varint("a count of look-ups")?;
    let generation = words.varint("a generation")?;
    let locked = flag(words)?;
    let place = Place { parent: words.varint("a directory")?, name: words.bytes("a name")?.into() };
    let handle = if flag(words)? {
        let kind = unzigzag(words.varint("a handle's type")?) as i32;
        Some(FileHandle::from_parts(kind, words.bytes("a handle")?))
    } else {
        None
    };
    let inode = Inode::new(nodeid, Found { key, kind, handle, place }, generation);
    inode.lookups.store(lookups, Ordering::Release);
    inode.locked.store(locked, Ordering::Release);
    if flag(&mut legacy.words)? {
        let pin = legacy.file()?;
        let _none = inode.set_pin(Some(pin));
    }
    if flag(&mut legacy.words)? {
        let mut parts = [0; 5];
        for part in &mut parts {
            *part = unzigzag(legacy.words.varint("a version")?);
        }
        // As if it had been cached now: the kernel may not have heard of it yet.
        inode.state.lock().cached = Some((Version::of_parts(parts), Instant::now()));
    }
    Ok(inode)
}

fn put_key(words: &mut Vec<u8>, key: Key) {
    put_varint(words, key.dev);
    put_varint(words, key.ino);
}

fn key(words: &mut Reader<'_>) -> Result<Key, CodecError> {
    Ok(Key { dev: words.varint("a device")?, ino: words.varint("an inode number")? })
}

fn flag(words: &mut Reader<'_>) -> Result<bool, CodecError> {
    let at = words.at();
    match words.byte("yes or no")? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(CodecError { at, expected: "yes or no" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::OwnedFd;

    const ROOT_KEY: Key = Key { dev: 1, ino: 2 };

    /// An inode that a look-up found, and what has become of it since.
    #[derive(Clone, Debug)]
    struct Fate {
        key: Key,
        name: Vec<u8>,
        handle: Option<Vec<u8>>,
        lookups: u8,
        locked: bool,
        pinned: bool,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        let inode = prop_oneof![3..20_u64, Just(1 << 50), any::<u64>()];
        let key = (1..4_u64, inode).prop_map(|(dev, ino)| Key { dev, ino });
        (key, any::<Vec<u8>>(), any::<Option<Vec<u8>>>(), 1..4_u8, any::<bool>(), any::<bool>()).prop_map(
            |(key, name, handle, lookups, locked, pinned)| Fate {
                key,
                name,
                handle,
                lookups,
                locked,
                pinned,
            },
        )
    }

    fn live(inodes: &Inodes, fate: &Fate) {
        for _ in 0..fate.lookups {
            let inode = inodes.enter(Found {
                key: fate.key,
                kind: FileType::RegularFile,
                handle: fate.handle.as_ref().map(|bytes| FileHandle::from_parts(-3, bytes)),
                place: Place { parent: ROOT, name: fate.name.clone().into() },
            });
            if fate.locked {
                inode.set_locked();
            }
            if fate.pinned {
                let file: OwnedFd = std::fs::File::open("/").unwrap().into();
                let _former = inode.set_pin(Some(Arc::new(file)));
            }
        }
    }

    /// Everything that an answer to the kernel can depend on.
    fn told(inode: &Inode) -> impl PartialEq + std::fmt::Debug {
        let lookups = inode.lookups.load(Ordering::Acquire);
        let pin = inode.pin().map(|pin| rustix::fs::fstat(pin).unwrap().st_ino);
        (
            (inode.key, inode.kind, lookups, inode.generation()),
            inode.handle(),
            inode.place(),
            inode.is_locked(),
            pin,
        )
    }

    proptest! {
        #[test]
        fn every_number_means_the_same_in_the_next_process(
            fates in proptest::collection::vec(fate(), 0..30), later in proptest::collection::vec(fate(), 0..5),
            cut: proptest::sample::Index,
        ) {
            let first = Inodes::new(ROOT_KEY, None);
            fates.iter().for_each(|fate| live(&first, fate));
            let (mut words, mut bundle) = (Vec::new(), Bundle::default());
            first.bequeath(&mut words, &mut bundle);

            let second = Inodes::new(ROOT_KEY, None);
            let files = bundle.files().to_vec();
            let mut legacy = Legacy { words: Reader::new(&words), files: files.clone() };
            second.inherit(&mut legacy).unwrap();
            legacy.words.finish("the end").unwrap();
            // Whoever is met later is called the same by both.
            later.iter().for_each(|fate| { live(&first, fate); live(&second, fate) });
            prop_assert_eq!(first.all().len(), second.all().len());
            for inode in first.all() {
                let heir = second.get(inode.nodeid).unwrap();
                prop_assert_eq!(told(&heir), told(&inode));
            }
            let other = Inodes::new(Key { dev: 1, ino: 9 }, None);
            let refused = other.inherit(&mut Legacy { words: Reader::new(&words), files: files.clone() }).is_err();
            prop_assert!(refused, "another source");
            let torn = Reader::new(&words[..cut.index(words.len())]);
            let refused = Inodes::new(ROOT_KEY, None).inherit(&mut Legacy { words: torn, files }).is_err();
            prop_assert!(refused, "torn");
        }
    }
}
