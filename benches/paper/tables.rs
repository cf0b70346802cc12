//! Tables as the papers print them: means with 90 % intervals, in Markdown.
//!
//! What must stay true: a row with an objection (`hygiene`) has no figures.

use std::fmt::Write as _;

use crate::common::median;
use crate::hygiene;
use crate::journal::{Journal, Sample};

/// Quantiles 0.95 of Student's distribution for 1 to 30 degrees of freedom; beyond, the normal one.
const STUDENT: [f64; 30] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
    1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
];
const NORMAL: f64 = 1.645;

/// Mean and half of the 90 % interval; no interval of a single value.
pub(crate) fn interval(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return Some((mean, None));
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let student = STUDENT.get(values.len() - 2).copied().unwrap_or(NORMAL);
    Some((mean, Some(student * (variance / count).sqrt())))
}

fn show(values: impl Iterator<Item = f64>, digits: usize) -> String {
    match interval(&values.collect::<Vec<_>>()) {
        None => "-".into(),
        Some((mean, None)) => format!("{mean:.digits$}"),
        Some((mean, Some(half))) => format!("{mean:.digits$} ±{half:.digits$}"),
    }
}

/// The share of what can be won that an arm has won: (cold - arm) / (cold - hot), of medians.
pub(crate) fn gap_closed(journal: &Journal, job: &str, arm: &str) -> Option<f64> {
    let elapsed = |arm: &str| median(journal.of(job, arm).iter().map(|sample| sample.elapsed));
    let hot = elapsed("native hot").or_else(|| elapsed("vmtouch"))?;
    let cold = elapsed("native")?;
    (!matches!(arm, "native" | "native again" | "native hot") && cold > hot)
        .then_some((cold - elapsed(arm)?) / (cold - hot))
}

/// The whole table.
pub(crate) fn render(journal: &Journal) -> String {
    let setting = journal.setting();
    let mut text = format!("### {}, device {}\n\n", setting.table, setting.device);
    let machine = &setting.machine;
    let _ = writeln!(
        text,
        "{} processors, {} GiB, Linux {}, augurfs {}, seed {}, scale {}, {}. Means with 90 % intervals.\n",
        machine.processors,
        machine.memory_gib,
        machine.kernel,
        machine.augurfs,
        setting.seed,
        setting.scale,
        machine.date
    );
    let mut jobs: Vec<String> = journal.rows().into_iter().map(|(job, _)| job).collect();
    jobs.dedup();
    for job in &jobs {
        one_job(&mut text, journal, job);
    }
    for (what, why) in journal.skipped() {
        let _ = writeln!(text, "- {what}: skipped, {why}");
    }
    for (label, said) in crate::published::lines(&setting.table) {
        let _ = writeln!(text, "- Published, {label}: {said}.");
    }
    text
}

fn one_job(text: &mut String, journal: &Journal, job: &str) {
    let _ = writeln!(
        text,
        "**{job}**\n\n| arm | runs | elapsed s | compute s | daemon CPU s | read us | calls | hits | partials | misses | device reads | MB read | gap closed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for (_, arm) in journal.rows().into_iter().filter(|(of, _)| of == job) {
        let samples = journal.of(job, &arm);
        match hygiene::objection(journal, job, &arm) {
            Some(objection) => {
                let _ = writeln!(
                    text,
                    "| {arm} | {} | not printed: {objection} | | | | | | | | | | |",
                    samples.len()
                );
            }
            None => row(text, journal, job, &arm, &samples),
        }
    }
    text.push('\n');
    own_figures(text, journal, job);
    if let Some(warning) = hygiene::twins(journal, job) {
        let _ = writeln!(text, "- {job}: {warning}");
    }
    let runs =
        journal.rows().iter().filter(|(of, _)| of == job).map(|(_, arm)| journal.of(job, arm).len()).min();
    if runs.is_some_and(|runs| runs < 20) {
        let _ = writeln!(
            text,
            "- {job}: {} run(s) an arm: a smoke test, not a published table",
            runs.unwrap_or(0)
        );
    }
    text.push('\n');
}

fn row(text: &mut String, journal: &Journal, job: &str, arm: &str, samples: &[&Sample]) {
    let reads = |of: fn(&crate::reads::Reads) -> f64, digits| {
        let counted =
            samples.iter().filter_map(|sample| sample.reads.as_ref()).filter(|reads| reads.calls > 0);
        show(counted.map(of), digits)
    };
    let gap = gap_closed(journal, job, arm).map_or("-".into(), |gap| format!("{:.0} %", gap * 100.0));
    let before = samples.iter().filter_map(|sample| sample.beforehand);
    let mut elapsed = show(samples.iter().map(|sample| sample.elapsed), 3);
    if let Some(before) = median(before) {
        let _ = write!(elapsed, " (and {before:.3} beforehand)");
    }
    let _ = writeln!(
        text,
        "| {arm} | {} | {elapsed} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {gap} |",
        samples.len(),
        show(samples.iter().map(|sample| sample.compute), 2),
        show(samples.iter().filter_map(|sample| sample.daemon_cpu), 2),
        reads(|reads| reads.mean_us, 0),
        reads(|reads| reads.calls as f64, 0),
        reads(|reads| reads.hits as f64, 0),
        reads(|reads| reads.partials as f64, 0),
        reads(|reads| reads.misses as f64, 0),
        show(samples.iter().map(|sample| sample.device.reads as f64), 0),
        show(samples.iter().map(|sample| sample.device.read_bytes as f64 / 1e6), 1),
    );
}

/// What the job measured itself, what augurfs fetched, and rate per processor.
fn own_figures(text: &mut String, journal: &Journal, job: &str) {
    for (_, arm) in journal.rows().into_iter().filter(|(of, _)| of == job) {
        if hygiene::objection(journal, job, &arm).is_some() {
            continue;
        }
        let samples = journal.of(job, &arm);
        let mut parts: Vec<String> = Vec::new();
        for name in
            samples.iter().flat_map(|sample| sample.own.keys()).collect::<std::collections::BTreeSet<_>>()
        {
            parts
                .push(format!("{name} {}", show(samples.iter().filter_map(|s| s.own.get(name).copied()), 3)));
        }
        if let Some(rate) = median(samples.iter().filter_map(|s| s.own.get("MB/s").copied())) {
            let share = |s: &&Sample| (s.compute + s.daemon_cpu.unwrap_or(0.0)) / s.elapsed.max(1e-9);
            let used = median(samples.iter().map(share)).unwrap_or(0.0);
            parts.push(format!("CPU {:.0} %, {:.1} MB/s per CPU", used * 100.0, rate / used.max(1e-3)));
        }
        let figure = |pointer: &str| {
            median(samples.iter().filter_map(|s| s.stats.as_ref()?.pointer(pointer)?.as_f64()))
        };
        if let Some(bytes) = figure("/prefetch/bytes").filter(|bytes| *bytes > 0.0) {
            let mega = |pointer| figure(pointer).unwrap_or(0.0) / 1e6;
            parts.push(format!(
                "prefetched {:.1} MB: used {:.1}, late {:.1}, wasted {:.1}; opens hit/partial/miss {:.0}/{:.0}/{:.0}",
                bytes / 1e6,
                mega("/prefetch/used_bytes"),
                mega("/prefetch/late_bytes"),
                mega("/prefetch/wasted_bytes"),
                figure("/opens/hit").unwrap_or(0.0),
                figure("/opens/partial").unwrap_or(0.0),
                figure("/opens/miss").unwrap_or(0.0),
            ));
        }
        if let Some(misses) = figure("/own_cache/misses") {
            parts.push(format!(
                "own cache: {misses:.0} misses, {:.0} hits",
                figure("/own_cache/hits").unwrap_or(0.0)
            ));
        }
        if !parts.is_empty() {
            let _ = writeln!(text, "- {job}, {arm}: {}", parts.join("; "));
        }
    }
}
