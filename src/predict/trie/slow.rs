//! The published rules on whole paths: slow and obvious.

use super::{Growth, Trie};
use crate::id::FileId;
use std::collections::BTreeMap;

/// Path -> (count, which birth of that path).
type Nodes = BTreeMap<Vec<u32>, (u32, u32)>;

pub(in super::super) struct Slow {
    pub(in super::super) max: usize,
    pub(in super::super) order: usize,
    pub(in super::super) growth: Growth,
    nodes: Nodes,
    births: u32,
    contexts: Vec<Option<(Vec<u32>, u32)>>,
}

impl Slow {
    pub(in super::super) fn new(max: u32, order: u32, growth: Growth) -> Self {
        let (nodes, contexts) = (Nodes::new(), Vec::new());
        Slow { max: max as usize, order: order as usize, growth, nodes, births: 0, contexts }
    }

    fn room(&mut self, root: u32) -> bool {
        let used = |nodes: &Nodes| nodes.keys().filter(|path| path[0] == root).count();
        if used(&self.nodes) < self.max {
            return true;
        }
        for (_, node) in self.nodes.iter_mut().filter(|(path, _)| path[0] == root) {
            node.0 /= 2;
        }
        if let Some(top) = self.nodes.get_mut(&vec![root]) {
            top.0 = top.0.max(1);
        }
        // A node may count more than its parent: its last count came after a halving, its parent's
        // before. It goes with its parent all the same.
        let zeros: Vec<Vec<u32>> =
            self.nodes.iter().filter(|node| node.1.0 == 0).map(|node| node.0.clone()).collect();
        self.nodes.retain(|path, _| !zeros.iter().any(|zero| path.starts_with(zero)));
        used(&self.nodes) < self.max
    }

    pub(in super::super) fn observe(&mut self, file: u32) {
        let new = !self.nodes.contains_key(&vec![file]);
        self.births += 1;
        let births = self.births;
        let top = self.nodes.entry(vec![file]).or_insert((0, births));
        top.0 += 1;
        let top = Some((vec![file], top.1)).filter(|_| !new || self.growth == Growth::Whole);
        let mut next = vec![top];
        for context in std::mem::take(&mut self.contexts) {
            next.push(context.and_then(|(path, birth)| self.follow(path, birth, file)));
        }
        next.truncate(self.order);
        self.contexts = next;
    }

    fn follow(&mut self, path: Vec<u32>, birth: u32, file: u32) -> Option<(Vec<u32>, u32)> {
        if self.nodes.get(&path).is_none_or(|node| node.1 != birth) {
            return None;
        }
        let mut longer = path.clone();
        longer.push(file);
        if let Some(node) = self.nodes.get_mut(&longer) {
            node.0 += 1;
            return Some((longer, node.1));
        }
        if !self.room(path[0]) || self.nodes.get(&path).is_none_or(|node| node.1 != birth) {
            return None;
        }
        self.births += 1;
        self.nodes.insert(longer.clone(), (1, self.births));
        Some((longer, self.births)).filter(|_| self.growth == Growth::Whole)
    }

    /// The live contexts with their counts, shortest first.
    pub(in super::super) fn live(&self) -> Vec<(Vec<u32>, u32)> {
        let node = |(path, birth): &(Vec<u32>, u32)| {
            let &(count, _) = self.nodes.get(path).filter(|node| node.1 == *birth)?;
            Some((path.clone(), count))
        };
        self.contexts.iter().flatten().filter_map(node).collect()
    }

    /// The children of a path with their counts, oldest first.
    pub(in super::super) fn children(&self, path: &[u32]) -> Vec<(u32, u32)> {
        let child =
            |(child, _): &(&Vec<u32>, &(u32, u32))| child.len() == path.len() + 1 && child.starts_with(path);
        let mut children: Vec<_> = self.nodes.iter().filter(child).collect();
        children.sort_by_key(|(_, node)| node.1);
        children.into_iter().map(|(child, node)| (child[path.len()], node.0)).collect()
    }

    /// Every path and its count.
    pub(in super::super) fn counts(&self) -> BTreeMap<Vec<u32>, u32> {
        self.nodes.iter().map(|(path, node)| (path.clone(), node.0)).collect()
    }
}

/// Every path of a trie that knows files below `files`, and its count.
pub(in super::super) fn counts(trie: &Trie, files: u32) -> BTreeMap<Vec<u32>, u32> {
    (0..files).flat_map(|file| trie.dump(FileId(file))).collect()
}

/// The partition of a letter as text: path and count.
pub(in super::super) fn partition(trie: &Trie, letter: char) -> String {
    let text = |path: &Vec<u32>| path.iter().map(|&file| char::from(file as u8)).collect::<String>();
    let nodes = trie.dump(FileId(letter as u32));
    nodes.iter().map(|(path, count)| format!("{}:{count}", text(path))).collect::<Vec<_>>().join(" ")
}
