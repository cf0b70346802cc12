//! The contexts of one stream: the nodes that stand for its last file, its last two files, and so on.

use super::{Counted, NodeRef, Trie};
use crate::id::FileId;

/// What becomes of a context that needs a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Growth {
    /// It goes on from there: one occurrence of a pattern makes all its nodes.
    Whole,
    /// It ends there: a pattern grows by one node with each occurrence.
    OneNode,
}

/// See the module's head. `contexts[k]` stands for the last k+1 files; `None` where no node does.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Contexts(Vec<Option<NodeRef>>);

impl Contexts {
    /// Counts the file on its own and after each context; then the contexts end with it. At most `order`
    /// stay: the node of order+1 is counted, but is no context.
    pub(in super::super) fn step(&mut self, trie: &mut Trie, file: FileId, order: usize, growth: Growth) {
        let stay = |counted: &Counted| !counted.new || growth == Growth::Whole;
        let mut longer = Some(trie.count_root(file)).filter(stay);
        for context in &mut self.0 {
            let before = std::mem::replace(context, longer.map(|counted| counted.node));
            longer = before.and_then(|before| trie.count_after(before, file)).filter(stay);
        }
        if self.0.len() < order {
            self.0.push(longer.map(|counted| counted.node));
        }
    }

    /// Those there are, longest first. They may have been freed since.
    pub(in super::super) fn longest_first(&self) -> impl Iterator<Item = NodeRef> + '_ {
        self.0.iter().rev().filter_map(|&context| context)
    }
}
