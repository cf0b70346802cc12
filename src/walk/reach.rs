//! How far into files a walk reads: some read heads only, to tell what kind of file each is.
//!
//! Only what had to come from the source is seen. So what is brought is never more than what has been seen to be read,
//! rounded up, and a walk that reads on shows itself by the request that this leaves to it.
//!
//! Must stay true: it never shrinks, and is a power of two.

use crate::event::Span;

/// What is brought of a file at least: the read-ahead of most devices. Less would cost as many requests.
const LEAST: u64 = 128 << 10;

/// See the module's head. In bytes from a file's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach(u64);

impl Default for Reach {
    fn default() -> Self {
        Reach(LEAST)
    }
}

impl Reach {
    /// What is to be brought of a file at most.
    pub(super) fn bytes(self) -> u64 {
        self.0
    }

    /// Bytes were asked for that had not been brought. Says whether it reaches further now.
    pub(super) fn read(&mut self, span: Span) -> bool {
        let end = span.offset.saturating_add(span.len);
        if end <= self.0 {
            return false;
        }
        self.0 = end.checked_next_power_of_two().unwrap_or(u64::MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_covers_all_that_was_read_and_at_most_twice_that(reads in prop::collection::vec((0u64..1 << 40, 0u64..1 << 20), 1..50)) {
            let mut reach = Reach::default();
            let mut furthest = 0;
            for (offset, len) in reads {
                let before = reach.bytes();
                let further = reach.read(Span { offset, len });
                furthest = furthest.max(offset + len);
                prop_assert_eq!(further, reach.bytes() > before);
                prop_assert!(reach.bytes() >= furthest && reach.bytes().is_power_of_two());
                prop_assert!(reach.bytes() < (2 * furthest).max(LEAST + 1));
            }
        }
    }

    #[test]
    fn heads_leave_it_alone_and_a_long_read_widens_it() {
        let mut reach = Reach::default();
        assert!(
            !reach.read(Span { offset: 0, len: 16 << 10 }) && !reach.read(Span { offset: 0, len: LEAST })
        );
        assert!(reach.read(Span { offset: LEAST, len: 4096 }));
        assert_eq!(reach.bytes(), 2 * LEAST);
        assert!(reach.read(Span { offset: u64::MAX - 1, len: 9 }));
        assert_eq!(reach.bytes(), u64::MAX);
    }
}
