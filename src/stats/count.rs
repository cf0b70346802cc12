//! One number that several threads count.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that goes up, or up and down, without a lock. It orders nothing else: readers may see it a moment late.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Count one more.
    pub fn one(&self) {
        self.add(1);
    }

    /// Count `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Take `n` off. Never goes below zero, even if the parts of a sum arrive in an unlucky order.
    pub fn sub(&self, n: u64) {
        let less = |value: u64| Some(value.saturating_sub(n));
        // The closure never refuses, so there is no failure to look at.
        let _ = self.0.fetch_update(Relaxed, Relaxed, less);
    }

    /// Make it `n`.
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_down_and_never_below_zero() {
        let count = Count::default();
        count.one();
        count.add(4);
        count.sub(2);
        assert_eq!(count.get(), 3);
        count.sub(9);
        assert_eq!(count.get(), 0);
        count.set(7);
        assert_eq!(count.get(), 7);
    }
}
