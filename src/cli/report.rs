//! `augurfs report`: a mount's life on one page, with charts.
//!
//! What must stay true: the page is one file that asks nobody for anything, and no name from a file system can become part of
//! its markup.

mod chart;

use super::stats::report;
use super::words::Place;
use super::{complain, say};
use crate::config::show_duration;
use crate::live::control::{self, Request, Response};
use crate::stats::{Point, Program, Report as Figures, RequestTimes, Verdict};
use anyhow::{Context, bail};
use chart::{Band, Unit, chart};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

const STYLE: &str = include_str!("report/page.css");
/// Programs in the table; the JSON of `stats` has them all.
const MOST_PROGRAMS: usize = 30;

#[derive(Debug, Args)]
pub(super) struct Report {
    #[command(flatten)]
    place: Place,
    /// The file to write; - is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
}

pub(super) fn run(words: &Report) -> anyhow::Result<u8> {
    let point = &words.place.mountpoint;
    let figures = report(point, Request::Stats)?;
    let Response::History { points } = control::ask(point, Request::History).context("no history")? else {
        bail!("no history: the daemon answered another question");
    };
    let page = page(&figures, &points);
    if words.html == Path::new("-") {
        say(&page)?;
        return Ok(0);
    }
    std::fs::write(&words.html, page).with_context(|| format!("cannot write {}", words.html.display()))?;
    complain(&format!("{} is written: open it in a browser", words.html.display()));
    Ok(0)
}

fn page(figures: &Figures, points: &[Point]) -> String {
    let standing = &figures.standing;
    let (point, source) = (escaped(&standing.mountpoint), escaped(&standing.source));
    let up = show_duration(Duration::from_secs(standing.uptime_s));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>augurfs on {point}</title>\n<style>\n{STYLE}</style>\n\
         <h1>augurfs on {point}</h1>\n<p>mirrors {source}, for {up} now (version {})</p>\n{}\
         <h2>Over time</h2>\n<div class=\"charts\">\n{}</div>\n{}{}",
        escaped(&standing.version),
        verdict(&Verdict::of(figures)),
        charts(points),
        programs(&figures.programs),
        requests(figures.requests.iter()),
    )
}

fn verdict(verdict: &Verdict) -> String {
    let wrong = if verdict.wrong.is_empty() { "nothing".to_owned() } else { verdict.wrong.join("; ") };
    let card = |(question, answer): (&str, &str)| {
        format!("<div><dt>{question}</dt><dd>{}</dd></div>\n", escaped(answer))
    };
    let cards = [
        ("Is it on?", verdict.on.as_str()),
        ("What did it save?", &verdict.saved),
        ("What did it cost?", &verdict.cost),
        ("What is wrong?", &wrong),
    ];
    format!("<dl>\n{}</dl>\n", cards.into_iter().map(card).collect::<String>())
}

fn charts(points: &[Point]) -> String {
    let at_s: Vec<u64> = points.iter().skip(1).map(|point| point.at_s).collect();
    let rates = |name, of: fn(&Point) -> u64| Band { name, values: rates(points, of) };
    let totals = |name, of: fn(&Point) -> u64| Band {
        name,
        values: points.iter().skip(1).map(|point| of(point) as f64).collect(),
    };
    [
        chart(
            "Opens a second",
            &at_s,
            &[
                rates("hit", |p| p.opens.hit),
                rates("partial", |p| p.opens.partial),
                rates("miss", |p| p.opens.miss),
            ],
            Unit::Count,
        ),
        chart("Bytes fetched ahead a second", &at_s, &[rates("brought", |p| p.prefetch.bytes)], Unit::Bytes),
        chart(
            "What became of them, in all",
            &at_s,
            &[
                totals("in time", |p| p.prefetch.used_bytes),
                totals("late", |p| p.prefetch.late_bytes),
                totals("wasted", |p| p.prefetch.wasted_bytes),
            ],
            Unit::Bytes,
        ),
    ]
    .concat()
}

/// How fast something grew before each point but the first.
fn rates(points: &[Point], of: fn(&Point) -> u64) -> Vec<f64> {
    let rate = |pair: &[Point]| {
        let seconds = (pair[1].at_s - pair[0].at_s).max(1);
        of(&pair[1]).saturating_sub(of(&pair[0])) as f64 / seconds as f64
    };
    points.windows(2).map(rate).collect()
}

fn programs(programs: &[Program]) -> String {
    if programs.is_empty() {
        return String::new();
    }
    let row = |it: &Program| {
        let share = |part: u64| 100.0 * part as f64 / it.opens.max(1) as f64;
        let part = |class: &str, part: u64| {
            format!("<span class=\"{class}\" style=\"width:{:.1}%\"></span>", share(part))
        };
        format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><div class=\"bar\">{}{}{}</div></td></tr>\n",
            escaped(&it.name),
            it.opens,
            it.hit,
            it.partial,
            it.miss,
            part("hit", it.hit),
            part("partial", it.partial),
            part("miss", it.miss)
        )
    };
    let rows: String = programs.iter().take(MOST_PROGRAMS).map(row).collect();
    table("Programs", "<th>program<th>opens<th>hit<th>partial<th>miss<th>", &rows)
}

fn requests<'a>(requests: impl Iterator<Item = (&'a String, &'a RequestTimes)>) -> String {
    let mut all: Vec<_> = requests.collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by_key(|(_, times)| std::cmp::Reverse(times.count));
    let row = |(name, times): (&String, &RequestTimes)| {
        format!(
            "<tr><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td></tr>\n",
            escaped(name),
            times.count,
            times.p50,
            times.p99
        )
    };
    let rows: String = all.into_iter().map(row).collect();
    table("Requests to the daemon", "<th>kind<th>count<th>median, us<th>99th, us", &rows)
}

fn table(title: &str, head: &str, rows: &str) -> String {
    format!("<h2>{title}</h2>\n<div class=\"wide\"><table>\n<tr>{head}</tr>\n{rows}</table></div>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Opens;

    fn points() -> Vec<Point> {
        let opens = |hit, miss| Opens { total: hit + miss, hit, miss, partial: 0 };
        let at = |at_s, opens| Point { at_s, opens, ..Point::default() };
        vec![at(0, opens(0, 0)), at(2, opens(4, 10)), at(4, opens(24, 10))]
    }

    #[test]
    fn rates_are_a_second() {
        assert_eq!(rates(&points(), |point| point.opens.hit), [2.0, 10.0]);
        assert_eq!(rates(&points()[..1], |point| point.opens.hit), Vec::<f64>::new());
    }

    #[test]
    fn names_cannot_become_markup() {
        let mut figures = Figures::default();
        figures.standing.source = "/<script>alert(1)</script>".into();
        figures.programs.push(Program { name: "\"><b>&".into(), opens: 2, hit: 1, ..Program::default() });
        let page = page(&figures, &points());
        assert!(!page.contains("<script>") && !page.contains("<b>"));
        assert!(page.contains("&quot;&gt;&lt;b&gt;&amp;") && page.contains("style=\"width:50.0%\""));
    }

    #[test]
    fn the_page_asks_nobody_for_anything() {
        let page = page(&Figures::default(), &[]);
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url("));
        assert!(page.contains("<h2>Over time</h2>"));
    }
}
