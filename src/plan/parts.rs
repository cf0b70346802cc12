//! Which parts of a large file were used: up to 64 of equal length, as long as they have to be to reach the
//! furthest of them.
//!
//! What must stay true: every byte that was used lies in a part; a part holds something that was used, or did
//! when parts were shorter.

use crate::event::Span;

/// The shortest part, as a power of two: 256 KiB, two requests of read-ahead.
const SHORTEST: u32 = 18;
/// The longest: 64 of these are every offset there is.
const LONGEST: u32 = 58;

/// See the module's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    mask: u64,
    shift: u32,
}

impl Parts {
    /// None.
    pub const NONE: Parts = Parts { mask: 0, shift: SHORTEST };

    /// Was nothing used?
    pub fn are_none(self) -> bool {
        self.mask == 0
    }

    /// These bytes were used.
    pub fn add(&mut self, span: Span) {
        let Some(last) = span.len.checked_sub(1).map(|more| span.offset.saturating_add(more)) else { return };
        while last >> self.shift >= u64::from(u64::BITS) {
            self.lengthen();
        }
        for part in span.offset >> self.shift..=last >> self.shift {
            self.mask |= 1 << part;
        }
    }

    /// What lies in them of a file of `size` bytes, neighbours as one, in the order of the file.
    pub fn spans(self, size: u64) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for part in (0..u64::from(u64::BITS)).filter(|part| self.mask >> part & 1 == 1) {
            let offset = part << self.shift;
            let len = size.saturating_sub(offset).min(1 << self.shift);
            match spans.last_mut() {
                _ if len == 0 => break,
                Some(before) if before.offset + before.len == offset => before.len += len,
                _ => spans.push(Span { offset, len }),
            }
        }
        spans
    }

    /// Bytes in them, of a file of `size` bytes.
    pub fn bytes(self, size: u64) -> u64 {
        self.spans(size).iter().map(|span| span.len).sum()
    }

    /// As two numbers, the first of which is small.
    pub fn to_numbers(self) -> (u64, u64) {
        (u64::from(self.shift - SHORTEST), self.mask)
    }

    /// From two numbers; `None` when they cannot be.
    pub fn from_numbers(shift: u64, mask: u64) -> Option<Parts> {
        let shift = u32::try_from(shift).ok()?.checked_add(SHORTEST)?;
        (shift <= LONGEST).then_some(Parts { mask, shift })
    }

    /// Makes two parts one.
    fn lengthen(&mut self) {
        let pairs = (0..u64::BITS / 2).filter(|pair| self.mask >> (2 * pair) & 3 != 0);
        self.mask = pairs.fold(0, |mask, pair| mask | 1 << pair);
        self.shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PART: u64 = 1 << SHORTEST;

    #[test]
    fn neighbours_are_one_and_the_end_is_clipped() {
        let mut parts = Parts::NONE;
        assert!(parts.are_none() && parts.spans(u64::MAX).is_empty());
        for (offset, len) in [(0, 1), (PART, 4096), (9 * PART, 10), (5, 0)] {
            parts.add(Span { offset, len });
        }
        let size = 9 * PART + 7;
        let (head, tail) = (Span { offset: 0, len: 2 * PART }, Span { offset: 9 * PART, len: 7 });
        assert_eq!(parts.spans(size), [head, tail]);
        assert_eq!(parts.bytes(size), 2 * PART + 7);
        assert_eq!(parts.spans(9 * PART), [head]);
    }

    #[test]
    fn parts_grow_with_the_furthest_of_them() {
        let mut parts = Parts::NONE;
        parts.add(Span { offset: 3 * PART, len: 1 });
        parts.add(Span { offset: 1 << 30, len: 1 });
        let part = 32 << 20;
        assert_eq!(
            parts.spans(2 << 30),
            [Span { offset: 0, len: part }, Span { offset: 1 << 30, len: part }]
        );
        parts.add(Span { offset: u64::MAX, len: 5 });
        assert_eq!(parts.to_numbers().0, u64::from(LONGEST - SHORTEST));
    }

    proptest! {
        /// Against the list of everything that was used.
        #[test]
        fn what_was_used_lies_in_a_part(used in prop::collection::vec((0..1u64 << 34, 0..1u64 << 22), 1..40), size in 1..1u64 << 34) {
            let mut parts = Parts::NONE;
            used.iter().for_each(|&(offset, len)| parts.add(Span { offset, len }));
            let spans = parts.spans(size);
            let holds = |at: u64| spans.iter().any(|span| (span.offset..span.offset + span.len).contains(&at));
            for &(offset, len) in used.iter().filter(|used| used.1 > 0) {
                for at in [offset, offset + len / 2, offset + len - 1] {
                    prop_assert_eq!(holds(at), at < size);
                }
            }
            prop_assert!(spans.windows(2).all(|two| two[0].offset + two[0].len < two[1].offset));
            let (shift, mask) = parts.to_numbers();
            prop_assert_eq!(Parts::from_numbers(shift, mask), Some(parts));
            // No part without use.
            let part = 1u64 << (shift + u64::from(SHORTEST));
            let starts = (0..64).map(|part_number| part_number * part).filter(|&start| start < size && holds(start));
            for start in starts {
                prop_assert!(used.iter().any(|&(offset, len)| len > 0 && offset < start + part && offset + len > start));
            }
        }
    }
}
