//! What a predictor costs: for each open, learning from it, the next file, and 16 predictions.
//!
//! ```text
//! cargo bench --bench predictors             the table, then criterion's comparison with the last time
//! cargo bench --bench predictors -- build    criterion only for what has "build" in its name
//! ```
//!
//! What must stay true: the mean is of whole passes without a clock in between, the least of three (other
//! work on the machine only ever adds); the percentile is of
//! single opens, the clock's own time (about 50 ns) included. Beginnings and ends of processes count
//! towards the mean.
#![allow(clippy::print_stdout, reason = "a command that reports on the terminal")]

mod trace;

use std::hint::black_box;
use std::time::{Duration, Instant};

use augurfs::config::PREDICTORS;
use augurfs::id::GroupId;
use augurfs::predict::{Prediction, Predictor, PredictorChoice};
use criterion::{Criterion, Throughput};

use trace::{Call, Maker};

const SEED: u64 = 1;
/// The first pass meets every file for the first time, the others know them.
const PASSES: u32 = 3;
/// Enough for the patterns of `epcm`, which grow by one file a pass, to be as long as they may.
const MANY_PASSES: u32 = 30;
/// Predictions pulled after each open.
const ROOM: usize = 16;

/// Passes of one job.
struct Job {
    name: &'static str,
    passes: Vec<Vec<Call>>,
}

impl Job {
    fn all() -> [Job; 3] {
        let mut maker = Maker::new(SEED);
        let mut passes = |count, make: &dyn Fn(&mut Maker, u32)| {
            (0..count)
                .map(|pass| {
                    make(&mut maker, pass);
                    maker.take()
                })
                .collect()
        };
        let build = |maker: &mut Maker, pass| maker.build(GroupId(pass));
        let walk = |maker: &mut Maker, pass| maker.traversals([0, 1].map(|job| GroupId(2 * pass + job)));
        [
            Job { name: "build", passes: passes(PASSES, &build) },
            Job { name: "traversals", passes: passes(PASSES, &walk) },
            Job { name: "many traversals", passes: passes(MANY_PASSES, &walk) },
        ]
    }
}

fn opens(calls: &[Call]) -> u64 {
    calls.iter().filter(|call| matches!(call, Call::Open(..))).count() as u64
}

/// What an open makes a predictor do.
fn open(predictor: &mut dyn Predictor, call: Call, out: &mut Vec<Prediction>) {
    match call {
        Call::Open(group, access) => {
            out.clear();
            black_box(predictor.observe(access));
            black_box(predictor.next(access.stream));
            predictor.predict(group, ROOM, out);
            black_box(&out);
        }
        Call::Begin(stream, origin) => predictor.begin(stream, &origin),
        Call::Exec(stream, program) => predictor.exec(stream, program),
        Call::End(stream) => predictor.end(stream),
        Call::EndGroup(group) => predictor.end_group(group),
    }
}

fn run(predictor: &mut dyn Predictor, calls: &[Call]) -> Duration {
    let mut out = Vec::with_capacity(ROOM);
    let start = Instant::now();
    calls.iter().for_each(|&call| open(predictor, call, &mut out));
    start.elapsed()
}

/// How long each open took, in ns.
fn times(predictor: &mut dyn Predictor, calls: &[Call], times: &mut Vec<u64>) {
    let mut out = Vec::with_capacity(ROOM);
    for &call in calls {
        let start = Instant::now();
        open(predictor, call, &mut out);
        let time = start.elapsed();
        if matches!(call, Call::Open(..)) {
            times.push(time.as_nanos() as u64);
        }
    }
}

fn choices() -> impl Iterator<Item = PredictorChoice> {
    PREDICTORS.iter().filter_map(|(name, _)| name.parse().ok())
}

/// One line for each predictor and job.
fn table(jobs: &[Job]) {
    println!("| predictor | job | mean, us | median, us | p99, us | max, us | bytes a known file |");
    println!("|---|---|---|---|---|---|---|");
    for choice in choices() {
        for job in jobs {
            println!("| `{choice}` | {} | {} |", job.name, line(choice, job));
        }
    }
}

fn line(choice: PredictorChoice, job: &Job) -> String {
    let whole = |predictor: &mut dyn Predictor| job.passes.iter().map(|pass| run(predictor, pass)).sum();
    let least: Option<Duration> = (0..3).map(|_| whole(choice.build().as_mut())).min();
    let opens: u64 = job.passes.iter().map(|pass| opens(pass)).sum();
    let mut predictor = choice.build();
    let mut single = Vec::with_capacity(opens as usize);
    job.passes.iter().for_each(|pass| times(predictor.as_mut(), pass, &mut single));
    single.sort_unstable();
    let us = |ns: u64| ns as f64 / 1000.0;
    let part = |share: f64| us(single[((single.len() - 1) as f64 * share) as usize]);
    let mean = us(least.unwrap_or_default().as_nanos() as u64) / opens as f64;
    let footprint = predictor.footprint();
    let bytes = footprint.bytes as f64 / footprint.files.max(1) as f64;
    format!("{mean:.2} | {:.2} | {:.2} | {:.0} | {bytes:.0}", part(0.5), part(0.99), part(1.0))
}

/// The last pass, with the others known.
fn compare(criterion: &mut Criterion, jobs: &[Job]) {
    for job in jobs {
        let mut group = criterion.benchmark_group(job.name);
        let (last, before) = (&job.passes[job.passes.len() - 1], &job.passes[..job.passes.len() - 1]);
        group.sample_size(10).throughput(Throughput::Elements(opens(last)));
        for choice in choices() {
            group.bench_function(choice.to_string(), |bencher| {
                bencher.iter_custom(|rounds| {
                    (0..rounds)
                        .map(|_| {
                            let mut predictor = choice.build();
                            before.iter().for_each(|pass| {
                                run(predictor.as_mut(), pass);
                            });
                            run(predictor.as_mut(), last)
                        })
                        .sum()
                });
            });
        }
        group.finish();
    }
}

fn main() {
    let jobs = Job::all();
    // cargo itself adds --bench.
    if std::env::args().skip(1).all(|word| word == "--bench") {
        table(&jobs);
    }
    let mut criterion = Criterion::default().configure_from_args();
    compare(&mut criterion, &jobs[..2]);
    criterion.final_summary();
}
