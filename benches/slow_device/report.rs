//! What a user of the bench reads: one line an arm, medians over the rounds.
//!
//! Gap closed = (cold - x) / (cold - hot), with the native arms as cold and hot.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::arms::{Arm, Sample};
use crate::common::median;

/// A whole measurement, as written to `--json`.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) device: &'a str,
    pub(crate) job: &'a str,
    pub(crate) seed: u64,
    pub(crate) size_bytes: u64,
    pub(crate) rounds: usize,
    pub(crate) gap_closed_first: Option<f64>,
    pub(crate) gap_closed_second: Option<f64>,
    pub(crate) samples: &'a [Sample],
}

const ARMS: [(Arm, &str); 6] = [
    (Arm::NativeCold, "cold native"),
    (Arm::First, "first run"),
    (Arm::Second, "second run"),
    (Arm::Off, "prefetching off"),
    (Arm::MountHot, "hot, mounted"),
    (Arm::NativeHot, "hot native"),
];

/// The table for the terminal.
pub(crate) fn table(samples: &[Sample]) -> String {
    let mut text = format!(
        "{:<16} {:>9} {:>19} {:>7} {:>8} {:>9} {:>7} {:>8} {:>20} {:>24}\n",
        "",
        "seconds",
        "min..max",
        "gap",
        "reads",
        "MB read",
        "writes",
        "our CPU",
        "hit/partial/miss",
        "MB used/late/wasted"
    );
    for (arm, title) in ARMS {
        let of_arm: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == arm).collect();
        if !of_arm.is_empty() {
            text.push_str(&line(title, &of_arm, gap_closed(samples, arm)));
        }
    }
    text
}

/// One line of a table of jobs: cold, first, second, hot; gap closed by first and second; requests and MB read by
/// cold, first, second; seconds of the first and second run to those with prefetching off; our processor time in the
/// second run to that of the job, hot.
pub(crate) fn row(job: &str, device: &str, samples: &[Sample]) -> String {
    let of = |arm: Arm, value: &dyn Fn(&Sample) -> Option<f64>| {
        median(samples.iter().filter(|sample| sample.arm == arm).filter_map(value))
    };
    let seconds = |arm| of(arm, &|sample| Some(sample.seconds));
    let reads = |arm| of(arm, &|sample| Some(sample.device.reads as f64));
    let bytes = |arm| of(arm, &|sample| Some(sample.device.read_bytes as f64));
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
    let off = seconds(Arm::Off);
    let cpu = ratio(
        of(Arm::Second, &|sample| sample.daemon_cpu),
        of(Arm::NativeHot, &|sample| Some(sample.job_cpu)),
    );
    let arms = [Arm::NativeCold, Arm::First, Arm::Second, Arm::NativeHot];
    let cold = &arms[..3];
    let list = |values: Vec<String>| values.join(" / ");
    format!(
        "| {job} | {device} | {} | {} % | {} | {} | {} | {} % |",
        arms.map(|arm| show(seconds(arm), 1.0, 2)).join(" | "),
        list(arms[1..3].iter().map(|&arm| show(gap_closed(samples, arm), 0.01, 0)).collect()),
        list(cold.iter().map(|&arm| show(reads(arm), 1.0, 0)).collect()),
        list(cold.iter().map(|&arm| show(bytes(arm), 1e6, 0)).collect()),
        list(arms[1..3].iter().map(|&arm| show(ratio(seconds(arm), off), 1.0, 3)).collect()),
        show(cpu, 0.01, 0),
    )
}

fn line(title: &str, samples: &[&Sample], gap: Option<f64>) -> String {
    let middle = |of: &dyn Fn(&Sample) -> Option<f64>| median(samples.iter().filter_map(|sample| of(sample)));
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let range = format!(
        "{:.3}..{:.3}",
        seconds.iter().copied().fold(f64::INFINITY, f64::min),
        seconds.iter().copied().fold(0.0, f64::max)
    );
    let stats = |path: &'static str| middle(&|sample| number(sample.stats.as_ref(), path));
    let opens = [stats("/opens/hit"), stats("/opens/partial"), stats("/opens/miss")];
    let bytes =
        [stats("/prefetch/used_bytes"), stats("/prefetch/late_bytes"), stats("/prefetch/wasted_bytes")];
    format!(
        "{title:<16} {:>9} {range:>19} {:>7} {:>8} {:>9} {:>7} {:>8} {:>20} {:>24}\n",
        show(middle(&|sample| Some(sample.seconds)), 1.0, 3),
        show(gap, 0.01, 1) + if gap.is_some() { "%" } else { "" },
        show(middle(&|sample| Some(sample.device.reads as f64)), 1.0, 0),
        show(middle(&|sample| Some(sample.device.read_bytes as f64)), 1e6, 1),
        show(middle(&|sample| Some(sample.device.writes as f64)), 1.0, 0),
        show(middle(&|sample| sample.daemon_cpu), 1.0, 2),
        opens.map(|count| show(count, 1.0, 0)).join("/"),
        bytes.map(|count| show(count, 1e6, 1)).join("/"),
    )
}

fn show(value: Option<f64>, unit: f64, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{:.digits$}", value / unit))
}

fn number(stats: Option<&Value>, path: &str) -> Option<f64> {
    stats?.pointer(path)?.as_f64()
}

/// How much of what could be won an arm has won; none for the native arms themselves.
pub(crate) fn gap_closed(samples: &[Sample], arm: Arm) -> Option<f64> {
    let seconds =
        |of: Arm| median(samples.iter().filter(|sample| sample.arm == of).map(|sample| sample.seconds));
    if matches!(arm, Arm::NativeCold | Arm::NativeHot) {
        return None;
    }
    let (cold, hot) = (seconds(Arm::NativeCold)?, seconds(Arm::NativeHot)?);
    Some((cold - seconds(arm)?) / (cold - hot))
}

/// Writes the report as JSON.
pub(crate) fn write_json(report: &Report<'_>, path: &Path) -> anyhow::Result<()> {
    Ok(std::fs::write(path, serde_json::to_string_pretty(report)? + "\n")?)
}
