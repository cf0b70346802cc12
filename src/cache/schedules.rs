//! The cache under schedules: threads that fill, invalidate, write and evict, in orders that shuttle chooses.
//!
//! What must stay true: the code that is tested is the cache's own, compiled once more with shuttle's locks; a schedule that
//! fails is printed, and can be replayed.

use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use super::{CacheFigures, CacheSettings, Wanted, shelf};
use crate::id::ProgramId;
use crate::replace::{Arrival, POLICIES};

#[path = "own.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "what the schedules need of it")]
#[allow(clippy::duplicate_mod, reason = "with other locks")]
mod own;

use own::OwnCache;

/// Shuttle's locks with the calls of parking_lot's.
mod sync {
    use std::ops::{Deref, DerefMut};

    pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);
    pub(super) struct Guard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);
    pub(super) struct Condvar(shuttle::sync::Condvar);

    impl<T> Mutex<T> {
        pub(super) fn new(of: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(of))
        }

        pub(super) fn lock(&self) -> Guard<'_, T> {
            Guard(Some(self.0.lock().unwrap()))
        }
    }

    impl<T> Deref for Guard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().unwrap()
        }
    }

    impl<T> DerefMut for Guard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().unwrap()
        }
    }

    impl Condvar {
        pub(super) fn new() -> Self {
            Condvar(shuttle::sync::Condvar::new())
        }

        pub(super) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
            let inner = guard.0.take().unwrap();
            guard.0 = Some(self.0.wait(inner).unwrap());
        }

        pub(super) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

const BLOCK: usize = 8;
/// Blocks of the file; the cache has room for half of them.
const BLOCKS: usize = 4;
const SIZE: u64 = (BLOCK * BLOCKS) as u64;

/// A file whose bytes all are the number of its version, if nobody changes it while it is read.
#[derive(Default)]
struct Source {
    version: AtomicU64,
    reads: AtomicU64,
}

impl Source {
    fn read(&self, len: usize) -> Vec<u8> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        // A change may come in the middle.
        let first = self.version.load(Ordering::SeqCst) as u8;
        let last = self.version.load(Ordering::SeqCst) as u8;
        let mut bytes = vec![first; len];
        bytes[len / 2..].fill(last);
        bytes
    }

    fn wanted(&self, first: usize, blocks: usize) -> Wanted<u64> {
        Wanted {
            file: 7,
            version: self.version.load(Ordering::SeqCst),
            size: SIZE,
            owner: ProgramId(first as u32 % 2),
            arrival: if first == 3 { Arrival::Ahead } else { Arrival::Demand },
            offset: (first * BLOCK) as u64,
            len: blocks * BLOCK,
        }
    }
}

/// Reads, and finds nothing older than what was there when it began.
fn read(cache: &OwnCache<u64>, source: &Source, first: usize, blocks: usize) {
    let wanted = source.wanted(first, blocks);
    let found = match cache.at_hand(&wanted) {
        Some(found) => found,
        None => cache.read(&wanted, |_, len| Ok::<_, ()>(source.read(len))).unwrap(),
    };
    let now = source.version.load(Ordering::SeqCst);
    assert_eq!(found.len(), wanted.len);
    assert!(
        found.iter().all(|&byte| (wanted.version..=now).contains(&u64::from(byte))),
        "{found:?} in versions {} to {now}",
        wanted.version
    );
    let CacheFigures { held, settings, .. } = cache.figures();
    assert!(held <= settings.capacity);
}

/// What a thread does: reads of these blocks, and a change after some of them, told of or not.
type Part = Vec<(usize, usize, u8)>;

fn play(cache: &OwnCache<u64>, source: &Source, part: &Part) {
    for &(first, blocks, change) in part {
        read(cache, source, first, blocks.min(BLOCKS - first));
        match change {
            0 => {
                source.version.fetch_add(1, Ordering::SeqCst);
                cache.changed(7);
            }
            1 => {
                source.version.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

fn cache(policy: &str) -> OwnCache<u64> {
    let (capacity, block_size) = (SIZE / 2, BLOCK as u32);
    OwnCache::new(CacheSettings { capacity, block_size, policy: policy.parse().unwrap() })
}

#[test]
fn no_schedule_makes_a_byte_stale() {
    let part = || proptest::collection::vec((0..BLOCKS, 1..=BLOCKS, 0..6u8), 1..4);
    let mut dice = proptest::test_runner::TestRunner::deterministic();
    for round in 0..60 {
        let parts = [(); 3].map(|()| part().new_tree(&mut dice).unwrap().current());
        let policy = POLICIES[round % POLICIES.len()].0;
        let play_all = move || {
            let (cache, source) = (Arc::new(cache(policy)), Arc::new(Source::default()));
            let threads = parts.clone().map(|part| {
                let (cache, source) = (cache.clone(), source.clone());
                thread::spawn(move || play(&cache, &source, &part))
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        shuttle::check_pct(play_all, 50, 3);
    }
}

#[test]
fn in_no_schedule_is_a_block_read_twice() {
    let race = || {
        let (cache, source) = (Arc::new(cache("lru")), Arc::new(Source::default()));
        let threads = [(); 3].map(|()| {
            let (cache, source) = (cache.clone(), source.clone());
            thread::spawn(move || read(&cache, &source, 0, 1))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(source.reads.load(Ordering::SeqCst), 1);
    };
    shuttle::check_pct(race, 500, 3);
}

#[test]
fn in_no_schedule_does_whoever_waits_wait_for_ever() {
    let race = || {
        let (cache, source) = (Arc::new(cache("dear")), Arc::new(Source::default()));
        let fails = {
            let (cache, wanted) = (cache.clone(), source.wanted(0, 2));
            thread::spawn(move || drop(cache.read(&wanted, |_, _| Err("bad block"))))
        };
        let clears = {
            let cache = cache.clone();
            thread::spawn(move || cache.clear())
        };
        read(&cache, &source, 0, 2);
        fails.join().unwrap();
        clears.join().unwrap();
    };
    // A deadlock is a failure.
    shuttle::check_pct(race, 500, 3);
}
