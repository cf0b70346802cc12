//! Where several threads of a stream are among the entries of one directory: each goes its own way, all in one order.
//!
//! Must stay true: of a directory there are so few lanes that being next to one by chance is rare.

/// Most lanes: as many threads as `git status` looks with, and some.
const MOST: usize = 24;
/// Entries of a directory for each lane: an entry at random is then the very next of one in an eighth of all cases, and
/// six times in a row hardly ever.
const ENTRIES: usize = 8;

/// How somebody came to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// From this one.
    From(u32),
    /// From elsewhere; there may be one more at work.
    Anew,
    /// From elsewhere, once more than there can be lanes.
    Lost,
}

/// The last entry of each lane, by its place as listed; the one that moved last is last.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes(Vec<u32>);

impl Lanes {
    /// Somebody comes to an entry of a directory of `len` entries. `apart` says how far it is behind another one, if that is
    /// near.
    pub(super) fn come(&mut self, to: u32, len: u32, apart: impl Fn(u32) -> Option<u32>) -> Came {
        let beside = self.0.iter().rposition(|&from| apart(from).is_some_and(|apart| apart <= 1));
        let latest = self.0.len().checked_sub(1).filter(|&latest| apart(self.0[latest]).is_some());
        let came = match beside.or(latest) {
            Some(lane) => Came::From(self.0.remove(lane)),
            None if self.0.len() < (len as usize / ENTRIES).clamp(1, MOST) => Came::Anew,
            None => {
                self.0.remove(0);
                Came::Lost
            }
        };
        self.0.push(to);
        came
    }

    /// Where they are.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> + Clone {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come(lanes: &mut Lanes, to: u32, len: u32) -> Came {
        lanes.come(to, len, |from| to.checked_sub(from).filter(|&apart| apart <= 8))
    }

    #[test]
    fn threads_in_turn_have_a_lane_each() {
        let mut lanes = Lanes::default();
        for step in 0..10 {
            for thread in 0..4 {
                let to = thread * 25 + step;
                let came = come(&mut lanes, to, 100);
                assert_eq!(came, if step == 0 { Came::Anew } else { Came::From(to - 1) });
            }
        }
        assert_eq!(lanes.places().collect::<Vec<_>>(), [9, 34, 59, 84]);
    }

    #[test]
    fn a_small_directory_has_one_lane() {
        let mut lanes = Lanes::default();
        assert_eq!(come(&mut lanes, 0, 15), Came::Anew);
        assert_eq!(come(&mut lanes, 5, 15), Came::From(0));
        assert_eq!(come(&mut lanes, 2, 15), Came::Lost);
        assert_eq!(lanes.places().collect::<Vec<_>>(), [2]);
    }
}
