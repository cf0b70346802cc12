//! Every policy against a slow, obvious model of it, and against what must hold of any.

use std::collections::HashMap;

use super::*;
use proptest::prelude::*;

mod models;

/// What happens to a cache.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Use(u64, u32),
    Ahead(u64, u32),
    Remove(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let of = || (0..24u64, 0..3u32);
    let deed = prop_oneof![
        12 => of().prop_map(|(block, owner)| Deed::Use(block, owner)),
        1 => of().prop_map(|(block, owner)| Deed::Ahead(block, owner)),
        1 => (0..24u64).prop_map(Deed::Remove),
    ];
    prop::collection::vec(deed, 1..300)
}

/// Blocks in some order, looked through from one end to the other.
trait Model {
    fn insert(&mut self, block: u64);
    fn touch(&mut self, block: u64);
    fn remove(&mut self, block: u64);
    fn evict(&mut self) -> u64;
}

struct InOrder {
    blocks: Vec<u64>,
    moves: bool,
}

impl Model for InOrder {
    fn insert(&mut self, block: u64) {
        self.blocks.push(block);
    }
    fn touch(&mut self, block: u64) {
        if self.moves {
            self.remove(block);
            self.blocks.push(block);
        }
    }
    fn remove(&mut self, block: u64) {
        self.blocks.retain(|&other| other != block);
    }
    fn evict(&mut self) -> u64 {
        self.blocks.remove(0)
    }
}

/// SIEVE with a vector and an index: the hand stands on the next block to be looked at.
#[derive(Default)]
struct SlowSieve {
    blocks: Vec<(u64, bool)>,
    hand: usize,
}

impl Model for SlowSieve {
    fn insert(&mut self, block: u64) {
        self.blocks.push((block, false));
    }
    fn touch(&mut self, block: u64) {
        self.blocks.iter_mut().filter(|of| of.0 == block).for_each(|of| of.1 = true);
    }
    fn remove(&mut self, block: u64) {
        if let Some(place) = self.blocks.iter().position(|of| of.0 == block) {
            self.blocks.remove(place);
            self.hand -= usize::from(place < self.hand);
        }
    }
    fn evict(&mut self) -> u64 {
        loop {
            if self.hand >= self.blocks.len() {
                self.hand = 0;
            }
            let newest = self.hand + 1 == self.blocks.len() && self.blocks.len() > 1;
            if !self.blocks[self.hand].1 && !newest {
                return self.blocks.remove(self.hand).0;
            }
            self.blocks[self.hand].1 = false;
            self.hand += 1;
        }
    }
}

/// S3-FIFO with vectors.
#[derive(Default)]
struct SlowS3Fifo {
    small: Vec<(u64, u8)>,
    main: Vec<(u64, u8)>,
    gone: Vec<u64>,
    newest: u64,
}

impl SlowS3Fifo {
    fn leave_small(&mut self) -> Option<u64> {
        while !self.small.is_empty() && self.small[0].0 != self.newest {
            let (block, uses) = self.small.remove(0);
            if uses <= 1 {
                self.gone.push(block);
                return Some(block);
            }
            self.main.push((block, 0));
        }
        // The newest is the last of the small queue if it is there at all, and may move on like any other only
        // when it is not the newest any more.
        None
    }
    fn leave_main(&mut self) -> Option<u64> {
        while !self.main.is_empty() {
            let (block, uses) = self.main.remove(0);
            if uses == 0 && block != self.newest {
                return Some(block);
            }
            self.main.push((block, uses.saturating_sub(1)));
            if block == self.newest && self.main.len() == 1 {
                return None;
            }
        }
        None
    }
}

impl Model for SlowS3Fifo {
    fn insert(&mut self, block: u64) {
        let known = self.gone.contains(&block);
        self.gone.retain(|&other| other != block);
        if known {
            self.main.push((block, 0))
        } else {
            self.small.push((block, 0))
        }
        self.newest = block;
    }
    fn touch(&mut self, block: u64) {
        let all = self.small.iter_mut().chain(&mut self.main);
        all.filter(|of| of.0 == block).for_each(|of| of.1 = (of.1 + 1).min(3));
    }
    fn remove(&mut self, block: u64) {
        self.small.retain(|of| of.0 != block);
        self.main.retain(|of| of.0 != block);
        self.gone.retain(|&other| other != block);
    }
    fn evict(&mut self) -> u64 {
        let held = self.small.len() + self.main.len();
        let small_first = self.small.len() * 10 >= held || self.main.is_empty();
        let victim = match small_first {
            true => self.leave_small().or_else(|| self.leave_main()),
            false => self.leave_main().or_else(|| self.leave_small()),
        };
        let most = self.main.len().max(1);
        while self.gone.len() > most {
            self.gone.remove(0);
        }
        victim.unwrap()
    }
}

/// Drives a policy and what shall be the same in a cache of `room` blocks.
fn agree(policy: &str, mut model: impl Model, deeds: &[Deed], room: usize) -> Result<(), TestCaseError> {
    let mut policy = policy.parse::<Policy>().unwrap().build(room);
    let mut held: Vec<u64> = Vec::new();
    for &deed in deeds {
        match deed {
            Deed::Use(block, owner) | Deed::Ahead(block, owner) if !held.contains(&block) => {
                held.push(block);
                model.insert(block);
                policy.insert(Block(block), ProgramId(owner), Arrival::Demand);
            }
            Deed::Use(block, owner) | Deed::Ahead(block, owner) => {
                model.touch(block);
                policy.touch(Block(block), ProgramId(owner));
            }
            Deed::Remove(block) => {
                held.retain(|&other| other != block);
                model.remove(block);
                policy.remove(Block(block));
            }
        }
        if held.len() > room {
            let victim = model.evict();
            prop_assert_eq!(policy.evict(), Some(Block(victim)));
            held.retain(|&other| other != victim);
        }
    }
    Ok(())
}

/// Fewest misses by trying every choice.
fn fewest(trace: &[u64], held: &mut Vec<u64>, room: usize) -> u64 {
    let Some((&block, rest)) = trace.split_first() else { return 0 };
    if held.contains(&block) {
        return fewest(rest, held, room);
    }
    // It passes through, or takes a free place, or another's.
    let mut least = fewest(rest, held, room);
    if held.len() < room {
        held.push(block);
        least = least.min(fewest(rest, held, room));
        held.pop();
    } else {
        for place in 0..held.len() {
            let before = std::mem::replace(&mut held[place], block);
            least = least.min(fewest(rest, held, room));
            held[place] = before;
        }
    }
    1 + least
}

proptest! {
    #[test]
    fn lru_is_the_obvious_one(deeds in deeds(), room in 1..12usize) {
        agree("lru", InOrder { blocks: Vec::new(), moves: true }, &deeds, room)?;
    }

    #[test]
    fn fifo_is_the_obvious_one(deeds in deeds(), room in 1..12usize) {
        agree("fifo", InOrder { blocks: Vec::new(), moves: false }, &deeds, room)?;
    }

    #[test]
    fn sieve_is_the_obvious_one(deeds in deeds(), room in 1..12usize) {
        agree("sieve", SlowSieve::default(), &deeds, room)?;
    }

    #[test]
    fn s3fifo_is_the_obvious_one(deeds in deeds(), room in 1..12usize) {
        agree("s3fifo", SlowS3Fifo::default(), &deeds, room)?;
    }

    #[test]
    fn nobody_does_better_than_opt(trace in prop::collection::vec(0..5u64, 0..10), room in 1..4usize) {
        let blocks: Vec<_> = trace.iter().map(|&block| Block(block)).collect();
        prop_assert_eq!(opt_misses(&blocks, room), fewest(&trace, &mut Vec::new(), room));
    }

    /// A policy gives up what is there, never what came last while there is another, and in the end everything.
    #[test]
    fn a_policy_knows_what_is_there(which in 0..POLICIES.len(), deeds in deeds(), room in 1..12usize) {
        let mut policies = [(); 2].map(|()| POLICIES[which].0.parse::<Policy>().unwrap().build(room));
        let mut held: HashMap<u64, u32> = HashMap::new();
        for deed in deeds {
            let newest = match deed {
                Deed::Use(block, owner) | Deed::Ahead(block, owner) => {
                    let arrival =
                        if matches!(deed, Deed::Use(..)) { Arrival::Demand } else { Arrival::Ahead };
                    let there = held.insert(block, owner).is_some();
                    for policy in &mut policies {
                        match there {
                            true => policy.touch(Block(block), ProgramId(owner)),
                            false => policy.insert(Block(block), ProgramId(owner), arrival),
                        }
                    }
                    (!there).then_some(block)
                }
                Deed::Remove(block) => {
                    if held.remove(&block).is_some() {
                        policies.iter_mut().for_each(|policy| policy.remove(Block(block)));
                    }
                    None
                }
            };
            if held.len() > room {
                let victims = policies.each_mut().map(|policy| policy.evict());
                prop_assert_eq!(victims[0], victims[1], "the same calls give the same victims");
                let victim = victims[0].unwrap().0;
                prop_assert!(held.remove(&victim).is_some(), "{} is not there", victim);
                prop_assert_ne!(Some(victim), newest);
            }
        }
        while let Some(victim) = policies[0].evict() {
            prop_assert!(held.remove(&victim.0).is_some());
        }
        prop_assert!(held.is_empty());
    }
}

/// DEAR's choice within a program, by its pattern.
#[test]
fn dear_gives_up_by_the_pattern() {
    let run = |trace: &dyn Fn(u64) -> u64| {
        let mut policy = "dear:rank/50/5".parse::<Policy>().unwrap().build(400);
        let mut held = std::collections::HashSet::new();
        for at in 0..1000 {
            let block = Block(trace(at));
            match held.insert(block) {
                true => policy.insert(block, ProgramId(0), Arrival::Demand),
                false => policy.touch(block, ProgramId(0)),
            }
        }
        (policy.patterns()[0].1, policy.evict().unwrap(), policy.evict().unwrap())
    };
    // Block 999 came last, and stays.
    assert_eq!(run(&|at| at), (Pattern::Sequential, Block(998), Block(997)));
    let (pattern, first, second) = run(&|at| at % 110);
    assert_eq!((pattern, first, second), (Pattern::Looping, Block(999 % 110), Block(998 % 110)));
}

#[test]
fn turns_are_told_in_words() {
    let turn = |at| Turn { owner: ProgramId(0), from: Pattern::Sequential, to: Pattern::Looping, at };
    assert_eq!(turn(1500).told_of("cscope"), "cscope: sequential -> looping at reference 1,500");
    assert!(
        turn(100).told_of("wc").ends_with(" 100") && turn(1_234_567).told_of("wc").ends_with(" 1,234,567")
    );
}

#[test]
fn sequential_programs_give_up_first() {
    for policy in ["lru-seq", "dear", "default"] {
        let mut policy = policy.parse::<Policy>().unwrap().build(2000);
        let (scanner, other) = (ProgramId(1), ProgramId(2));
        (0..100).for_each(|block| policy.insert(Block(block), other, Arrival::Demand));
        (1000..2100).for_each(|block| policy.insert(Block(block), scanner, Arrival::Demand));
        assert_eq!(policy.patterns()[0], (scanner, Pattern::Sequential));
        for _ in 0..500 {
            assert!(policy.evict().unwrap().0 >= 1000, "the other's blocks are older, but it is no scanner");
        }
        let turn = Turn { owner: scanner, from: Pattern::Undecided, to: Pattern::Sequential, at: 1000 };
        assert_eq!(policy.turns(), [turn]);
    }
}

#[test]
fn what_was_fetched_ahead_stays_for_its_time_and_no_longer() {
    let mut policy = Policy::Default.build(10);
    let program = ProgramId(0);
    policy.insert(Block(100), program, Arrival::Ahead);
    (0..9).for_each(|block| policy.insert(Block(block), program, Arrival::Demand));
    policy.insert(Block(9), program, Arrival::Demand);
    assert_ne!(policy.evict(), Some(Block(100)));
    policy.insert(Block(10), program, Arrival::Demand);
    assert_eq!(policy.evict(), Some(Block(100)), "nobody has wanted it for a whole cache of references");
}

#[test]
fn bookkeeping_is_small_beside_the_blocks() {
    for (name, _) in POLICIES {
        let mut policy = name.parse::<Policy>().unwrap().build(8192);
        for at in 0..40_000u64 {
            policy.insert(Block(at), ProgramId(0), Arrival::Demand);
            if at >= 8192 {
                policy.evict();
            }
        }
        let share = policy.bytes() as f64 / (8192.0 * 8192.0);
        assert!(share < 0.04, "{name}: {share}");
    }
}
