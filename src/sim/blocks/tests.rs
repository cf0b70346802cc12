//! Golden counts, and what is asked of the default policy.

use super::*;

/// 1 to 8 MiB.
fn sizes() -> Vec<u64> {
    (1..=8).map(|mb| mb << 20).collect()
}

fn trace(words: &str) -> BlockTrace {
    words.parse::<BlockRecipe>().unwrap().generate(1)
}

fn misses(trace: &BlockTrace, policy: &str) -> Vec<u64> {
    let policy = policy.parse().unwrap();
    sizes().iter().map(|bytes| trace.misses(policy, (bytes / BLOCK_SIZE) as usize)).collect()
}

#[test]
fn lines_are_read() {
    let read = BlockTrace::read("t", "# program file block\nsort a 0\n\nwc b 7\nsort a 1\n").unwrap();
    assert_eq!(read.programs, ["sort", "wc"]);
    let reference = |owner, file, index| Reference { owner: ProgramId(owner), block: Block::of(file, index) };
    assert_eq!(read.references, [reference(0, 0, 0), reference(1, 1, 7), reference(0, 0, 1)]);
    for (text, line) in [("sort a", 1), ("sort a 0\nsort a x", 2), ("sort a 0 1", 1), ("a b -1", 1)] {
        assert_eq!(BlockTrace::read("t", text), Err(BlockLineError { line }));
    }
}

#[test]
fn recipes_are_read() {
    let recipe: BlockRecipe = "loop:100+scan".parse().unwrap();
    assert_eq!(recipe.to_string(), "loop:100+scan");
    let made = recipe.generate(3);
    assert_eq!(made.programs, ["loop", "scan"]);
    assert_eq!(made.references.len(), 80_000);
    assert_eq!(made, recipe.generate(3));
    assert!(
        "lop"
            .parse::<BlockRecipe>()
            .unwrap_err()
            .to_string()
            .starts_with("unknown shape 'lop': known are loop,")
    );
    assert!("loop:1".parse::<BlockRecipe>().unwrap_err().to_string().contains("from 16 to 1000000"));
}

/// Popular blocks and a loop at the same time; at eight sizes.
#[test]
fn golden_miss_counts() {
    let mut mix = trace("zipf:3000+cscope");
    mix.references.truncate(12_000);
    let golden = [
        ("lru", [10172, 9640, 9338, 9099, 8926, 8799, 8677, 8568]),
        ("fifo", [10438, 9937, 9646, 9428, 9246, 9124, 9010, 8893]),
        ("lru-seq", [10132, 9583, 9286, 9042, 8866, 8738, 8617, 8044]),
        ("dear:strict", [9994, 9207, 8585, 8017, 7529, 7050, 6546, 5981]),
        ("dear", [9515, 8743, 8156, 7613, 7150, 6712, 6213, 5717]),
        ("arc", [9186, 8799, 8592, 8461, 8361, 8280, 8209, 8150]),
        ("s3fifo", [9584, 9195, 8959, 8824, 8670, 8579, 8515, 8429]),
        ("sieve", [9270, 8935, 8662, 8500, 8406, 8305, 8251, 8186]),
        ("default", [9025, 8583, 8127, 7715, 7231, 6716, 6205, 5695]),
    ];
    for (policy, counts) in golden {
        assert_eq!(misses(&mix, policy), counts, "{policy}");
    }
    let opt: Vec<_> = sizes().iter().map(|bytes| mix.least_misses((bytes / BLOCK_SIZE) as usize)).collect();
    assert_eq!(opt, [8288, 7683, 7171, 6659, 6147, 5635, 5123, 4611]);
}

/// A cache of 6 MiB, the published one, in blocks; and one of 2 MiB.
const PUBLISHED: usize = 768;
const SMALL: usize = 256;
const SINGLE: [&str; 7] = ["cscope", "glimpse", "sort", "link", "cpp", "gnuplot", "join"];
const TOGETHER: [&str; 5] = ["cscope+sort", "glimpse+link", "cscope+wc", "glimpse+wc", "cscope+sort+link"];

/// The mean of the misses with each policy, in proportion to those with LRU.
fn means<const N: usize>(words: &[&str], rooms: &[usize], policies: [&str; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    for trace in words.iter().map(|words| trace(words)) {
        for &room in rooms {
            let lru = trace.misses(Policy::Lru, room) as f64;
            for (sum, policy) in sums.iter_mut().zip(policies) {
                *sum += trace.misses(policy.parse().unwrap(), room) as f64 / lru;
            }
        }
    }
    sums.map(|sum| sum / (words.len() * rooms.len()) as f64)
}

#[test]
fn dear_saves_what_was_published() {
    let rooms = [PUBLISHED];
    assert!(means(&SINGLE, &rooms, ["dear"])[0] <= 1.0 - 0.23);
    assert!(means(&TOGETHER, &rooms, ["dear"])[0] <= 1.0 - 0.12);
    assert_eq!(means(&["link"], &rooms, ["dear", "default"]), [1.0; 2], "what fits is read once in any case");
}

#[test]
fn the_default_is_the_best_on_the_average() {
    let all: Vec<_> = SINGLE.into_iter().chain(TOGETHER).collect();
    let policies = ["default", "lru-seq", "dear:strict", "dear", "arc", "s3fifo", "sieve"];
    let means = means(&all, &[SMALL, PUBLISHED], policies);
    assert!(means.iter().all(|&mean| means[0] <= mean && means[0] < 1.0), "{policies:?} {means:?}");
}

#[test]
fn the_default_is_near_the_limit_on_loops() {
    for words in ["loop", "cscope", "gnuplot"] {
        let trace = trace(words);
        for room in [256, 512, 768, 1000] {
            let (default, least) = (trace.misses(Policy::Default, room), trace.least_misses(room));
            assert!(default as f64 <= 1.15 * least as f64, "{words} {room}: {default}, at least {least}");
        }
    }
}
