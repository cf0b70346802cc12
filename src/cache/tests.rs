use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::replace::POLICIES;
use proptest::prelude::*;

const BLOCK: u32 = 16;

fn settings(policy: &str, blocks: u64) -> CacheSettings {
    CacheSettings { capacity: blocks * u64::from(BLOCK), block_size: BLOCK, policy: policy.parse().unwrap() }
}

fn wanted(version: u64, size: usize, offset: u64, len: usize) -> Wanted<u64> {
    Wanted { file: 7, version, size: size as u64, owner: ProgramId(0), arrival: Arrival::Demand, offset, len }
}

fn source(content: &[u8]) -> impl FnMut(u64, usize) -> Result<Vec<u8>, ()> {
    |offset, len| {
        let start = content.len().min(offset as usize);
        Ok(content[start..content.len().min(start + len)].to_vec())
    }
}

#[test]
fn what_was_read_is_at_hand() {
    let (cache, content) = (OwnCache::new(settings("lru", 8)), (0..100).collect::<Vec<u8>>());
    let all = wanted(1, 100, 0, 200);
    assert_eq!(cache.at_hand(&all), None);
    assert_eq!(cache.read(&all, source(&content)).unwrap(), content);
    assert_eq!(cache.at_hand(&wanted(1, 100, 15, 20)).unwrap(), content[15..35]);
    assert!(cache.at_hand(&wanted(1, 100, 100, 20)).unwrap().is_empty());
    let figures = cache.figures();
    assert_eq!((figures.counts.misses, figures.held, figures.counts.read_bytes), (7, 100, 100));
}

#[test]
fn an_error_reaches_the_reader_and_is_not_kept() {
    let cache = OwnCache::new(settings("lru", 8));
    let all = wanted(1, 64, 0, 64);
    assert_eq!(cache.read(&all, |_, _| Err("bad block")), Err("bad block"));
    assert_eq!(cache.read(&all, source(&[3; 64])).unwrap(), [3; 64]);
    assert_eq!(cache.figures().held, 64);
}

#[test]
fn a_late_fill_loses() {
    let cache = OwnCache::new(settings("lru", 8));
    let all = wanted(1, 64, 0, 64);
    let read = cache.read(&all, |_, len| {
        cache.changed(7);
        Ok::<_, ()>(vec![1; len])
    });
    assert_eq!(read.unwrap(), [1; 64]);
    assert_eq!((cache.at_hand(&all), cache.figures().held), (None, 0));
    assert_eq!(cache.figures().counts.late, 4);
}

#[test]
fn a_block_is_read_once_however_many_want_it() {
    let cache = OwnCache::new(settings("lru", 8));
    let (reads, together) = (AtomicUsize::new(0), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                together.wait();
                let read = cache.read(&wanted(1, 64, 0, 64), |_, len| {
                    reads.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                    Ok::<_, ()>(vec![5; len])
                });
                assert_eq!(read.unwrap(), [5; 64]);
            });
        }
    });
    assert_eq!(reads.into_inner(), 1);
}

#[test]
fn whoever_waits_for_a_read_that_fails_reads_for_itself() {
    let cache = OwnCache::new(settings("lru", 8));
    let (begun, all) = (Barrier::new(2), wanted(1, 16, 0, 16));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let read = cache.read(&all, |_, _| {
                begun.wait();
                while cache.figures().counts.waits == 0 {
                    std::thread::yield_now();
                }
                Err(())
            });
            assert_eq!(read, Err(()));
        });
        begun.wait();
        assert_eq!(cache.read(&all, source(&[9; 16])).unwrap(), [9; 16]);
    });
}

#[test]
fn a_panic_while_reading_keeps_nobody_waiting() {
    let cache = OwnCache::new(settings("lru", 8));
    let all = wanted(1, 16, 0, 16);
    let read =
        std::panic::AssertUnwindSafe(|| cache.read(&all, |_, _| -> Result<_, ()> { panic!("on purpose") }));
    assert!(std::panic::catch_unwind(read).is_err());
    assert_eq!(cache.read(&all, source(&[9; 16])).unwrap(), [9; 16]);
}

#[test]
fn what_was_fetched_ahead_is_marked_until_it_is_used() {
    let cache = OwnCache::new(settings("default", 8));
    let ahead = Wanted { arrival: Arrival::Ahead, ..wanted(1, 64, 0, 64) };
    cache.read(&ahead, source(&[1; 64])).unwrap();
    cache.at_hand(&wanted(1, 64, 0, 32)).unwrap();
    let counts = cache.figures().counts;
    assert_eq!((counts.ahead, counts.ahead_used, counts.misses, counts.hits), (4, 2, 0, 2));
    cache.changed(7);
    assert_eq!(cache.figures().counts.ahead_unused, 2);
}

/// What happens to a file.
#[derive(Clone, Debug)]
enum Deed {
    Read(u64, usize),
    Ahead(u64, usize),
    Write(u64, Vec<u8>),
    Truncate(usize),
    /// Changed by somebody else, who tells or does not.
    Below(u64, u8, bool),
    /// Read while it changes.
    Race(u64, usize, u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    let place = || (0..200u64, 0..120usize);
    prop_oneof![
        4 => place().prop_map(|(at, len)| Deed::Read(at, len)),
        1 => place().prop_map(|(at, len)| Deed::Ahead(at, len)),
        2 => (0..200u64, prop::collection::vec(any::<u8>(), 1..60)).prop_map(|(at, bytes)| Deed::Write(at, bytes)),
        1 => (0..200usize).prop_map(Deed::Truncate),
        1 => (0..200u64, any::<u8>(), any::<bool>()).prop_map(|(at, byte, told)| Deed::Below(at, byte, told)),
        1 => (0..200u64, 0..120usize, any::<u8>()).prop_map(|(at, len, byte)| Deed::Race(at, len, byte)),
    ]
}

fn write(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    content.resize(content.len().max(at + bytes.len()), 0);
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

proptest! {
    /// Every byte is the file's, whatever happens to it; and there are never too many.
    #[test]
    fn every_byte_is_the_files(
        policy in 0..POLICIES.len(),
        deeds in prop::collection::vec(deed(), 1..80),
    ) {
        let cache = OwnCache::new(settings(POLICIES[policy].0, 5));
        let (mut content, mut version) = ((0..100).collect::<Vec<u8>>(), 0u64);
        for deed in deeds {
            match deed {
                Deed::Read(at, len) | Deed::Ahead(at, len) => {
                    let arrival =
                        if matches!(deed, Deed::Ahead(..)) { Arrival::Ahead } else { Arrival::Demand };
                    let wanted = Wanted { arrival, ..wanted(version, content.len(), at, len) };
                    let start = content.len().min(at as usize);
                    let want = &content[start..content.len().min(start + len)];
                    if let Some(found) = cache.at_hand(&wanted) {
                        prop_assert_eq!(&found, want);
                    }
                    prop_assert_eq!(&cache.read(&wanted, source(&content)).unwrap(), want);
                }
                Deed::Write(at, bytes) => {
                    write(&mut content, at as usize, &bytes);
                    cache.written(7, (version, version + 1), content.len() as u64, at, &bytes);
                    version += 1;
                }
                Deed::Truncate(size) => {
                    content.resize(size, 0);
                    version += 1;
                    cache.changed(7);
                }
                Deed::Below(at, byte, told) => {
                    write(&mut content, at as usize, &[byte]);
                    version += 1;
                    if told {
                        cache.changed(7);
                    }
                }
                Deed::Race(at, len, byte) => {
                    let before = wanted(version, content.len(), at, len);
                    let old = content.clone();
                    let mut read = source(&old);
                    cache.read(&before, |offset, len| {
                        write(&mut content, offset as usize, &[byte]);
                        version += 1;
                        cache.changed(7);
                        read(offset, len)
                    }).unwrap();
                }
            }
            let figures = cache.figures();
            prop_assert!(figures.held <= figures.settings.capacity);
        }
        cache.clear();
        prop_assert_eq!(cache.figures().held, 0);
    }
}
