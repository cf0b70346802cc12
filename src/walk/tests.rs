//! Walks of each order, on trees that are told of as a driver would.

use super::*;
use crate::event::Entry;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const STREAM: StreamId = StreamId(1);
const GROUP: GroupId = GroupId(7);

/// A tree of numbers: directories with their entries as listed.
#[derive(Default)]
struct Tree {
    listings: BTreeMap<u32, Vec<Entry>>,
    parents: BTreeMap<u32, u32>,
}

impl Tree {
    /// A directory with files `first..first + count`, inode numbers in the reverse order and names in the order of `key`.
    fn dir(&mut self, dir: u32, first: u32, count: u32, subdirs: &[u32]) {
        let mut entries: Vec<Entry> = (0..count)
            .map(|n| Entry {
                file: FileId(first + n),
                inode: u64::from(1_000_000 - n),
                by_name: n * 7 % count.max(1),
                directory: false,
            })
            .collect();
        for (n, &subdir) in subdirs.iter().enumerate() {
            let (inode, by_name) = (2_000_000 + u64::from(subdir), count + n as u32);
            entries.push(Entry { file: FileId(subdir), inode, by_name, directory: true });
        }
        for entry in &entries {
            self.parents.insert(entry.file.0, dir);
        }
        self.listings.insert(dir, entries);
    }

    /// The entries in one of their orders.
    fn sorted(&self, dir: u32, order: usize) -> Vec<Entry> {
        let mut entries = self.listings[&dir].clone();
        match order {
            0 => {}
            1 => entries.sort_by_key(|entry| entry.by_name),
            _ => entries.sort_by_key(|entry| entry.inode),
        }
        entries
    }
}

/// A flat tree: the root with three directories of twenty files, numbered 1, 2, 3 and from 100, 200, 300.
fn three() -> Tree {
    let mut tree = Tree::default();
    tree.dir(0, 0, 0, &[1, 2, 3]);
    for dir in 1..=3 {
        tree.dir(dir, dir * 100, 20, &[]);
    }
    tree
}

struct Walker {
    walks: Walks,
    tree: Tree,
}

impl Walker {
    fn new(tree: Tree) -> Walker {
        let mut walks = Walks::default();
        walks.set_window(InodeWindow::Auto);
        Walker { walks, tree }
    }

    fn list(&mut self, dir: u32) {
        self.step(dir, Kind::List, true);
        self.tell(dir);
    }

    fn tell(&mut self, dir: u32) {
        for piece in Listing::pieces(FileId(dir), &self.tree.listings[&dir]) {
            self.walks.listed(&piece);
        }
    }

    fn step(&mut self, file: u32, kind: Kind, cold: bool) {
        let step = Step { at: Micros(0), stream: STREAM, group: GROUP, file: FileId(file), kind, cold };
        let parents = &self.tree.parents;
        self.walks.observe(step, |file| parents.get(&file.0).map(|&parent| FileId(parent)));
    }

    fn ahead(&mut self) -> Vec<(u32, Kind)> {
        let mut out = Vec::new();
        self.walks.predict(GROUP, 10_000, &mut out);
        out.into_iter().map(|next| (next.file.0, next.kind)).collect()
    }

    fn goes(&self) -> bool {
        self.walks.course(GROUP) != Course::NONE
    }
}

#[test]
fn three_opens_in_any_order_of_a_directory_bring_the_rest_of_it() {
    for order in 0..3 {
        let mut walker = Walker::new(three());
        walker.list(1);
        let files: Vec<u32> = walker.tree.sorted(1, order).iter().map(|entry| entry.file.0).collect();
        for &file in &files[..2] {
            walker.step(file, Kind::Open, true);
            assert!(!walker.goes(), "two steps may be chance");
        }
        walker.step(files[2], Kind::Open, true);
        let ahead: Vec<u32> = walker.ahead().iter().map(|&(file, _)| file).collect();
        assert_eq!(ahead, files[3..], "order {order}");
        assert_eq!(walker.ahead(), [], "given once");
    }
}

#[test]
fn a_directory_may_shrink_behind_a_walk() {
    for (order, last) in (0..3).flat_map(|order| (0..20).map(move |last| (order, last))) {
        let mut walker = Walker::new(three());
        walker.list(1);
        let files: Vec<u32> = walker.tree.sorted(1, order).iter().map(|entry| entry.file.0).collect();
        files[..=last].iter().for_each(|&file| walker.step(file, Kind::Open, true));
        for left in [5, 1, 0, 20] {
            walker.tree.dir(1, 100, left, &[]);
            walker.list(1);
            for kind in [Kind::Lookup, Kind::Open] {
                (100..100 + left).for_each(|file| walker.step(file, kind, true));
            }
            walker.ahead();
        }
    }
}

#[test]
fn a_walk_goes_on_in_the_directories_that_follow() {
    let mut walker = Walker::new(three());
    walker.list(0);
    walker.list(1);
    (100..103).for_each(|file| walker.step(file, Kind::Open, true));
    let ahead = walker.ahead();
    assert_eq!(ahead[..17], (103..120).map(|file| (file, Kind::Head)).collect::<Vec<_>>());
    assert_eq!(ahead[17..], [(2, Kind::Siblings), (3, Kind::Siblings)]);
    // Read ahead by a worker: now its files are known.
    walker.tell(2);
    let ahead = walker.ahead();
    assert_eq!(ahead, (200..220).map(|file| (file, Kind::Head)).collect::<Vec<_>>());
}

#[test]
fn a_program_that_only_lists_gets_listings() {
    let mut tree = Tree::default();
    tree.dir(0, 500, 4, &[1, 2, 3, 4, 5, 6]);
    (1..=6).for_each(|dir| tree.dir(dir, dir * 100, 10, &[]));
    let mut walker = Walker::new(tree);
    (0..=3).for_each(|dir| walker.list(dir));
    assert_eq!(walker.ahead(), [(4, Kind::List), (5, Kind::List), (6, Kind::List)]);
}

#[test]
fn a_program_that_looks_at_files_gets_inodes_and_no_data() {
    let mut walker = Walker::new(three());
    walker.list(0);
    walker.list(1);
    (100..103).for_each(|file| walker.step(file, Kind::Lookup, true));
    let ahead = walker.ahead();
    assert_eq!(ahead.iter().filter(|(_, kind)| *kind == Kind::Siblings).count(), ahead.len());
    assert_eq!(ahead.len(), 3, "a window of the directory, and the two that follow: {ahead:?}");
    walker.tell(2);
    assert_eq!(walker.ahead(), [], "came with the directory");
}

/// As `git status` does: it knows all names, and each of its threads looks at its share of them.
#[test]
fn threads_side_by_side_in_directories_that_nobody_lists_get_those_that_follow() {
    let mut tree = Tree::default();
    tree.dir(0, 0, 0, &(1..=100).collect::<Vec<_>>());
    (1..=100).for_each(|dir| tree.dir(dir, dir * 1_000, 20, &[]));
    let mut walker = Walker::new(tree);
    walker.tell(0);
    let mut said = Vec::new();
    for step in 0..3 {
        for file in 0..20 {
            for thread in 0..4 {
                let dir = 1 + thread * 25 + step;
                if file == 0 {
                    walker.step(dir, Kind::Lookup, true);
                }
                walker.step(dir * 1_000 + file, Kind::Lookup, true);
                said.extend(walker.ahead());
            }
        }
    }
    let dirs: BTreeSet<u32> = said.iter().map(|&(file, _)| file).collect();
    assert_eq!(dirs.len(), 100, "all that are not behind the last thread: {said:?}");
    assert!(said.iter().all(|&(_, kind)| kind == Kind::Siblings));
}

#[test]
fn a_walk_ends_where_it_leaves_the_order() {
    let mut tree = Tree::default();
    tree.dir(1, 1_000, 500, &[]);
    let mut walker = Walker::new(tree);
    walker.list(1);
    (1_000..1_003).for_each(|file| walker.step(file, Kind::Open, true));
    assert!(walker.goes());
    walker.step(1_400, Kind::Open, true);
    assert!(!walker.goes());
    assert_eq!(walker.ahead(), []);
}

#[test]
fn a_listing_told_in_pieces_is_one_directory() {
    let mut tree = Tree::default();
    tree.dir(1, 1_000, 100_000, &[]);
    let mut walker = Walker::new(tree);
    walker.list(1);
    (1_000..1_003).for_each(|file| walker.step(file, Kind::Open, true));
    let ahead = walker.ahead();
    assert_eq!(ahead.len(), 4096, "the horizon");
    // Further steps move it.
    (1_003..1_103).for_each(|file| walker.step(file, Kind::Open, false));
    assert_eq!(walker.ahead().len(), 100);
}

#[test]
fn directories_without_listings_are_asked_for_after_three_looks() {
    let mut walker = Walker::new(three());
    for file in [105, 111] {
        walker.step(file, Kind::Lookup, true);
        assert!(!walker.goes());
    }
    walker.step(118, Kind::Lookup, true);
    assert_eq!(walker.ahead(), [(1, Kind::Siblings)]);
    for file in [205, 305, 206] {
        walker.step(file, Kind::Lookup, true);
        assert_eq!(walker.ahead(), []);
    }
}

#[test]
fn with_the_window_off_nothing_is_kept_or_said() {
    let mut walker = Walker::new(three());
    walker.walks.set_window(InodeWindow::Off);
    walker.list(1);
    (100..110).for_each(|file| walker.step(file, Kind::Open, true));
    assert!(!walker.goes() && walker.ahead().is_empty());
}

/// Files of small directories, opened at random by somebody who has listed none of them: now and then three dozen look
/// like a walk, and then it costs one horizon.
#[test]
fn chance_in_small_directories_is_seldom_a_walk() {
    let mut dice = crate::device::SplitMix(1);
    let mut said = 0;
    for _ in 0..50 {
        let mut tree = Tree::default();
        tree.dir(0, 0, 0, &(1..=60).collect::<Vec<_>>());
        (1..=60).for_each(|dir| tree.dir(dir, dir * 100, 6, &[]));
        let mut walker = Walker::new(tree);
        (0..=60).for_each(|dir| walker.tell(dir));
        for _ in 0..360 {
            let (dir, file) = (1 + (dice.next() % 60) as u32, (dice.next() % 6) as u32);
            walker.step(dir, Kind::Lookup, true);
            walker.step(dir * 100 + file, Kind::Open, true);
            said += walker.ahead().len();
        }
    }
    assert!(said < 50 * 360 / 20, "{said} files for nothing");
}

proptest! {
    /// Whatever is done in whatever order: what is said is in the tree, is said once at a time, and only on a course.
    #[test]
    fn nothing_is_said_twice(steps in prop::collection::vec((0u32..4, 0u32..20, 0u8..3, any::<bool>()), 0..200)) {
        let mut walker = Walker::new(three());
        for (dir, file, how, cold) in steps {
            match (how, dir) {
                (0, dir) => walker.list(dir),
                (_, 0) => {}
                (1, dir) => walker.step(dir * 100 + file, Kind::Open, cold),
                (_, dir) => walker.step(dir * 100 + file, Kind::Lookup, cold),
            }
            let ahead = walker.ahead();
            prop_assert!(walker.goes() || ahead.is_empty());
            let files: BTreeSet<u32> = ahead.iter().map(|&(file, _)| file).collect();
            prop_assert_eq!(files.len(), ahead.len());
            prop_assert!(files.iter().all(|file| walker.tree.parents.contains_key(file)));
            prop_assert_eq!(walker.ahead(), []);
        }
    }

    /// Three orders of sixty entries, shuffled: three steps in a row within reach of each other are rare.
    #[test]
    fn scrambled_opens_are_seldom_taken_for_a_walk(order in Just((0u32..400).collect::<Vec<_>>()).prop_shuffle()) {
        let mut tree = Tree::default();
        tree.dir(1, 1_000, 400, &[]);
        let mut walker = Walker::new(tree);
        walker.list(1);
        let mut said = 0;
        for file in order {
            walker.step(1_000 + file, Kind::Open, true);
            said += usize::from(walker.goes());
        }
        prop_assert!(said <= 8, "{} of 400 steps", said);
    }
}
