//! Slow, obvious models of the policies that weigh more than one order: vectors that are looked through from end to end.

use std::collections::BTreeMap;

use super::super::detectors::{DearParameters, IMMEDIATELY, LAPSE, MEMORY, REFUTATION, soon};
use super::super::foresight::Foresight;
use super::super::programs::{AT_HAND, HANDS, SLACK};
use super::*;

/// ARC with vectors, the oldest first.
#[derive(Default)]
struct SlowArc {
    once: Vec<u64>,
    once_gone: Vec<u64>,
    often: Vec<u64>,
    often_gone: Vec<u64>,
    target: usize,
    newest: Option<u64>,
    came_back: bool,
}

fn drop_from(queue: &mut Vec<u64>, block: u64) -> bool {
    let before = queue.len();
    queue.retain(|&other| other != block);
    queue.len() < before
}

impl Model for SlowArc {
    fn insert(&mut self, block: u64) {
        let (once_gone, often_gone) = (self.once_gone.len(), self.often_gone.len());
        let held = self.once.len() + self.often.len();
        self.came_back = false;
        if drop_from(&mut self.once_gone, block) {
            self.target = (self.target + 1.max(often_gone / once_gone)).min(held);
            self.often.push(block);
        } else if drop_from(&mut self.often_gone, block) {
            self.target = self.target.saturating_sub(1.max(once_gone / often_gone));
            self.came_back = true;
            self.often.push(block);
        } else {
            self.once.push(block);
        }
        self.newest = Some(block);
    }
    fn touch(&mut self, block: u64) {
        if drop_from(&mut self.once, block) || drop_from(&mut self.often, block) {
            self.often.push(block);
        }
    }
    fn remove(&mut self, block: u64) {
        for queue in [&mut self.once, &mut self.often, &mut self.once_gone, &mut self.often_gone] {
            drop_from(queue, block);
        }
    }
    fn evict(&mut self) -> u64 {
        let others = |queue: &Vec<u64>| queue.iter().filter(|&&block| Some(block) != self.newest).count();
        let (once, often) = (others(&self.once), others(&self.often));
        let enough = once > self.target || self.came_back && once == self.target;
        let from_once = once > 0 && (enough || often == 0) || self.often.is_empty();
        let queue = if from_once { &mut self.once } else { &mut self.often };
        let place = queue.iter().position(|&block| Some(block) != self.newest).unwrap_or(0);
        let victim = queue.remove(place);
        if from_once {
            self.once_gone.push(victim)
        } else {
            self.often_gone.push(victim)
        }
        let held = self.once.len() + self.often.len();
        while self.once_gone.len() > 1 && self.once.len() + self.once_gone.len() > held {
            self.once_gone.remove(0);
        }
        while self.once_gone.len() + self.often_gone.len() > held.max(1) {
            let oldest = if self.often_gone.is_empty() { &mut self.once_gone } else { &mut self.often_gone };
            oldest.remove(0);
        }
        victim
    }
}

/// A block of [`SlowPrograms`].
#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u64,
    owner: u32,
    unused: bool,
    last: u64,
    place: u64,
    count: u32,
    due: Option<u64>,
}

/// A program of theirs: its detector, and every reference it ever made.
struct Known {
    detector: Detector,
    began: u64,
    lap: u64,
    returns: u32,
    references: u32,
    past: Vec<(u64, u64)>,
    lately: (u32, u32),
}

impl Known {
    /// Each block that is remembered, with its last use.
    fn last_uses(&self) -> Vec<(u64, u64)> {
        self.past.iter().copied().collect::<BTreeMap<_, _>>().into_iter().collect()
    }
}

/// All blocks of all programs in one list.
struct SlowPrograms {
    parameters: DearParameters,
    room: u64,
    now: u64,
    newest: u64,
    held: Vec<Entry>,
    /// By anybody: the block, and when.
    references: Vec<(u64, u64)>,
    programs: BTreeMap<u32, Known>,
}

impl SlowPrograms {
    fn new(parameters: DearParameters, room: usize) -> Self {
        let (held, references, programs) = (Vec::new(), Vec::new(), BTreeMap::new());
        SlowPrograms { parameters, room: room as u64, now: 0, newest: u64::MAX, held, references, programs }
    }

    fn arrive(&mut self, block: u64, owner: u32, unused: bool) {
        self.newest = block;
        self.hold(block, owner, unused);
    }

    fn hold(&mut self, block: u64, owner: u32, unused: bool) {
        self.held.retain(|entry| entry.block != block);
        self.now += 1;
        let (now, room) = (self.now, self.room);
        let DearParameters { rules, period, sublists } = self.parameters;
        let known = self.programs.entry(owner).or_insert_with(|| Known {
            detector: Detector::new(rules, period, sublists),
            began: now,
            lap: 0,
            returns: 0,
            references: 0,
            past: Vec::new(),
            lately: (0, 0),
        });
        let (mut count, mut due) = (0, None);
        if !unused {
            self.references.push((block, now));
            known.began = if known.references == 0 { now } else { known.began };
            let gap = known.past.iter().rev().find(|past| past.0 == block).map(|past| now - past.1);
            known.detector.refer_at(self::block(block), now);
            known.past.push((block, now));
            count = known.past.iter().filter(|past| past.0 == block).count() as u32;
            due = gap.map(|gap| now + gap + gap / SLACK);
            known.lap = gap.map_or(known.lap, |gap| gap.max(known.lap - known.lap / LAPSE));
            known.lately = (known.lately.0 + 1, known.lately.1 + u32::from(gap.is_some()));
            if known.lately.0 >= 2 * period {
                known.lately = (known.lately.0 / 2, known.lately.1 / 2);
            }
            known.returns += u32::from(gap.is_some_and(|gap| gap > IMMEDIATELY && gap < soon(room)));
            let refuted = known.returns > period / REFUTATION && rules == Rules::Rank;
            if refuted && known.detector.pattern() == Pattern::Sequential {
                known.detector.refute();
            }
            known.references += 1;
            if known.references.is_multiple_of(period) {
                known.returns = 0;
            }
            self.forget();
        }
        self.held.push(Entry { block, owner, unused, last: now, place: now, count, due });
    }

    /// When too much is remembered, the program that remembers most forgets a third, a sequential one first.
    fn forget(&mut self) {
        let period = self.parameters.period;
        let blocks = |known: &Known| known.last_uses().len();
        if self.programs.values().map(blocks).sum::<usize>() <= MEMORY * self.room.max(period.into()) as usize
        {
            return;
        }
        let worth = |known: &&mut Known| {
            (blocks(known) > 0 && known.detector.pattern() == Pattern::Sequential, blocks(known))
        };
        let most = self.programs.values_mut().max_by_key(worth).unwrap();
        let keep = blocks(most) - blocks(most) / 3;
        most.detector.forget(keep);
        let mut uses = most.last_uses();
        uses.sort_by_key(|&(_, last)| std::cmp::Reverse(last));
        uses.truncate(keep);
        most.past.retain(|past| uses.iter().any(|of| of.0 == past.0));
    }

    /// The blocks of a program but for the newest, the used ones or the others, by their last use.
    fn of(&self, owner: u32, unused: bool) -> Vec<Entry> {
        let of =
            |entry: &&Entry| entry.owner == owner && entry.unused == unused && entry.block != self.newest;
        let mut of: Vec<_> = self.held.iter().filter(of).copied().collect();
        of.sort_by_key(|entry| entry.last);
        of
    }

    fn oldest(&self, owner: u32) -> Option<Entry> {
        self.of(owner, false).first().copied()
    }

    fn latest(&self, owner: u32) -> Option<Entry> {
        let hands = AT_HAND.min(self.room / HANDS as u64);
        let at_hand = |entry: &&Entry| {
            let of_the_file = |of: &&(u64, u64)| block(of.0).file() == block(entry.block).file();
            let last = self.references.iter().rfind(of_the_file);
            entry.count == 1 && last.is_some_and(|&(last, at)| last == entry.block && at + hands > self.now)
        };
        self.of(owner, false).iter().rfind(|entry| !at_hand(entry)).copied().or(self.oldest(owner))
    }

    fn rarest(&self, owner: u32) -> Option<Entry> {
        self.of(owner, false).into_iter().min_by_key(|entry| (entry.count, entry.last))
    }

    fn pattern(&self, owner: u32) -> Pattern {
        self.programs[&owner].detector.pattern()
    }

    fn remove(&mut self, block: u64) {
        self.held.retain(|entry| entry.block != block);
    }
}

/// DEAR, or LRU-SEQ.
struct SlowDear(SlowPrograms, bool);

impl SlowDear {
    fn choice(&self, owner: u32) -> Option<Entry> {
        match self.0.pattern(owner) {
            Pattern::Looping if !self.1 => self.0.latest(owner),
            Pattern::Probabilistic if !self.1 => self.0.rarest(owner),
            _ => self.0.oldest(owner),
        }
    }

    fn evict(&mut self) -> u64 {
        let all = &self.0;
        let sequential = all.programs.keys().filter(|&&owner| all.pattern(owner) == Pattern::Sequential);
        let used = |owner: u32| all.held.iter().filter(|entry| entry.owner == owner && !entry.unused).count();
        let most = sequential
            .filter(|&&owner| all.latest(owner).is_some())
            .max_by_key(|&&owner| (used(owner), owner));
        let victim = match most {
            Some(&owner) => all.latest(owner).unwrap().block,
            None => {
                let others = all.held.iter().filter(|entry| entry.block != all.newest);
                let oldest = *others.min_by_key(|entry| entry.place).unwrap_or(&all.held[0]);
                let victim = self.choice(oldest.owner).filter(|_| !oldest.unused).unwrap_or(oldest);
                let stays = self.0.held.iter_mut().find(|entry| entry.block == oldest.block).unwrap();
                stays.place = victim.place;
                victim.block
            }
        };
        self.0.remove(victim);
        victim
    }
}

/// The default.
struct SlowForesight(SlowPrograms);

impl SlowForesight {
    /// Everything that might go, with the time until it is wanted again.
    fn candidates(&self, owner: u32) -> Vec<(u64, u64)> {
        const FAR: u64 = 1 << 40;
        let (all, known) = (&self.0, &self.0.programs[&owner]);
        let age = |entry: &Entry| all.now - entry.last;
        let (oldest, latest) = (all.oldest(owner), all.latest(owner));
        let mut candidates = Vec::new();
        match all.pattern(owner) {
            Pattern::Clustered => candidates.extend(oldest.map(|of| (age(&of), of.block))),
            Pattern::Probabilistic => candidates.extend(
                all.rarest(owner).map(|of| ((all.now - known.began) / u64::from(of.count.max(1)), of.block)),
            ),
            Pattern::Looping => {
                candidates.extend(latest.map(|of| (age(&of).max(known.lap), of.block)));
                candidates.extend(oldest.filter(|of| age(of) > 2 * known.lap).map(|of| (age(&of), of.block)));
            }
            Pattern::Sequential => {
                let used = all.held.iter().filter(|of| of.owner == owner && !of.unused).count() as u64;
                candidates.extend(latest.map(|of| (FAR + used, of.block)));
            }
            Pattern::Undecided => {
                let rarity = u64::from(known.lately.0 / (known.lately.1 + 1)).max(1);
                let late = |of: &Entry| of.due.is_none_or(|due| due < all.now);
                candidates.extend(oldest.filter(late).map(|of| (age(&of) * rarity, of.block)));
                let due = all.of(owner, false).into_iter().filter_map(|of| Some((of.due?, of.block)));
                let last = due.max().filter(|due| due.0 >= all.now);
                candidates.extend(last.map(|(due, block)| (due - all.now, block)));
            }
        }
        let waiting = all.of(owner, true).first().copied();
        candidates.extend(waiting.map(|of| (if age(&of) > all.room { 2 * FAR } else { 0 }, of.block)));
        candidates
    }

    fn evict(&mut self) -> u64 {
        let candidates = self.0.programs.keys().flat_map(|&owner| self.candidates(owner));
        let victim = candidates.max().map_or(self.0.newest, |(_, block)| block);
        self.0.remove(victim);
        victim
    }
}

/// Files have eight blocks.
fn block(number: u64) -> Block {
    Block::of((number / 8) as u32, (number % 8) as u32)
}

/// Drives a policy and a model of it that knows programs and what is fetched ahead.
fn agree_by_programs<M>(
    policy: &mut dyn Replacement,
    model: &mut M,
    programs: fn(&mut M) -> &mut SlowPrograms,
    evict: fn(&mut M) -> u64,
    (deeds, room): (&[Deed], usize),
) -> Result<(), TestCaseError> {
    for &deed in deeds {
        match deed {
            Deed::Use(number, owner) | Deed::Ahead(number, owner) => {
                let unused = matches!(deed, Deed::Ahead(..));
                if programs(model).held.iter().all(|entry| entry.block != number) {
                    let arrival = if unused { Arrival::Ahead } else { Arrival::Demand };
                    programs(model).arrive(number, owner, unused);
                    policy.insert(block(number), ProgramId(owner), arrival);
                } else if !unused {
                    programs(model).hold(number, owner, false);
                    policy.touch(block(number), ProgramId(owner));
                }
            }
            Deed::Remove(number) => {
                programs(model).remove(number);
                policy.remove(block(number));
            }
        }
        if programs(model).held.len() > room {
            prop_assert_eq!(policy.evict(), Some(block(evict(model))));
        }
    }
    Ok(())
}

/// Scans and laps of three programs, and single references and removals in between: all patterns come up.
fn spells() -> impl Strategy<Value = Vec<Deed>> {
    let spell = prop_oneof![
        2 => (0..3u32, 0..1000u64, 1..40u64).prop_map(|(owner, from, len)| {
            (from..from + len).map(|block| Deed::Use(1000 + block, owner)).collect::<Vec<_>>()
        }),
        3 => (0..3u32, 2..60u64, 1..4usize).prop_map(|(owner, len, laps)| {
            let lap = move || (0..len).map(move |block| Deed::Use(u64::from(owner) * 100 + block, owner));
            (0..laps).flat_map(|_| lap()).collect()
        }),
        2 => deeds(),
        1 => (0..3u32, 2000..2040u64).prop_map(|(owner, block)| vec![Deed::Ahead(block, owner)]),
    ];
    prop::collection::vec(spell, 1..12).prop_map(|spells| spells.concat())
}

/// Periods so short that many are judged.
fn short(rules: Rules) -> DearParameters {
    DearParameters { rules, period: 20, sublists: 3 }
}

proptest! {
    #[test]
    fn arc_is_the_obvious_one(deeds in deeds(), room in 1..12usize) {
        agree("arc", SlowArc::default(), &deeds, room)?;
    }

    #[test]
    fn dear_and_lru_seq_are_the_obvious_ones(
        deeds in spells(),
        room in 1..80usize,
        sequential_only in any::<bool>(),
        strict in any::<bool>(),
    ) {
        let parameters = short(if strict { Rules::Strict } else { Rules::Rank });
        let policy = if sequential_only { Policy::LruSeq(parameters) } else { Policy::Dear(parameters) };
        let mut model = SlowDear(SlowPrograms::new(parameters, room), sequential_only);
        let evict = SlowDear::evict;
        agree_by_programs(&mut *policy.build(room), &mut model, |model| &mut model.0, evict, (&deeds, room))?;
    }

    #[test]
    fn the_default_is_the_obvious_one(deeds in spells(), room in 1..80usize) {
        let parameters = short(Rules::Rank);
        let mut model = SlowForesight(SlowPrograms::new(parameters, room));
        let (mut policy, evict) = (Foresight::new(parameters, room), SlowForesight::evict);
        agree_by_programs(&mut policy, &mut model, |model| &mut model.0, evict, (&deeds, room))?;
    }
}
