//! A directory's entries in the orders in which programs go through them.

use crate::event::Entry;

/// An order of a directory's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As the directory lists them.
    Listed,
    /// By name.
    Name,
    /// By inode number.
    Inode,
}

impl Order {
    pub(super) const ALL: [Order; 3] = [Order::Listed, Order::Name, Order::Inode];
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Directory {
    entries: Vec<Entry>,
    by_name: Sorted,
    by_inode: Sorted,
}

/// A permutation and its inverse.
#[derive(Debug)]
struct Sorted {
    at: Vec<u32>,
    rank: Vec<u32>,
}

impl Sorted {
    fn by<K: Ord>(entries: &[Entry], key: impl Fn(&Entry) -> K) -> Sorted {
        let mut at: Vec<u32> = (0..entries.len() as u32).collect();
        // Stable: equal keys stay as listed.
        at.sort_by_key(|&index| key(&entries[index as usize]));
        let mut rank = vec![0; entries.len()];
        for (place, &index) in at.iter().enumerate() {
            rank[index as usize] = place as u32;
        }
        Sorted { at, rank }
    }
}

impl Directory {
    pub(super) fn new(entries: Vec<Entry>) -> Directory {
        let by_name = Sorted::by(&entries, |entry| entry.by_name);
        let by_inode = Sorted::by(&entries, |entry| entry.inode);
        Directory { entries, by_name, by_inode }
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at a place of an order.
    pub(super) fn at(&self, order: Order, rank: u32) -> Option<&Entry> {
        let index = match order {
            Order::Listed => rank,
            Order::Name => *self.by_name.at.get(rank as usize)?,
            Order::Inode => *self.by_inode.at.get(rank as usize)?,
        };
        self.entries.get(index as usize)
    }

    /// How far one entry is behind another in the order in which that is least, if in any it is not before it.
    pub(super) fn apart(&self, from: u32, to: u32) -> Option<u32> {
        let orders = Order::ALL.into_iter();
        orders.filter_map(|order| self.rank(order, to).checked_sub(self.rank(order, from))).min()
    }

    /// The place of an entry in an order. `index`: as listed. One that a longer listing of this directory had comes
    /// behind all others.
    pub(super) fn rank(&self, order: Order, index: u32) -> u32 {
        let ranks = match order {
            Order::Listed => return index,
            Order::Name => &self.by_name.rank,
            Order::Inode => &self.by_inode.rank,
        };
        ranks.get(index as usize).copied().unwrap_or(index)
    }
}
