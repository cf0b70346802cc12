//! The tree itself: nodes in one vector, the root first, text made from a seed.
//!
//! What must stay true: node 0 is a directory, and a tree never changes once made.

use std::ffi::OsStr;

use crate::device::SplitMix;

/// Files in one directory: small enough that a walk sees many directories, as in a source tree.
const FILES_PER_DIRECTORY: usize = 24;

/// What lines are made of. The last word is the rare one: about one line in sixty-four has it.
const WORDS: [&str; 16] = [
    "river", "stone", "lantern", "orchard", "meadow", "copper", "harbour", "winter", "thread", "gravel",
    "candle", "willow", "ember", "saddle", "falcon", "augury",
];

/// Words in a line.
const WORDS_PER_LINE: usize = 8;

#[derive(Debug)]
pub(super) enum Kind {
    /// The indices of its entries.
    Directory(Vec<usize>),
    File(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Node {
    name: String,
    parent: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn generate(seed: u64, files: usize, bytes: usize) -> Tree {
        let mut tree = Tree { nodes: vec![directory("", 0)] };
        let mut dice = SplitMix(seed);
        let mut left = bytes;
        let mut parent = 0;
        for number in 0..files {
            if number % FILES_PER_DIRECTORY == 0 {
                let name = format!("part-{:03}", number / FILES_PER_DIRECTORY);
                parent = tree.add(directory(&name, 0));
            }
            let size = share(&mut dice, left, files - number);
            left = left.saturating_sub(size);
            let name = format!("text-{number:05}.txt");
            let kind = Kind::File(text(&mut dice, &name, size));
            tree.add(Node { name, parent, kind });
        }
        tree
    }

    fn add(&mut self, node: Node) -> usize {
        let index = self.nodes.len();
        if let Kind::Directory(entries) = &mut self.nodes[node.parent].kind {
            entries.push(index);
        }
        self.nodes.push(node);
        index
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// The contents of all files, in no promised order.
    pub(super) fn files(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.nodes.len()).filter_map(|index| self.content(index))
    }

    pub(super) fn content(&self, index: usize) -> Option<&[u8]> {
        match &self.node(index)?.kind {
            Kind::File(content) => Some(content),
            Kind::Directory(_) => None,
        }
    }

    pub(super) fn child(&self, directory: usize, name: &OsStr) -> Option<usize> {
        self.entries(directory).iter().copied().find(|&entry| OsStr::new(&self.nodes[entry].name) == name)
    }

    /// Everything in a directory, itself and its parent first; empty for a file.
    pub(super) fn listing(&self, directory: usize) -> Vec<(usize, &str)> {
        let Some(Node { kind: Kind::Directory(entries), parent, .. }) = self.node(directory) else {
            return Vec::new();
        };
        let own = [(directory, "."), (*parent, "..")];
        own.into_iter().chain(entries.iter().map(|&entry| (entry, self.nodes[entry].name.as_str()))).collect()
    }

    fn entries(&self, directory: usize) -> &[usize] {
        match self.node(directory) {
            Some(Node { kind: Kind::Directory(entries), .. }) => entries,
            _ => &[],
        }
    }
}

fn directory(name: &str, parent: usize) -> Node {
    Node { name: name.into(), parent, kind: Kind::Directory(Vec::new()) }
}

/// A size between half and one and a half times a fair share of what is left; the last file takes
/// the rest, so that the sum comes out.
fn share(dice: &mut SplitMix, left: usize, files: usize) -> usize {
    if files <= 1 {
        return left;
    }
    let fair = left / files;
    fair / 2 + dice.below(fair as u64 + 1) as usize
}

/// Lines of words, `size` bytes or the first line, whichever is longer; the first line is the name.
fn text(dice: &mut SplitMix, name: &str, size: usize) -> Vec<u8> {
    let first = format!("{name}\n");
    let mut text = first.clone().into_bytes();
    while text.len() < size {
        for _ in 0..WORDS_PER_LINE {
            text.extend_from_slice(word(dice).as_bytes());
            text.push(b' ');
        }
        text.push(b'\n');
    }
    text.truncate(size.max(first.len()));
    text
}

fn word(dice: &mut SplitMix) -> &'static str {
    let rare = dice.below((WORDS_PER_LINE * 64) as u64) == 0;
    WORDS[if rare { WORDS.len() - 1 } else { dice.below(WORDS.len() as u64 - 1) as usize }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up_and_the_seed_decides_everything() {
        let tree = Tree::generate(7, 100, 300_000);
        assert_eq!(tree.files().count(), 100);
        assert_eq!(tree.files().map(<[u8]>::len).sum::<usize>(), 300_000);
        let again = Tree::generate(7, 100, 300_000);
        assert!(tree.files().eq(again.files()));
        assert!(!tree.files().eq(Tree::generate(8, 100, 300_000).files()));
    }

    #[test]
    fn every_file_is_found_by_name_where_the_listing_says() {
        let tree = Tree::generate(1, 50, 10_000);
        let mut found = 0;
        for (part, name) in tree.listing(0).into_iter().skip(2) {
            assert_eq!(tree.child(0, OsStr::new(name)), Some(part));
            for (file, name) in tree.listing(part).into_iter().skip(2) {
                assert_eq!(tree.child(part, OsStr::new(name)), Some(file));
                found += 1;
            }
        }
        assert_eq!(found, 50);
        assert_eq!(tree.child(0, OsStr::new("absent")), None);
    }

    #[test]
    fn no_files_make_an_empty_root() {
        let tree = Tree::generate(1, 0, 1000);
        assert_eq!(tree.listing(0), [(0, "."), (0, "..")]);
    }
}
