//! A newcomer's first minute: what augurfs does, shown on a small tree on a device that is slow on purpose.
//!
//! One real job runs four times over the same tree: cold without augurfs, through augurfs for the first and the second time, and
//! hot. Every phase that must be cold has the device mounted afresh. Whatever happens, Ctrl-C included, nothing is left behind.

mod error;
mod job;
mod stage;

pub use error::DemoError;

use crate::config::{show_bytes, show_duration};
use crate::fuse::slow::SlowTree;
use crate::run::{check, signals};
use crate::stats::Report;
use job::Job;
use stage::Stage;
use std::io::Write;
use std::time::Duration;

/// Large enough that a cold run takes seconds, small enough that all runs together stay far below a minute.
const FILES: usize = 600;
const BYTES: usize = 6 << 20;
/// A server in the same city; about three requests a file make a cold run of some four seconds.
const LATENCY: Duration = Duration::from_millis(2);
/// Tries at a hot run that finds everything in memory.
const TRIES: usize = 5;
/// Any seed does; this one makes every demonstration the same.
const SEED: u64 = 2;

/// One run of the job.
struct Run {
    time: Duration,
    /// What reached the slow device.
    requests: u64,
}

/// What the four runs came to.
struct Outcome {
    cold: Run,
    hot: Run,
    second: Run,
    report: Report,
}

/// Shows it all, telling the story to `out` as it goes.
///
/// # Errors
/// FUSE may not be used here, something could not be mounted, or the user broke it off. Nothing is left behind.
pub fn run(out: &mut dyn Write) -> Result<(), DemoError> {
    check::fuse()?;
    let (tell, wishes) = crossbeam_channel::bounded(4);
    let _watch = signals::watch(tell)?;
    let tree = SlowTree::generate(SEED, FILES, BYTES);
    let job = Job::best_here(wishes);
    writeln!(
        out,
        "A tree of {} files, {}, on a device that takes {} for every request.\nThe job: {job}\n",
        tree.files(),
        show_bytes(tree.bytes()),
        show_duration(LATENCY)
    )?;
    let outcome = act(out, &Stage::set(tree, LATENCY)?, &job)?;
    conclude(out, &outcome)?;
    Ok(())
}

fn act(out: &mut dyn Write, stage: &Stage, job: &Job) -> Result<Outcome, DemoError> {
    let (cold, hot) = without(stage, job)?;
    line(out, "cold, without augurfs", &cold)?;
    let (first, _) = with(stage, job)?;
    line(out, "the first time through augurfs", &first)?;
    let (second, report) = with(stage, job)?;
    line(out, "the second time", &second)?;
    line(out, "hot: everything in memory", &hot)?;
    Ok(Outcome { cold, hot, second, report })
}

/// Twice on the device itself: what was read the first time is in memory the second.
fn without(stage: &Stage, job: &Job) -> Result<(Run, Run), DemoError> {
    let device = stage.device()?;
    let cold = Run { time: job.run(stage.source())?, requests: device.requests() };
    let hot = || -> Result<Run, DemoError> {
        let before = device.requests();
        Ok(Run { time: job.run(stage.source())?, requests: device.requests() - before })
    };
    let mut best = hot()?;
    // Somebody else on this machine may have emptied the memory meanwhile.
    for _ in 1..TRIES {
        if best.requests == 0 {
            break;
        }
        best = hot()?;
    }
    Ok((cold, best))
}

/// Once through augurfs, which keeps its model on the stage from one time to the next.
fn with(stage: &Stage, job: &Job) -> Result<(Run, Report), DemoError> {
    let device = stage.device()?;
    let mirror = stage.mirror()?;
    let before = device.requests();
    let time = job.run(stage.mountpoint())?;
    let run = Run { time, requests: device.requests() - before };
    let report = mirror.report()?;
    mirror.unmount()?;
    Ok((run, report))
}

fn line(out: &mut dyn Write, what: &str, run: &Run) -> std::io::Result<()> {
    writeln!(
        out,
        "  {what:<32} {:>6.2} s   {:>5} requests to the device",
        run.time.as_secs_f64(),
        run.requests
    )?;
    out.flush()
}

fn conclude(out: &mut dyn Write, outcome: &Outcome) -> std::io::Result<()> {
    if outcome.hot.requests > 0 {
        writeln!(out, "\nSomething else on this machine empties its memory: try again when it is quieter.")?;
    } else {
        let percent = 100.0 * gap_closed(&outcome.cold, &outcome.second, &outcome.hot);
        writeln!(out, "\nOf the time between cold and hot, the second run saved {percent:.0} %.")?;
    }
    let (opens, ahead) = (&outcome.report.opens, &outcome.report.prefetch);
    writeln!(
        out,
        "In the second run {} of {} opens found everything in memory, {} some of it, {} nothing.",
        opens.hit, opens.total, opens.partial, opens.miss
    )?;
    writeln!(
        out,
        "Fetched ahead: {} files, {}; in time {}, late {}, not used {}.",
        ahead.files,
        show_bytes(ahead.bytes),
        ahead.files_in_time,
        ahead.files_late,
        ahead.files.saturating_sub(ahead.files_in_time + ahead.files_late)
    )?;
    writeln!(
        out,
        "\nNothing is left behind. For a tree of yours: augurfs SOURCE MOUNTPOINT (see augurfs --help)"
    )
}

/// The share of what can be won that was won.
fn gap_closed(cold: &Run, run: &Run, hot: &Run) -> f64 {
    let gap = cold.time.as_secs_f64() - hot.time.as_secs_f64();
    if gap > 0.0 { (cold.time.as_secs_f64() - run.time.as_secs_f64()) / gap } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(millis: u64) -> Run {
        Run { time: Duration::from_millis(millis), requests: 0 }
    }

    #[test]
    fn the_gap_is_between_cold_and_hot() {
        assert!((gap_closed(&run(1100), &run(300), &run(100)) - 0.8).abs() < 1e-9);
        assert!(gap_closed(&run(1100), &run(1200), &run(100)) < 0.0);
        assert_eq!(gap_closed(&run(100), &run(100), &run(100)), 0.0);
    }

    #[test]
    fn the_story_is_told_in_numbers() {
        let mut report = Report::default();
        report.opens.total = 600;
        report.opens.hit = 590;
        let outcome = Outcome { cold: run(4000), hot: run(0), second: run(1000), report };
        let mut told = Vec::new();
        conclude(&mut told, &outcome).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("the second run saved 75 %."), "{told}");
        assert!(told.contains("590 of 600 opens found everything in memory"), "{told}");
    }
}
