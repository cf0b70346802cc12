//! The trie of the partitioned context models: counts of access sequences, cut into partitions.
//!
//! What must stay true: a node is freed with everything below it (a child may count more than its
//! parent, when a halving came between the two counts); a partition never has more nodes than allowed;
//! its root is never freed.

use super::Footprint;
use crate::codec::{CodecError, Reader, put_varint};
use crate::id::{FileId, IdMap};

mod contexts;
#[cfg(test)]
pub(super) mod slow;

pub(super) use contexts::{Contexts, Growth};

const NIL: u32 = u32::MAX;

/// The nodes' table grows by this part of itself: doubling would leave half of a large one empty.
const GROWTH_PART: usize = 4;

/// What a node takes at worst: itself and a quarter more, a place in the list of free ones, and as the root of a partition an
/// entry in a table that has just doubled.
const NODE_BYTES: u64 = 64;

/// A node that may have been freed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeRef {
    index: u32,
    birth: u32,
    /// The root of its partition.
    root: u32,
}

/// A node after it was counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub(super) node: NodeRef,
    /// This was the first time.
    pub(super) new: bool,
}

/// A node that is there, as long as the trie does not change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot(u32);

#[derive(Clone, Copy, Debug)]
struct Node {
    file: FileId,
    count: u32,
    /// Goes up when the node is freed, so that old references notice.
    birth: u32,
    child: u32,
    sibling: u32,
}

#[derive(Clone, Copy, Debug)]
struct Partition {
    root: u32,
    used: u32,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    free: Vec<u32>,
    partitions: IdMap<FileId, Partition>,
    partition_max: u32,
}

impl Trie {
    pub(super) fn new(partition_max: u32) -> Self {
        Trie { nodes: Vec::new(), free: Vec::new(), partitions: IdMap::default(), partition_max }
    }

    /// Counts the file on its own; the node of order one.
    pub(super) fn count_root(&mut self, file: FileId) -> Counted {
        if let Some(partition) = self.partitions.get(&file) {
            let root = partition.root;
            self.nodes[root as usize].count = self.nodes[root as usize].count.saturating_add(1);
            return Counted { node: self.reference(root, root), new: false };
        }
        let root = self.allocate(file);
        self.partitions.insert(file, Partition { root, used: 1 });
        Counted { node: self.reference(root, root), new: true }
    }

    /// Counts the file after the context, with a new node if there is room.
    pub(super) fn count_after(&mut self, context: NodeRef, file: FileId) -> Option<Counted> {
        let parent = self.live(context)?;
        let known = self.children(parent).find(|&child| self.nodes[child as usize].file == file);
        if let Some(child) = known {
            let node = &mut self.nodes[child as usize];
            node.count = node.count.saturating_add(1);
            return Some(Counted { node: self.reference(child, context.root), new: false });
        }
        let owner = self.nodes[context.root as usize].file;
        if !self.make_room(owner) {
            return None;
        }
        // Halving may have freed the context itself.
        let parent = self.live(context)?;
        let child = self.add_child(parent, owner, file);
        Some(Counted { node: self.reference(child, context.root), new: true })
    }

    /// Calls `each` with the files that followed the context and their likelihood.
    pub(super) fn followers(&self, context: NodeRef, mut each: impl FnMut(FileId, f32)) {
        let Some(parent) = self.live(context) else { return };
        // The occurrence just counted has no successor yet.
        let seen = self.nodes[parent as usize].count - 1;
        if seen == 0 {
            return;
        }
        for child in self.children(parent) {
            let node = &self.nodes[child as usize];
            each(node.file, (node.count as f32 / seen as f32).min(1.0));
        }
    }

    /// The node, if it was not freed.
    pub(super) fn spot(&self, node: NodeRef) -> Option<Spot> {
        self.live(node).map(Spot)
    }

    /// The file a node ends with.
    pub(super) fn file(&self, Spot(index): Spot) -> FileId {
        self.nodes[index as usize].file
    }

    /// How often the node was counted, as far as that has not decayed.
    pub(super) fn count(&self, Spot(index): Spot) -> u32 {
        self.nodes[index as usize].count
    }

    /// The child that was counted most often, of equals the oldest.
    pub(super) fn likeliest(&self, Spot(parent): Spot) -> Option<Spot> {
        // Children are listed newest first, and of equals the last one is taken.
        self.children(parent).max_by_key(|&child| self.nodes[child as usize].count).map(Spot)
    }

    /// Takes out the files' partitions, and their nodes wherever they follow others.
    pub(super) fn forget(&mut self, gone: &dyn Fn(FileId) -> bool) {
        let mut owners: Vec<FileId> = self.partitions.keys().copied().collect();
        // Where new nodes will be must not depend on the order of a table.
        owners.sort_unstable();
        for owner in owners {
            let root = self.partitions[&owner].root;
            if gone(owner) {
                self.partitions.remove(&owner);
                self.release(root);
            } else {
                let freed = self.prune(root, &|node| gone(node.file));
                self.shrink(owner, freed);
            }
        }
    }

    /// Do the nodes take more than `bytes`, with all that is kept to find them?
    pub(super) fn exceeds(&self, bytes: u64) -> bool {
        (self.nodes.len() - self.free.len()) as u64 > bytes / NODE_BYTES
    }

    /// One file a partition.
    pub(super) fn footprint(&self) -> Footprint {
        let bytes = self.nodes.capacity() * size_of::<Node>()
            + self.free.capacity() * size_of::<u32>()
            + self.partitions.capacity() * (size_of::<(FileId, Partition)>() + 1);
        Footprint {
            files: self.partitions.len() as u64,
            nodes: (self.nodes.len() - self.free.len()) as u64,
            bytes: bytes as u64,
            followers: 0,
        }
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let mut roots: Vec<u32> = self.partitions.values().map(|partition| partition.root).collect();
        roots.sort_by_key(|&root| self.nodes[root as usize].file);
        put_varint(out, roots.len() as u64);
        for root in roots {
            self.save_node(root, out);
        }
    }

    /// Reads partitions; nodes deeper than `depth` (the root is 1) are damage.
    pub(super) fn load(
        reader: &mut Reader<'_>,
        partition_max: u32,
        depth: u32,
        files: usize,
    ) -> Result<Self, CodecError> {
        let mut trie = Trie::new(partition_max);
        for _ in 0..reader.count("the number of partitions")? {
            let fresh = reader.error("a partition, only one a file");
            let (file, count, children) = node(reader, files)?;
            if trie.partitions.contains_key(&file) {
                return Err(fresh);
            }
            let root = trie.allocate(file);
            trie.nodes[root as usize].count = count;
            trie.partitions.insert(file, Partition { root, used: 1 });
            trie.load_children(reader, (file, root), children, depth - 1, files)?;
        }
        Ok(trie)
    }

    fn load_children(
        &mut self,
        reader: &mut Reader<'_>,
        (owner, parent): (FileId, u32),
        children: usize,
        depth: u32,
        files: usize,
    ) -> Result<(), CodecError> {
        for _ in 0..children {
            let wrong = reader.error("a node that fits into its partition");
            let (file, count, grandchildren) = node(reader, files)?;
            let known = self.children(parent).any(|child| self.nodes[child as usize].file == file);
            if depth == 0 || known || self.partitions[&owner].used >= self.partition_max {
                return Err(wrong);
            }
            let child = self.add_child(parent, owner, file);
            self.nodes[child as usize].count = count;
            self.load_children(reader, (owner, child), grandchildren, depth - 1, files)?;
        }
        Ok(())
    }

    fn save_node(&self, index: u32, out: &mut Vec<u8>) {
        let node = &self.nodes[index as usize];
        let mut children: Vec<u32> = self.children(index).collect();
        put_varint(out, u64::from(node.file.0));
        put_varint(out, u64::from(node.count));
        put_varint(out, children.len() as u64);
        // Loading puts each new child first, as counting does.
        children.reverse();
        children.into_iter().for_each(|child| self.save_node(child, out));
    }

    fn live(&self, node: NodeRef) -> Option<u32> {
        (self.nodes.get(node.index as usize)?.birth == node.birth).then_some(node.index)
    }

    fn reference(&self, index: u32, root: u32) -> NodeRef {
        NodeRef { index, birth: self.nodes[index as usize].birth, root }
    }

    fn children(&self, parent: u32) -> impl Iterator<Item = u32> + '_ {
        let first = Some(self.nodes[parent as usize].child).filter(|&child| child != NIL);
        std::iter::successors(first, |&child| {
            Some(self.nodes[child as usize].sibling).filter(|&next| next != NIL)
        })
    }

    fn allocate(&mut self, file: FileId) -> u32 {
        let blank = Node { file, count: 1, birth: 0, child: NIL, sibling: NIL };
        match self.free.pop() {
            Some(index) => {
                let birth = self.nodes[index as usize].birth;
                self.nodes[index as usize] = Node { birth, ..blank };
                index
            }
            None => {
                if self.nodes.len() == self.nodes.capacity() {
                    self.nodes.reserve_exact(self.nodes.len() / GROWTH_PART + 1);
                }
                self.nodes.push(blank);
                self.nodes.len() as u32 - 1
            }
        }
    }

    fn add_child(&mut self, parent: u32, owner: FileId, file: FileId) -> u32 {
        let child = self.allocate(file);
        let sibling = std::mem::replace(&mut self.nodes[parent as usize].child, child);
        self.nodes[child as usize].sibling = sibling;
        if let Some(partition) = self.partitions.get_mut(&owner) {
            partition.used += 1;
        }
        child
    }

    /// Is there room for a node? A full partition is halved once: old counts decay.
    fn make_room(&mut self, owner: FileId) -> bool {
        let Some(&Partition { root, used }) = self.partitions.get(&owner) else { return false };
        if used < self.partition_max {
            return true;
        }
        self.halve(root);
        self.nodes[root as usize].count = self.nodes[root as usize].count.max(1);
        let freed = self.prune(root, &|node| node.count == 0);
        self.shrink(owner, freed);
        freed > 0
    }

    fn shrink(&mut self, owner: FileId, freed: u32) {
        if let Some(partition) = self.partitions.get_mut(&owner) {
            partition.used -= freed;
        }
    }

    fn halve(&mut self, index: u32) {
        self.nodes[index as usize].count /= 2;
        let mut child = self.nodes[index as usize].child;
        while child != NIL {
            self.halve(child);
            child = self.nodes[child as usize].sibling;
        }
    }

    /// Frees the subtrees below `parent` whose top is `unwanted`; says how many nodes that were.
    fn prune(&mut self, parent: u32, unwanted: &dyn Fn(&Node) -> bool) -> u32 {
        let children: Vec<u32> = self.children(parent).collect();
        let (mut kept, mut freed) = (NIL, 0);
        for child in children.into_iter().rev() {
            if unwanted(&self.nodes[child as usize]) {
                freed += self.release(child);
            } else {
                freed += self.prune(child, unwanted);
                self.nodes[child as usize].sibling = kept;
                kept = child;
            }
        }
        self.nodes[parent as usize].child = kept;
        freed
    }

    fn release(&mut self, index: u32) -> u32 {
        let children: Vec<u32> = self.children(index).collect();
        let below: u32 = children.into_iter().map(|child| self.release(child)).sum();
        let node = &mut self.nodes[index as usize];
        node.birth = node.birth.wrapping_add(1);
        self.free.push(index);
        below + 1
    }

    /// For tests: path -> count of the whole partition of a file.
    #[cfg(test)]
    pub(super) fn dump(&self, file: FileId) -> std::collections::BTreeMap<Vec<u32>, u32> {
        let mut out = std::collections::BTreeMap::new();
        let mut stack: Vec<(u32, Vec<u32>)> =
            self.partitions.get(&file).map(|p| (p.root, vec![file.0])).into_iter().collect();
        while let Some((index, path)) = stack.pop() {
            for child in self.children(index) {
                let mut longer = path.clone();
                longer.push(self.nodes[child as usize].file.0);
                stack.push((child, longer));
            }
            out.insert(path, self.nodes[index as usize].count);
        }
        out
    }
}

fn node(reader: &mut Reader<'_>, files: usize) -> Result<(FileId, u32, usize), CodecError> {
    let file = reader.below(files as u64, "the number of a file")? as u32;
    let wrong = reader.error("a count of at least 1");
    let count = reader.below(u64::from(u32::MAX), "a count")? as u32;
    if count == 0 {
        return Err(wrong);
    }
    Ok((FileId(file), count, reader.count("the number of children")?))
}
