//! The four questions people have of a mount, answered from its report: is it on, what did it save, what did it cost, what is wrong.

use super::report::{Choice, Report};
use crate::config::{show_bytes, show_count};

/// Beyond one in so many, what fails or is lost is worth a word.
const WORTH_A_WORD: u64 = 20;
/// But not a handful.
const HANDFUL: u64 = 5;

/// The answers, each one line without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Is it on?
    pub on: String,
    /// What did it save?
    pub saved: String,
    /// What did it cost?
    pub cost: String,
    /// What is wrong; empty when nothing is.
    pub wrong: Vec<String>,
}

impl Verdict {
    /// The answers for a report.
    pub fn of(report: &Report) -> Self {
        Verdict { on: on(report), saved: saved(report), cost: cost(report), wrong: wrong(report) }
    }
}

impl Report {
    /// The counts on one line, for a log.
    pub fn line(&self) -> String {
        let (o, p) = (&self.opens, &self.prefetch);
        format!(
            "opens {} (hit {}, partial {}, miss {}), fetched ahead {} files, {}: used {}, late {}, wasted {}",
            o.total,
            o.hit,
            o.partial,
            o.miss,
            p.files,
            show_bytes(p.bytes),
            show_bytes(p.used_bytes),
            show_bytes(p.late_bytes),
            show_bytes(p.wasted_bytes)
        )
    }
}

fn on(report: &Report) -> String {
    let standing = &report.standing;
    let path = &standing.path.active;
    match standing.prefetching.active {
        true => {
            let on = format!("yes: it learns, and fetches ahead ({path} path, {} budget)", budget(report));
            match &report.restraint.turned_down {
                Choice { active: true, reason } => format!("{on}; turned down at the moment: {reason}"),
                _ => on,
            }
        }
        false => format!("no: nothing is fetched ahead, because {}", standing.prefetching.reason),
    }
}

fn budget(report: &Report) -> String {
    show_bytes(report.standing.memory.budget_bytes)
}

/// Things that were fetched ahead and used in time, and their bytes; in a cache of our own these are blocks.
fn used(report: &Report) -> (u64, &'static str, u64) {
    match &report.standing.own_cache {
        Some(own) => (own.counts.ahead_used, "block", own.counts.ahead_used * own.block_bytes),
        None => (report.prefetch.files_in_time, "file", report.prefetch.used_bytes),
    }
}

/// Bytes that nobody wanted, and all that were fetched ahead.
fn wasted(report: &Report) -> (u64, u64) {
    match &report.standing.own_cache {
        Some(own) => (own.counts.ahead_unused * own.block_bytes, own.counts.ahead * own.block_bytes),
        None => (report.prefetch.wasted_bytes, report.prefetch.bytes),
    }
}

fn saved(report: &Report) -> String {
    let ((count, thing, bytes), joined) = (used(report), report.prefetch.joined);
    let were = if count == 1 { "was" } else { "were" };
    let things = format!("{} ({}) {were} in memory when wanted", show_count(count, thing), show_bytes(bytes));
    let on_the_way = format!("{} found theirs on the way", show_count(joined, "request"));
    let found = match (count, joined) {
        (0, 0) if report.standing.predictor.files == 0 => {
            return "nothing yet: the first run of a job is learned, the second is faster".into();
        }
        (0, 0) => return "nothing yet".into(),
        (0, _) => on_the_way,
        (_, 0) => things,
        _ => format!("{things}; {on_the_way}"),
    };
    match report.restraint.savings.told() {
        Some(time) => format!("{time}: {found}"),
        None => found,
    }
}

fn cost(report: &Report) -> String {
    let (wasted, all) = wasted(report);
    let waste = match percent(wasted, all) {
        Some(share) => format!("{} fetched in vain ({share}%)", show_bytes(wasted)),
        None => "nothing fetched in vain".into(),
    };
    format!("{waste}; the daemon holds {}", show_bytes(report.standing.memory.rss_bytes))
}

fn percent(part: u64, whole: u64) -> Option<u64> {
    (part > 0 && whole > 0).then(|| (100.0 * part as f64 / whole as f64).round() as u64)
}

fn wrong(report: &Report) -> Vec<String> {
    let (p, events, standing) = (&report.prefetch, &report.events, &report.standing);
    let often = |part: u64, whole: u64| part > HANDFUL && part * WORTH_A_WORD > whole;
    let mut wrong = Vec::new();
    if standing.prefetching.reason.contains("failed") {
        wrong.push("the engine has failed: mount again, and please report it".into());
    }
    if events.lost > 0 {
        let all = events.seen + events.lost;
        wrong.push(format!("{} of {all} accesses were lost on the way to the predictor", events.lost));
    }
    // What has gone or may not be read is nobody's fault.
    let d = &report.restraint.dropped;
    let faulty = p.failed.saturating_sub(d.vanished + d.forbidden + d.changed);
    if often(faulty, p.jobs) {
        wrong.push(format!("{faulty} of {} fetches failed: the source gives errors", p.jobs));
    }
    if often(p.join_timeouts, p.joined) {
        wrong.push(format!(
            "{} requests waited for a fetch in vain: the source is slow (see join_wait)",
            p.join_timeouts
        ));
    }
    if p.wasted_bytes > p.used_bytes && p.wasted_bytes > standing.memory.budget_bytes {
        wrong
            .push("more was fetched in vain than was used: the job never repeats, or memory is short".into());
    }
    let model = &standing.model;
    wrong.extend(model.faults.iter().cloned());
    if model.path.is_none() && model.faults.is_empty() && standing.predictor.name != "none" {
        wrong.push("what is learned is kept in memory only, and lost with the mount".into());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Choice, Prefetch};

    fn report() -> Report {
        let mut report = Report::default();
        report.standing.prefetching = Choice { active: true, reason: "the engine runs".into() };
        report.standing.path.active = "plain".into();
        report.standing.model.path = Some("/m".into());
        report.standing.memory.budget_bytes = 1 << 20;
        report
    }

    #[test]
    fn a_fresh_mount_is_on_and_has_saved_nothing() {
        let verdict = Verdict::of(&report());
        assert_eq!(verdict.on, "yes: it learns, and fetches ahead (plain path, 1M budget)");
        assert!(verdict.saved.starts_with("nothing yet: the first run"));
        assert!(verdict.cost.starts_with("nothing fetched in vain") && verdict.wrong.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut report = report();
        report.prefetch = Prefetch {
            jobs: 100,
            failed: 10,
            bytes: 9 << 20,
            wasted_bytes: 6 << 20,
            used_bytes: 3 << 20,
            files_in_time: 3,
            joined: 1,
            join_timeouts: 10,
            ..Prefetch::default()
        };
        report.events.lost = 1;
        report.standing.model.path = None;
        report.standing.prefetching = Choice { active: false, reason: "the engine failed".into() };
        let verdict = Verdict::of(&report);
        assert_eq!(verdict.wrong.len(), 6, "{:?}", verdict.wrong);
        assert!(verdict.cost.starts_with("6M fetched in vain (67%)"));
        assert_eq!(
            verdict.saved,
            "3 files (3M) were in memory when wanted; 1 request found theirs on the way"
        );
        assert!(verdict.on.starts_with("no: nothing is fetched ahead, because the engine failed"));
    }
}
