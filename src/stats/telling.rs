//! A report in words: a few sentences that say how things stand, then small tables. For people; scripts take the JSON.

use super::Verdict;
use super::report::{Opens, Prefetch, Program, Report, RequestTimes, Standing};
use super::restraint::{Drops, Restraint};
use crate::config::{show_bytes, show_duration};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Programs and kinds of request shown; the JSON has them all.
const MOST_ROWS: usize = 10;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        verdict(f, &Verdict::of(self))?;
        writeln!(f, "\n{}", self.standing.to_string().trim_end())?;
        super::own::tell(f, self.standing.own_cache.as_ref())?;
        opens(f, &self.opens)?;
        prefetch(f, self)?;
        changes(f, self)?;
        programs(f, &self.programs)?;
        requests(f, self)
    }
}

impl Display for Standing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let up = show_duration(Duration::from_secs(self.uptime_s));
        writeln!(
            f,
            "{} mirrors {} since {up} (augurfs {}, process {}).",
            self.mountpoint, self.source, self.version, self.pid
        )?;
        writeln!(f, "Data path: {}, because {}.", self.path.active, self.path.reason)?;
        let passthrough = if self.passthrough.active { "on" } else { "off" };
        writeln!(f, "Kernel passthrough: {passthrough}, because {}.", self.passthrough.reason)?;
        let watch = if self.watch.active { "watched" } else { "not watched" };
        writeln!(f, "Source: {watch}, because {}.", self.watch.reason)?;
        let p = &self.predictor;
        writeln!(
            f,
            "Predictor {} knows {} files ({} entries, {} of memory); the daemon holds {} of memory.",
            p.name,
            p.files,
            p.nodes,
            show_bytes(p.bytes),
            show_bytes(self.memory.rss_bytes)
        )?;
        model(f, self)
    }
}

fn model(f: &mut Formatter<'_>, standing: &Standing) -> fmt::Result {
    match (&standing.model.path, standing.model.saved_at) {
        (None, _) => writeln!(f, "The model is kept in memory only."),
        (Some(path), None) => writeln!(f, "The model will be saved in {path}."),
        (Some(path), Some(at)) => writeln!(f, "The model is in {path}, saved {} ago.", ago(at)),
    }
}

/// Time since a moment given in seconds since 1970.
fn ago(at: u64) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    show_duration(Duration::from_secs(now.as_secs().saturating_sub(at)))
}

fn opens(f: &mut Formatter<'_>, opens: &Opens) -> fmt::Result {
    if opens.total == 0 {
        return writeln!(f, "\nNo file has been opened yet.");
    }
    let unknown = opens.total - (opens.hit + opens.partial + opens.miss).min(opens.total);
    write!(
        f,
        "\nOf {} opens, {} found everything in memory, {} part of it, {} nothing",
        opens.total,
        share(opens.hit, opens.total),
        opens.partial,
        opens.miss
    )?;
    match unknown {
        0 => writeln!(f, "."),
        n => writeln!(f, "; {n} were not looked at."),
    }
}

fn prefetch(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let p = &report.prefetch;
    if p.jobs == 0 {
        return writeln!(f, "Nothing has been fetched ahead yet.");
    }
    if let Some(own) = &report.standing.own_cache {
        return super::own::fate(f, own, p.jobs, report.standing.memory.budget_bytes);
    }
    writeln!(
        f,
        "Fetched ahead: {} files, {}, by {} jobs (budget {}).",
        p.files,
        show_bytes(p.bytes),
        p.jobs,
        show_bytes(report.standing.memory.budget_bytes)
    )?;
    fate(f, p)?;
    restraint(f, &report.restraint)
}

fn restraint(f: &mut Formatter<'_>, restraint: &Restraint) -> fmt::Result {
    let (s, d) = (&restraint.savings, &restraint.dropped);
    writeln!(
        f,
        "\nTo compare: requests waited {:.1} s for {} files that were not fetched ahead; {} were held back for that.",
        s.waited_us as f64 / 1e6,
        s.unhelped_files,
        s.held_back_files
    )?;
    if *d != Drops::default() {
        writeln!(
            f,
            "Dropped: {} jobs whose file had gone, {} whose user may not read it, {} whose file was something else, {} by errors.",
            d.vanished, d.forbidden, d.changed, d.faulty
        )?;
    }
    if restraint.budget_cuts + restraint.evicted_files + restraint.released_bytes > 0 {
        writeln!(
            f,
            "Memory was short: budget cut {} times, {} files gone before their use, {} let go behind walks.",
            restraint.budget_cuts,
            restraint.evicted_files,
            show_bytes(restraint.released_bytes)
        )?;
    }
    Ok(())
}

fn fate(f: &mut Formatter<'_>, p: &Prefetch) -> fmt::Result {
    writeln!(f, "\n  {:<12} {:>8} {:>9}", "", "files", "bytes")?;
    let rows = [
        ("in time", p.files_in_time, p.used_bytes),
        ("late", p.files_late, p.late_bytes),
        ("wasted", p.files_wasted, p.wasted_bytes),
    ];
    for (name, files, bytes) in rows {
        writeln!(f, "  {name:<12} {files:>8} {:>9}", show_bytes(bytes))?;
    }
    writeln!(f, "  {:<12} {:>8}", "waiting", p.files_waiting)?;
    writeln!(f, "  {:<12} {:>8} {:>9}", "on the way", "", show_bytes(p.in_flight_bytes))
}

fn verdict(f: &mut Formatter<'_>, verdict: &Verdict) -> fmt::Result {
    writeln!(f, "On?     {}.\nSaved?  {}.\nCost?   {}.", verdict.on, verdict.saved, verdict.cost)?;
    if verdict.wrong.is_empty() {
        return writeln!(f, "Wrong?  nothing.");
    }
    verdict.wrong.iter().try_for_each(|what| writeln!(f, "Wrong?  {what}."))
}

fn changes(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let scans = report.standing.scans;
    if scans.seen > 0 {
        writeln!(
            f,
            "\n{} scans over very many files were seen ({} go on, {} accesses): jobs are not disturbed by them.",
            scans.seen, scans.running, scans.accesses
        )?;
    }
    if report.invalidations > 0 {
        writeln!(f, "\nThe source changed below the mount: {} things were forgotten.", report.invalidations)?;
    }
    Ok(())
}

fn programs(f: &mut Formatter<'_>, programs: &[Program]) -> fmt::Result {
    if programs.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n  {:<16} {:>8} {:>8} {:>8} {:>8}", "program", "opens", "hit", "partial", "miss")?;
    for p in programs.iter().take(MOST_ROWS) {
        let line = format!(
            "  {:<16} {:>8} {:>8} {:>8} {:>8}  {}",
            p.name, p.opens, p.hit, p.partial, p.miss, p.pattern
        );
        writeln!(f, "{}", line.trim_end())?;
    }
    more(f, programs.len())
}

fn requests(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.requests.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<(&String, &RequestTimes)> = report.requests.iter().collect();
    rows.sort_by_key(|(_, times)| std::cmp::Reverse(times.count));
    writeln!(f, "\n  {:<16} {:>8} {:>8} {:>8}   (microseconds)", "request", "count", "p50", "p99")?;
    for (name, times) in rows.iter().take(MOST_ROWS) {
        writeln!(f, "  {name:<16} {:>8} {:>8.1} {:>8.1}", times.count, times.p50, times.p99)?;
    }
    more(f, rows.len())
}

fn more(f: &mut Formatter<'_>, rows: usize) -> fmt::Result {
    if rows > MOST_ROWS { writeln!(f, "  and {} more", rows - MOST_ROWS) } else { Ok(()) }
}

/// `12 (60%)`.
fn share(part: u64, whole: u64) -> String {
    format!("{part} ({:.0}%)", 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
