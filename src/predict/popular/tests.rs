//! Golden rankings, and the list against one of all files that is kept in order.

use super::super::practice::{self, begin, files, letters, next, open, open_in};
use super::*;
use crate::id::SessionId;
use proptest::prelude::*;

const ANOTHER: GroupId = GroupId(2);

fn begun(files: u32) -> Popular {
    practice::begun(Popular::new(PopularParameters { files }))
}

fn list(popular: &Popular) -> Vec<u32> {
    popular.ranking.list().iter().map(|file| file.0).collect()
}

#[test]
fn the_most_popular_files_come_first_each_once() {
    let mut popular = begun(3);
    letters(&mut popular, "ABCDCBCADDDD");
    assert_eq!(list(&popular), b"DCB".map(u32::from));
    assert_eq!(next(&popular), Some(u32::from(b'D')));
    assert_eq!(popular.next(practice::STREAM).map(|first| first.likelihood), Some(5.0 / 12.0));
    let mut out = Vec::new();
    popular.predict(practice::GROUP, 2, &mut out);
    assert_eq!(out.iter().map(|p| (p.file.0 as u8, p.distance)).collect::<Vec<_>>(), [(b'D', 1), (b'C', 2)]);
    assert_eq!(files(&mut popular), [u32::from(b'B')]);
    assert!(files(&mut popular).is_empty());
    letters(&mut popular, "AA");
    assert_eq!(files(&mut popular), [u32::from(b'A')], "new on the list");
    popular.rewind(practice::GROUP);
    assert_eq!(files(&mut popular), b"DAC".map(u32::from));
}

#[test]
fn each_group_is_told_for_itself() {
    let mut popular = begun(3);
    let other = StreamId(2);
    popular
        .begin(other, &Origin { parent: None, program: ProgramId(0), group: ANOTHER, session: SessionId(0) });
    open(&mut popular, [1, 2]);
    assert_eq!(files(&mut popular), [1, 2]);
    let mut out = Vec::new();
    popular.predict(ANOTHER, 9, &mut out);
    assert!(out.is_empty(), "it has opened nothing");
    open_in(&mut popular, other, [2]);
    popular.predict(ANOTHER, 9, &mut out);
    assert_eq!(out.len(), 2);
    for (stream, group) in [(practice::STREAM, practice::GROUP), (other, ANOTHER)] {
        popular.end(stream);
        popular.end_group(group);
    }
    assert!(popular.streams.is_empty() && popular.groups.is_empty());
}

#[test]
fn what_is_not_opened_any_more_loses_half_again_and_again() {
    let mut popular = begun(2);
    open(&mut popular, std::iter::repeat_n(1, 3000));
    let rounds = (1..9).take_while(|_| {
        open(&mut popular, (0..ranking::HALF_LIFE).map(|round| 10 + round as u32 % 100));
        list(&popular).contains(&1)
    });
    // 3000 become 1500, 750 and 375; meanwhile the hundred others have about 340, 520 and 600 each.
    assert_eq!(rounds.count(), 2);
}

#[test]
fn a_forgotten_file_leaves_its_place_to_the_next() {
    let mut popular = begun(2);
    letters(&mut popular, "AAABBCC");
    popular.forget(&|file| file.0 == u32::from(b'A'));
    assert_eq!(list(&popular), b"BC".map(u32::from));
    letters(&mut popular, "A");
    assert_eq!(list(&popular), b"BC".map(u32::from));
}

#[test]
fn a_child_counts_like_its_parent() {
    let mut popular = begun(2);
    begin(&mut popular, StreamId(2), Some(practice::STREAM));
    open_in(&mut popular, StreamId(2), [5]);
    open_in(&mut popular, StreamId(3), [6]);
    assert_eq!(list(&popular), [5], "a stream that never began does not count");
}

proptest! {
    /// A list of everything, in which a file moves up past those with smaller counts.
    #[test]
    fn the_list_is_the_front_of_the_list_of_all(
        opens in prop::collection::vec(0..12u32, 0..200), size in 1..8u32,
    ) {
        let mut popular = begun(size);
        let mut all: Vec<(u32, u32)> = Vec::new();
        for file in opens {
            open(&mut popular, [file]);
            let place = all.iter().position(|known| known.0 == file).unwrap_or(all.len());
            let count = if place < all.len() { all.remove(place).1 + 1 } else { 1 };
            let better = all[..place].iter().take_while(|known| known.1 >= count).count();
            all.insert(better, (file, count));
            let front: Vec<u32> = all.iter().take(size as usize).map(|known| known.0).collect();
            prop_assert_eq!(list(&popular), front);
        }
    }
}
