//! Golden sequences, and each rule against lists of everything that ever followed.

use super::super::last::Last;
use super::super::noah::Noah;
use super::super::per_stream::PerStream;
use super::super::practice::{self, begin, files, letters, next, open, open_in, pull};
use super::super::recent::Recent;
use super::super::{Access, Predictor};
use super::*;
use crate::id::StreamId;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn begun<R: Rule>(rule: R) -> PerStream<Successors<R>> {
    practice::begun(PerStream::new(Successors::new(rule)))
}

/// What is expected after each letter; a dot where nothing is.
fn nexts<R: Rule>(rule: R, text: &str) -> String {
    let mut predictor = begun(rule);
    let step = |letter: char| {
        letters(&mut predictor, &letter.to_string());
        next(&predictor).map_or('.', |file| char::from(file as u8))
    };
    text.chars().map(step).collect()
}

#[test]
fn the_last_successor_is_expected() {
    assert_eq!(nexts(Last, "ABCABDAB"), "...BC.BD");
    assert_eq!(nexts(Last, "AAB"), ".A.");
}

/// A is followed by B, B, C, B, C and C.
#[test]
fn the_stable_successor_outlasts_one_odd_run() {
    let text = "ABABACABACACA";
    let after_a = |repeats| nexts(Noah { repeats }, text).chars().step_by(2).collect::<String>();
    assert_eq!(after_a(2), ".BBBBBC");
    assert_eq!(after_a(1), nexts(Last, text).chars().step_by(2).collect::<String>());
    assert_eq!(after_a(1), ".BBCBCC");
}

#[test]
fn the_best_of_the_last_few_is_expected_or_none() {
    let after_a =
        |least, of| nexts(Recent { least, of }, "ABABACADADADA").chars().step_by(2).collect::<String>();
    assert_eq!(after_a(2, 4), "..BBBDD");
    assert_eq!(after_a(3, 4), "......D");
    assert_eq!(after_a(1, 1), ".BBCDDD");
}

#[test]
fn what_came_more_often_is_likelier() {
    let mut recent = begun(Recent { least: 1, of: 4 });
    let likelihood =
        |recent: &PerStream<_>| recent.next(practice::STREAM).map(|expected| expected.likelihood);
    letters(&mut recent, "ABA");
    assert_eq!(likelihood(&recent), Some(0.25));
    letters(&mut recent, "BA");
    assert_eq!(likelihood(&recent), Some(0.5));
}

#[test]
fn one_file_is_predicted_once_a_step() {
    let mut last = begun(Last);
    letters(&mut last, "ABA");
    let expected = Prediction { file: FileId(66), kind: Kind::Open, likelihood: 0.72, distance: 1 };
    assert_eq!(pull(&mut last), [expected]);
    assert!(files(&mut last).is_empty());
    letters(&mut last, "BA");
    assert_eq!(pull(&mut last), [expected]);
}

/// A shell opens 1, and the program it starts 2: that is what follows 1.
#[test]
fn a_childs_first_file_follows_its_parents_last() {
    let mut last = begun(Last);
    let child = StreamId(2);
    open(&mut last, [1]);
    begin(&mut last, child, Some(practice::STREAM));
    open_in(&mut last, child, [2, 3]);
    open(&mut last, [1]);
    assert_eq!(next(&last), Some(1), "its own next file came later");
    open_in(&mut last, child, [1, 2, 2]);
    open(&mut last, [1]);
    assert_eq!(next(&last), Some(1));
    last.end(practice::STREAM);
    last.end(child);
    assert!(last.places().is_empty());
}

#[test]
fn only_opens_count() {
    let mut last = begun(Last);
    for (file, kind) in [(1, Kind::Open), (2, Kind::Lookup), (3, Kind::List), (4, Kind::Open)] {
        last.observe(Access { stream: practice::STREAM, file: FileId(file), kind });
    }
    open(&mut last, [1]);
    assert_eq!(next(&last), Some(4));
}

#[test]
fn noah_falls_back_on_the_recent_successor_when_the_stable_one_is_forgotten() {
    let mut noah = begun(Noah { repeats: 2 });
    letters(&mut noah, "ABABACA");
    assert_eq!(next(&noah), Some(u32::from(b'B')));
    noah.forget(&|file| file.0 == u32::from(b'B'));
    assert_eq!(next(&noah), Some(u32::from(b'C')));
    noah.forget(&|file| file.0 == u32::from(b'C'));
    assert_eq!(next(&noah), None);
}

#[test]
fn a_forgotten_successor_leaves_its_place_to_older_ones() {
    let mut recent = begun(Recent { least: 2, of: 2 });
    letters(&mut recent, "ABABACA");
    assert_eq!(next(&recent), None);
    recent.forget(&|file| file.0 == u32::from(b'C'));
    assert_eq!(next(&recent), Some(u32::from(b'B')));
}

/// What was expected after each open, by a rule on the list of everything that ever followed the file.
fn obvious(opens: &[u32], rule: impl Fn(&[u32]) -> Option<u32>) -> Vec<Option<u32>> {
    let mut followers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut expected = Vec::new();
    for (place, &file) in opens.iter().enumerate() {
        if place > 0 {
            followers.entry(opens[place - 1]).or_default().push(file);
        }
        expected.push(followers.get(&file).and_then(|all| rule(all)));
    }
    expected
}

fn found<R: Rule>(rule: R, opens: &[u32]) -> Vec<Option<u32>> {
    let mut predictor = begun(rule);
    let step = |&file: &u32| {
        open(&mut predictor, [file]);
        next(&predictor)
    };
    opens.iter().map(step).collect()
}

/// The latest that came `repeats` times in a row, else the first.
fn stable(all: &[u32], repeats: usize) -> Option<u32> {
    let mut steady = all.windows(repeats).rev().filter(|row| row.iter().all(|file| *file == row[0]));
    steady.next().map(|row| row[0]).or(all.first().copied())
}

/// Of the last `of`, the one that is there most often, of equals the newest.
fn best(all: &[u32], least: usize, of: usize) -> Option<u32> {
    let last: Vec<u32> = all.iter().rev().take(of).copied().collect();
    let times = |file: u32| last.iter().filter(|&&other| other == file).count();
    let most = last.iter().map(|&file| times(file)).max()?;
    last.iter().copied().find(|&file| times(file) == most && most >= least)
}

proptest! {
    #[test]
    fn rules_do_what_is_obvious(
        opens in prop::collection::vec(0..5u32, 0..150), repeats in 1..5u8, least in 1..5u8, more in 0..4u8,
    ) {
        prop_assert_eq!(found(Last, &opens), obvious(&opens, |all| all.last().copied()));
        let noah = obvious(&opens, |all| stable(all, usize::from(repeats)));
        prop_assert_eq!(found(Noah { repeats }, &opens), noah);
        let of = least + more;
        let recent = obvious(&opens, |all| best(all, usize::from(least), usize::from(of)));
        prop_assert_eq!(found(Recent { least, of }, &opens), recent);
    }
}
