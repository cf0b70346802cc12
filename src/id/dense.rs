//! Vectors indexed by dense numbers, that grow with them.
//!
//! Must stay true: no more than a sixteenth of the memory is idle, so that limits on memory mean something.

/// Elements a vector grows by at least.
const GROWTH_MIN: usize = 1024;

/// Makes `vector` long enough for `index`, filling it up with `blank`.
pub fn reach<T: Clone>(vector: &mut Vec<T>, index: usize, blank: T) {
    if index >= vector.len() {
        room(vector, index + 1 - vector.len());
        vector.resize(index + 1, blank);
    }
}

/// Makes room for `more` elements without doubling what there is.
pub fn room<T>(vector: &mut Vec<T>, more: usize) {
    if vector.capacity() - vector.len() < more {
        vector.reserve_exact(more.max(vector.len() / 16).max(GROWTH_MIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_idle() {
        let mut vector = Vec::new();
        (0..100_000).for_each(|index| reach(&mut vector, index, 7u32));
        assert_eq!((vector.len(), vector[99_999]), (100_000, 7));
        assert!(vector.capacity() <= 106_300);
        reach(&mut vector, 5, 7);
        assert_eq!(vector.len(), 100_000);
    }
}
