//! How much of the budget memory allows at this moment.
//!
//! What must stay true: when memory gets short, the budget is cut at once, and given back slowly; never above what was asked
//! for. Pure: it is told what memory looks like.

use crate::sys::memory::Memory;

/// Processes that waited for memory for so much of the last ten seconds (in percent) are being hurt: a machine that only reclaims page
/// cache that nobody misses shows well below one percent.
const STALLS: f64 = 5.0;
/// Less than one part in so many available is short.
const SHORT: u64 = 16;
/// With less than one part in so many free, what comes in takes the place of something else.
const FULL: u64 = 8;
/// With less than this a budget helps nobody, and does no harm.
const LEAST: u64 = 1 << 20;
/// So many files gone before their use since the last look are no chance: one may have been changed, or let go by its owner.
const EVICTED: u64 = 8;
/// Seconds of calm before the budget doubles again.
const CALM: u32 = 5;
/// Changes smaller than one part in so many are not worth telling.
const WORTH_TELLING: u64 = 8;

/// What memory shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) memory: Memory,
    /// Percent of the last ten seconds in which somebody waited for memory.
    pub(crate) stalls: Option<f64>,
    /// Files that had been fetched ahead and were gone again when they were wanted, since the mount.
    pub(crate) evicted: u64,
}

/// The budget in force, and why.
#[derive(Debug)]
pub(crate) struct Pressure {
    /// What was asked for; `None` is a quarter of what is available.
    asked: Option<u64>,
    told: u64,
    /// What is left of the budget, as a power of two: 0 is all of it.
    cut: u32,
    calm: u32,
    evicted: u64,
    room: Option<u64>,
}

impl Pressure {
    /// The budget that is in force is `told` bytes.
    pub(crate) fn new(asked: Option<u64>, told: u64) -> Self {
        Pressure { asked, told, cut: 0, calm: 0, evicted: 0, room: None }
    }

    /// Somebody asks for another budget; `None` is a quarter of what is available.
    pub(crate) fn ask(&mut self, asked: Option<u64>, told: u64) {
        (self.asked, self.told, self.cut) = (asked, told, 0);
    }

    /// While new data only comes into memory where other data goes: how many bytes of it one walk may leave there.
    pub(crate) fn room(&self) -> Option<u64> {
        self.room
    }

    /// Is memory full? Looked at more often: a walk may fill it within moments. Says whether there is much less of it than the
    /// budget supposes, so that it must not wait for the next look.
    pub(crate) fn see(&mut self, memory: Memory) -> bool {
        self.room = (memory.free < memory.total / FULL).then_some(memory.available / 2);
        self.whole(memory.available) < self.told / 2
    }

    /// The budget that this much memory allows, asked for or not: half of what is available is the most that one may take in
    /// advance.
    fn whole(&self, available: u64) -> u64 {
        self.asked.map_or(available / 4, |asked| asked.min(available / 2))
    }

    /// Looks about once a second. A new budget, if it has to change; and whether that is a cut because memory is short.
    pub(crate) fn look(&mut self, sight: Sight) -> Option<(u64, bool)> {
        let Memory { total, available, .. } = sight.memory;
        let evicted = sight.evicted >= std::mem::replace(&mut self.evicted, sight.evicted) + EVICTED;
        let hurts =
            evicted || sight.stalls.is_some_and(|stalls| stalls >= STALLS) || available < total / SHORT;
        self.see(sight.memory);
        self.room = self.room.or(hurts.then_some(available / 2));
        let before = self.cut;
        if hurts {
            self.calm = 0;
            self.cut = (self.cut + 1).min(u64::BITS - 1);
        } else {
            self.calm += 1;
            if self.calm >= CALM && self.cut > 0 {
                (self.calm, self.cut) = (0, self.cut - 1);
            }
        }
        let whole = self.whole(available);
        let allowed = (whole >> self.cut).max(LEAST.min(self.asked.unwrap_or(LEAST)));
        if self.cut < before || allowed.abs_diff(self.told) > self.told / WORTH_TELLING {
            let is_cut = allowed < self.told && (hurts || allowed < self.told / 2);
            self.told = allowed;
            return Some((allowed, is_cut));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    fn sight(available: u64) -> Sight {
        Sight {
            memory: Memory { total: 16 * GIB, free: available, available },
            stalls: Some(0.0),
            evicted: 0,
        }
    }

    #[test]
    fn calm_changes_nothing() {
        let mut pressure = Pressure::new(None, 2 * GIB);
        assert!((0..100).all(|_| pressure.look(sight(8 * GIB)).is_none()));
        let mut asked = Pressure::new(Some(GIB), GIB);
        assert!((0..100).all(|_| asked.look(sight(8 * GIB)).is_none()));
        assert_eq!(asked.room(), None);
        let full = Sight { memory: Memory { total: 16 * GIB, free: GIB, available: 8 * GIB }, ..sight(0) };
        assert!(asked.look(full).is_none());
        assert_eq!(asked.room(), Some(4 * GIB));
    }

    #[test]
    fn each_sign_of_need_cuts_at_once_and_calm_gives_back() {
        let needs = [
            Sight { stalls: Some(20.0), ..sight(8 * GIB) },
            Sight { evicted: EVICTED, ..sight(8 * GIB) },
            sight(GIB / 2),
        ];
        for need in needs {
            let mut pressure = Pressure::new(Some(GIB), GIB);
            let (budget, cut) = pressure.look(need).unwrap();
            assert!(budget <= GIB / 2 && cut && pressure.room().is_some(), "{need:?}");
            let calm = Sight { evicted: need.evicted, ..sight(8 * GIB) };
            let back = (0..20).filter_map(|_| pressure.look(calm)).last();
            assert_eq!(back, Some((GIB, false)), "{need:?}");
            assert_eq!(pressure.room(), None);
        }
    }

    #[test]
    fn memory_that_others_take_is_not_waited_for() {
        let mut pressure = Pressure::new(None, 2 * GIB);
        assert!(
            !pressure.see(sight(7 * GIB).memory) && pressure.see(sight(3 * GIB).memory),
            "that cannot wait"
        );
        assert_eq!(pressure.look(sight(4 * GIB)), Some((GIB, false)));
        assert_eq!(pressure.look(sight(2 * GIB)), Some((GIB / 2, false)));
        assert_eq!(pressure.look(sight(8 * GIB)), Some((2 * GIB, false)));
    }

    proptest! {
        /// Never above what was asked for or what there is, never nothing.
        #[test]
        fn whatever_memory_does(
            asked in prop::option::of((64u64 << 10)..GIB),
            looks in prop::collection::vec((0..16 * GIB, prop::option::of(0.0..100.0f64), 0..30u64), 1..200),
        ) {
            let mut pressure = Pressure::new(asked, asked.unwrap_or(GIB));
            let mut evicted = 0;
            for (available, stalls, more) in looks {
                evicted += more;
                let sight = Sight { memory: Memory { total: 16 * GIB, free: available, available }, stalls, evicted };
                if let Some((budget, _)) = pressure.look(sight) {
                    prop_assert!(budget > 0 && asked.is_none_or(|asked| budget <= asked));
                    prop_assert!(budget <= (available / 2).max(LEAST));
                }
            }
        }
    }
}
