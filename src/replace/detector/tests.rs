//! The verdicts on five traces, as another implementation of the same rules (in Python) has them.

use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

const REFERENCES: u64 = 40_000;

/// Python's generator (MT19937, 53 bits), so that the traces are the very same.
struct Twister {
    state: Vec<u32>,
    at: usize,
}

impl Twister {
    fn new(seed: u32) -> Self {
        let mut state = vec![19_650_218u32; 624];
        let mix = |before: u32| before ^ (before >> 30);
        for i in 1..624u32 {
            state[i as usize] = mix(state[i as usize - 1]).wrapping_mul(1_812_433_253).wrapping_add(i);
        }
        let mut i = 1;
        for _ in 0..624 {
            state[i] = (state[i] ^ mix(state[i - 1]).wrapping_mul(1_664_525)).wrapping_add(seed);
            i += 1;
            if i == 624 {
                state[0] = state[623];
                i = 1;
            }
        }
        for _ in 0..623 {
            state[i] = (state[i] ^ mix(state[i - 1]).wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i += 1;
            if i == 624 {
                state[0] = state[623];
                i = 1;
            }
        }
        state[0] = 0x8000_0000;
        Twister { state, at: 624 }
    }

    fn word(&mut self) -> u32 {
        if self.at == 624 {
            for i in 0..624 {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn next(&mut self) -> f64 {
        let (a, b) = (self.word() >> 5, self.word() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }
}

/// Zipf with skew 0.9 over 2,000 blocks, then an LRU stack of 2,000 with depths by Pareto's law of 0.6.
fn thrown() -> (Vec<u64>, Vec<u64>) {
    let mut dice = Twister::new(1);
    let mut sum = 0.0;
    let shares: Vec<f64> = (0..2000)
        .map(|rank| {
            sum += 1.0 / f64::from(rank + 1).powf(0.9);
            sum
        })
        .collect();
    let zipf = (0..REFERENCES)
        .map(|_| {
            let throw = dice.next() * sum;
            shares.partition_point(|&share| share <= throw).min(1999) as u64
        })
        .collect();
    let mut stack: Vec<u64> = (0..2000).collect();
    let clustered = (0..REFERENCES)
        .map(|_| {
            let depth = (1.0 - dice.next()).powf(-1.0 / 0.6) as usize - 1;
            let block = stack.remove(depth.min(1999));
            stack.insert(0, block);
            block
        })
        .collect();
    (zipf, clustered)
}

fn verdicts(rules: Rules, trace: impl IntoIterator<Item = u64>) -> BTreeMap<&'static str, u32> {
    let mut detector = Detector::new(rules, 500, 5);
    let mut verdicts = BTreeMap::new();
    for verdict in trace.into_iter().filter_map(|block| detector.refer(Block(block))) {
        *verdicts.entry(verdict.as_str()).or_default() += 1;
    }
    verdicts
}

#[test]
fn a_scan_is_sequential_throughout() {
    for rules in [Rules::Strict, Rules::Rank] {
        assert_eq!(verdicts(rules, 0..REFERENCES), BTreeMap::from([("sequential", 79)]));
    }
}

#[test]
fn a_loop_is_found_from_its_second_lap_on() {
    for rules in [Rules::Strict, Rules::Rank] {
        let long = verdicts(rules, (0..REFERENCES).map(|at| at % 1100));
        assert_eq!(long, BTreeMap::from([("sequential", 1), ("looping", 78)]));
        let short = verdicts(rules, (0..REFERENCES).map(|at| at % 300));
        assert_eq!(short, BTreeMap::from([("looping", 79)]));
    }
}

#[test]
fn strict_rules_leave_noisy_patterns_undecided() {
    let (zipf, clustered) = thrown();
    assert_eq!(verdicts(Rules::Strict, zipf), BTreeMap::from([("undecided", 67), ("clustered", 12)]));
    let clustered = verdicts(Rules::Strict, clustered);
    assert_eq!(clustered, BTreeMap::from([("undecided", 67), ("clustered", 11), ("probabilistic", 1)]));
}

#[test]
fn ranks_tell_noisy_patterns_apart() {
    let (zipf, clustered) = thrown();
    let zipf = verdicts(Rules::Rank, zipf);
    assert_eq!(zipf, BTreeMap::from([("probabilistic", 58), ("clustered", 15), ("undecided", 6)]));
    let clustered = verdicts(Rules::Rank, clustered);
    assert_eq!(clustered, BTreeMap::from([("clustered", 76), ("probabilistic", 2), ("undecided", 1)]));
}

proptest! {
    /// The attributes of a period's blocks are what looking through the whole trace says.
    #[test]
    fn attributes_are_what_the_trace_says(trace in prop::collection::vec(0..20u64, 1..60)) {
        let period = 10;
        let mut detector = Detector::new(Rules::Rank, 10, 5);
        for (at, &block) in trace.iter().enumerate() {
            if (at + 1) % period != 0 {
                detector.refer(Block(block));
                let start = at - at % period;
                let mut seen = Vec::new();
                for (place, &block) in trace[start..=at].iter().enumerate() {
                    if trace[start..start + place].contains(&block) {
                        continue;
                    }
                    let before = &trace[..start];
                    let past = before.iter().rposition(|&other| other == block).map(|last| {
                        let count = before.iter().filter(|&&other| other == block).count();
                        ((start - last) as u64, count as u32)
                    });
                    let distance = past.and_then(|past| NonZeroU64::new(past.0));
                    let count = past.map_or(0, |past| past.1);
                    seen.push(Seen { distance, count, forward: place as u32 + 1 });
                }
                prop_assert_eq!(&detector.seen, &seen);
            } else {
                detector.refer(Block(block));
                prop_assert!(detector.seen.is_empty());
            }
        }
    }
}
