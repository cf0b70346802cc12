//! Golden counts, and the trie against a slow model that keeps whole paths in a map.

use super::super::per_stream::PerStream;
use super::super::practice::{self, begin, files, letters, open, pull};
use super::super::trie::slow::{self, Slow, partition};
use super::super::{Access, Predictor};
use super::*;
use crate::id::StreamId;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn begun(partition: u32, order: u32, threshold: f32) -> PerStream<Pcm> {
    practice::begun(PerStream::new(Pcm::new(PcmParameters { partition, order, threshold })))
}

#[test]
fn the_published_example_gives_the_published_trie() {
    let mut pcm = begun(1000, 2, 0.5);
    letters(&mut pcm, "CACBCAABCA");
    let trie = &pcm.knowledge().trie;
    assert_eq!(partition(trie, 'A'), "A:4 AA:1 AAB:1 AB:1 ABC:1 AC:1 ACB:1");
    assert_eq!(partition(trie, 'B'), "B:2 BC:2 BCA:2");
    assert_eq!(partition(trie, 'C'), "C:4 CA:3 CAA:1 CAC:1 CB:1 CBC:1");
    let mut predicted = pull(&mut pcm);
    predicted.sort_by_key(|prediction| prediction.file);
    let short: Vec<_> = predicted.iter().map(|p| (p.file.0 as u8, p.likelihood, p.distance)).collect();
    assert_eq!(short, [(b'A', 0.5, 1), (b'C', 0.5, 1)]);
    assert!(files(&mut pcm).is_empty(), "nothing new since");
}

/// The context after the example is A, seen 4 times, so 3 are counted: A, B and C followed once each, and
/// CA, seen 3 times: A and C followed once each.
#[test]
fn each_context_is_judged_on_its_own() {
    let expected = |threshold| {
        let mut pcm = begun(1000, 2, threshold);
        letters(&mut pcm, "CACBCAABCA");
        let mut all: Vec<_> = pull(&mut pcm).iter().map(|p| (p.file.0 as u8, p.likelihood)).collect();
        all.sort_by_key(|&(file, _)| file);
        all
    };
    assert_eq!(expected(0.3), [(b'A', 0.5), (b'B', 1.0 / 3.0), (b'C', 0.5)]);
    assert_eq!(expected(0.51), []);
}

/// Numbers of the executable reference for a partition of four nodes.
#[test]
fn a_full_partition_is_halved_and_keeps_its_root() {
    let mut pcm = begun(4, 2, 0.5);
    letters(&mut pcm, "ABACADAE");
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:2 AD:1 ADA:1 AE:1");
}

/// Where nothing is seen only once there is nothing to free, and the access goes unrecorded. Halved it is
/// all the same, so that room will come.
#[test]
fn a_halving_that_frees_nothing_leaves_no_room() {
    let mut pcm = begun(3, 1, 0.5);
    letters(&mut pcm, "ABABACAC");
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:4 AB:2 AC:2");
    letters(&mut pcm, "AD");
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:2 AB:1 AC:1");
    letters(&mut pcm, "AD");
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:1 AD:1");
}

/// Found by the comparison with the slow model: a child counted after a halving, its parent before.
#[test]
fn a_child_that_counts_more_than_its_parent_goes_with_it_and_is_saved() {
    let mut pcm = begun(3, 2, 0.5);
    letters(&mut pcm, "ACBACAC");
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:1 AC:2 ACA:1");
    let mut bytes = Vec::new();
    pcm.save(&mut bytes);
    assert!(begun(3, 2, 0.5).load(&bytes, 256).is_ok());
}

#[test]
fn a_child_starts_where_its_parent_stands() {
    let mut pcm = begun(100, 2, 0.5);
    letters(&mut pcm, "ABCABCAB");
    let child = StreamId(2);
    begin(&mut pcm, child, Some(practice::STREAM));
    assert_eq!(pcm.next(child), pcm.next(practice::STREAM));
    assert_eq!(pcm.next(child).unwrap().file, FileId(u32::from(b'C')));
    pcm.observe(Access { stream: child, file: FileId(u32::from(b'C')), kind: Kind::Open });
    assert_eq!(practice::next(&pcm), Some(u32::from(b'C')));
    pcm.end(practice::STREAM);
    pcm.end(child);
    assert!(pcm.places().is_empty());
}

#[test]
fn a_forgotten_file_is_nowhere() {
    let mut pcm = begun(100, 2, 0.1);
    letters(&mut pcm, "ABCABCABC");
    let before = pcm.footprint().nodes;
    pcm.forget(&|file| file == FileId(u32::from(b'B')));
    assert_eq!(partition(&pcm.knowledge().trie, 'A'), "A:3");
    assert_eq!(partition(&pcm.knowledge().trie, 'B'), "");
    assert!(pcm.footprint().nodes < before);
    letters(&mut pcm, "ABC");
    assert_eq!(partition(&pcm.knowledge().trie, 'B'), "B:1 BC:1");
}

fn expected(slow: &Slow, threshold: f32) -> BTreeMap<u32, f32> {
    let mut out = BTreeMap::new();
    for (path, count) in slow.live().into_iter().filter(|&(_, count)| count > 1) {
        for (file, times) in slow.children(&path) {
            let likelihood = (times as f32 / (count - 1) as f32).min(1.0);
            if likelihood >= threshold {
                let best = out.entry(file).or_insert(0f32);
                *best = best.max(likelihood);
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn the_trie_is_the_slow_model(
        files in prop::collection::vec(0..6u32, 0..200), partition in 2..12u32, order in 1..5u32,
    ) {
        let mut pcm = begun(partition, order, 0.3);
        let mut slow = Slow::new(partition, order, Growth::Whole);
        for file in files {
            open(&mut pcm, [file]);
            slow.observe(file);
            let predicted: BTreeMap<u32, f32> =
                pull(&mut pcm).iter().map(|p| (p.file.0, p.likelihood)).collect();
            prop_assert_eq!(predicted, expected(&slow, 0.3));
            let all = slow::counts(&pcm.knowledge().trie, 6);
            prop_assert_eq!(all.len() as u64, pcm.footprint().nodes);
            prop_assert_eq!(all, slow.counts());
        }
    }
}
