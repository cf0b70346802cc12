//! A report in the text format that Prometheus reads. Names and labels are a contract, as those of the JSON are.

use super::report::Report;
use std::fmt::Write;

/// One kind of number.
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    help: &'a str,
}

/// All numbers of a report, each with the mountpoint as a label.
pub fn prometheus(report: &Report) -> String {
    let mut out = String::new();
    let mount = label("mountpoint", &report.standing.mountpoint);
    let mut family = |family: Family<'_>, values: &[(String, f64)]| {
        let name = format!("augurfs_{}", family.name);
        // Writing to a string does not fail.
        let _ = write!(out, "# HELP {name} {}\n# TYPE {name} {}\n", family.help, family.kind);
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{mount}{labels}}} {value}");
        }
    };
    let one = |value: u64| [(String::new(), value as f64)];
    let by = |key: &str, values: &[(&str, u64)]| -> Vec<(String, f64)> {
        values.iter().map(|(word, value)| (format!(",{}", label(key, word)), *value as f64)).collect()
    };
    let counter = |name, help| Family { name, kind: "counter", help };
    let gauge = |name, help| Family { name, kind: "gauge", help };
    let (p, o, s) = (&report.prefetch, &report.opens, &report.standing);
    let unknown = o.total.saturating_sub(o.hit + o.partial + o.miss);
    family(gauge("up_seconds", "Time since the mount."), &one(s.uptime_s));
    family(gauge("prefetching", "1 while files are fetched ahead."), &one(s.prefetching.active.into()));
    family(
        counter("opens_total", "Opens of regular files, by what they found in memory."),
        &by("found", &[("hit", o.hit), ("partial", o.partial), ("miss", o.miss), ("unknown", unknown)]),
    );
    family(
        counter("events_total", "Accesses on their way to the predictor."),
        &by("fate", &[("seen", report.events.seen), ("lost", report.events.lost)]),
    );
    family(counter("prefetch_jobs_total", "Fetches asked for."), &one(p.jobs));
    family(counter("prefetch_failed_total", "Fetches that failed."), &one(p.failed));
    family(counter("prefetch_bytes_total", "Bytes fetched ahead."), &one(p.bytes));
    family(
        counter("prefetch_fate_bytes_total", "Bytes fetched ahead, by what became of them."),
        &by("fate", &[("used", p.used_bytes), ("late", p.late_bytes), ("wasted", p.wasted_bytes)]),
    );
    family(
        counter("prefetch_fate_files_total", "Files fetched ahead, by what became of them."),
        &by("fate", &[("in_time", p.files_in_time), ("late", p.files_late), ("wasted", p.files_wasted)]),
    );
    family(gauge("prefetch_in_flight_bytes", "Bytes on their way."), &one(p.in_flight_bytes));
    family(
        counter("joins_total", "Requests that waited for a fetch under way."),
        &by("outcome", &[("arrived", p.joined), ("timed_out", p.join_timeouts)]),
    );
    let r = &report.restraint;
    let seconds = |us: u64| vec![(String::new(), us as f64 / 1e6)];
    family(
        counter("saved_seconds_total", "Waiting saved, as far as it can be told."),
        &seconds(r.savings.saved_us),
    );
    family(counter("waited_seconds_total", "Waiting for the source."), &seconds(r.savings.waited_us));
    family(
        counter("compared_files_total", "Files by whether they were fetched ahead in time."),
        &by(
            "fetched",
            &[
                ("in_time", r.savings.helped_files),
                ("not", r.savings.unhelped_files),
                ("held_back", r.savings.held_back_files),
            ],
        ),
    );
    family(counter("helped_runs_total", "Runs in which something was in time."), &one(r.savings.runs));
    let d = &r.dropped;
    family(
        counter("prefetch_dropped_total", "Fetches dropped, by reason."),
        &by(
            "reason",
            &[
                ("vanished", d.vanished),
                ("forbidden", d.forbidden),
                ("changed", d.changed),
                ("faulty", d.faulty),
            ],
        ),
    );
    family(gauge("turned_down", "1 while it does less than it could."), &one(r.turned_down.active.into()));
    family(counter("budget_cuts_total", "Times memory was short."), &one(r.budget_cuts));
    family(counter("evicted_files_total", "Files gone before their use."), &one(r.evicted_files));
    family(counter("released_bytes_total", "Bytes let go behind walks."), &one(r.released_bytes));
    family(
        counter("invalidations_total", "Things the kernel was told to forget."),
        &one(report.invalidations),
    );
    family(gauge("memory_rss_bytes", "Memory the daemon holds."), &one(s.memory.rss_bytes));
    family(
        gauge("memory_budget_bytes", "Most bytes fetched ahead and not yet used."),
        &one(s.memory.budget_bytes),
    );
    family(gauge("processes", "Lives of processes that are remembered."), &one(s.memory.processes));
    family(gauge("model_files", "Files the predictor knows."), &one(s.predictor.files));
    family(gauge("model_bytes", "Memory of what is learned."), &one(s.predictor.bytes));
    let requests = |pick: fn(&super::RequestTimes) -> f64| -> Vec<(String, f64)> {
        let each = report.requests.iter();
        each.map(|(name, times)| (format!(",{}", label("operation", name)), pick(times))).collect()
    };
    family(counter("requests_total", "Requests answered."), &requests(|times| times.count as f64));
    family(
        gauge("request_p50_seconds", "Half were answered within this time."),
        &requests(|times| times.p50 / 1e6),
    );
    family(
        gauge("request_p99_seconds", "99 of 100 were answered within this time."),
        &requests(|times| times.p99 / 1e6),
    );
    out
}

/// `key="value"`, with what the format escapes.
fn label(key: &str, value: &str) -> String {
    format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::RequestTimes;

    #[test]
    fn every_line_is_of_the_format() {
        let mut report = Report::default();
        report.standing.mountpoint = "/mnt/a \"b\" \\".into();
        report.opens.total = 3;
        report.opens.hit = 2;
        report.requests.insert("read".into(), RequestTimes { count: 4, p50: 2.0, p99: 1500.0 });
        let text = prometheus(&report);
        let mount = r#"mountpoint="/mnt/a \"b\" \\""#;
        assert!(text.contains(&format!("augurfs_opens_total{{{mount},found=\"unknown\"}} 1\n")), "{text}");
        assert!(
            text.contains(&format!("augurfs_request_p99_seconds{{{mount},operation=\"read\"}} 0.0015\n"))
        );
        for line in text.lines() {
            let fine = line.starts_with("# HELP augurfs_")
                || line.starts_with("# TYPE augurfs_")
                || line.rsplit_once("} ").is_some_and(|(_, value)| value.parse::<f64>().is_ok());
            assert!(fine, "{line}");
        }
    }
}
