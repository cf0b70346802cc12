//! Learning again from the runs what follows from them.
//!
//! What must stay true: habits and counts come out as they were when the runs were written, but for what the
//! history has let go meanwhile.

use super::super::{Kind, PastAccess};
use super::Mixture;
use super::context::{Context, Elders, NOTHING};
use super::favourite::Favourite;
use crate::id::IdMap;

impl Mixture {
    /// Replaces habits and counts by what the runs say.
    pub(super) fn relearn(&mut self) {
        self.habits.clear();
        self.favourite = Favourite::default();
        let mut elders: IdMap<u32, Elders> = IdMap::default();
        let past: Vec<PastAccess> = self.runs.past().collect();
        for (place, access) in past.iter().enumerate() {
            let Some(file) = access.file.filter(|_| access.life != 0) else { continue };
            let elders = elders.entry(access.run).or_default();
            let context = context(&past, place, elders);
            if access.kind == Kind::Open {
                context.keys().for_each(|(_, key)| self.habits.learn(key, file));
                self.favourite.count(file);
            }
            if access.life == 1 {
                elders.begins(access.program, file);
            }
        }
    }
}

/// Where the process stood before the access at `place`.
fn context(past: &[PastAccess], place: usize, elders: &Elders) -> Context {
    let before = |place: usize| {
        let back = past.get(place).map_or(0, |access| access.after as usize);
        place.checked_sub(back).filter(|_| back != 0)
    };
    let file = |place: Option<usize>| place.and_then(|at| past[at].file).map_or(NOTHING, |file| file.0);
    let &PastAccess { program, life, .. } = &past[place];
    let (last, older) = (before(place), before(place).and_then(before));
    Context { program, begins: life == 1, recent: [file(last), file(older)], elder: elders.of(program) }
}
