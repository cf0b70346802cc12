//! The cases: a small generator, and what it does to bytes.

use std::sync::Once;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Cases of each test, unless the environment says more.
const CASES: u64 = 1_500;
/// Address space for everything in this process: threads, engines and inputs take a part of it.
const SPACE: u64 = 3 << 29;

/// SplitMix64, by Sebastiano Vigna: tiny, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`, or 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.next() % limit as u64) as usize }
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a test on mutations of the seeds.
pub(crate) fn cases(seeds: &[Vec<u8>], share: u64, mut test: impl FnMut(&[u8])) {
    static LIMIT: Once = Once::new();
    LIMIT.call_once(|| {
        setrlimit(Resource::As, Rlimit { current: Some(SPACE), maximum: Some(SPACE) }).unwrap()
    });
    let mut random = Random(number("AUGURFS_FUZZ_SEED", 1));
    for seed in seeds {
        test(seed);
    }
    for _ in 0..number("AUGURFS_FUZZ_CASES", CASES) / share {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, seeds, &mut random);
        }
        test(&bytes);
    }
}

/// Numbers that are wrong more often than others, as varints or as they are.
const NASTY: [&[u8]; 6] =
    [&[0], &[0x7f], &[0xff; 4], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 10], &[0x80, 0x80, 0x80, 0x80, 1]];

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    let end = bytes.len().min(at + 1 + random.below(24));
    match random.below(7) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        2 => {
            bytes.drain(at..end);
        }
        3 => bytes.truncate(at),
        4 => {
            let piece = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        5 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            let piece = &other[from..other.len().min(from + 1 + random.below(64))];
            bytes.splice(at..at, piece.iter().copied());
        }
        _ => {
            let nasty = NASTY[random.below(NASTY.len())];
            bytes.splice(at..end, nasty.iter().copied());
        }
    }
}
