//! `augurfs stats`: what a mount has done, once or again and again.

use super::words::Place;
use super::{paint, say};
use crate::live::control::{self, ControlError, Request, Response};
use crate::stats::{Report, prometheus};
use anyhow::{Context, bail};
use clap::Args;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// Seconds between two looks: what `watch` and `top` do.
const USUAL: &str = "2";

/// The terminal's own words for "clear, and begin at the top".
const CLEAR: &str = "\x1b[2J\x1b[H";

#[derive(Debug, Args)]
pub(super) struct Stats {
    #[command(flatten)]
    place: Place,
    /// As JSON, for scripts
    #[arg(long, group = "form")]
    json: bool,
    /// In the text format of Prometheus
    #[arg(long, group = "form")]
    prometheus: bool,
    /// Again every so many seconds, until the mount or you have gone
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = USUAL, value_parser = clap::value_parser!(u32).range(1..=86400))]
    watch: Option<u32>,
}

pub(super) fn run(words: &Stats) -> anyhow::Result<u8> {
    let point = &words.place.mountpoint;
    let Some(seconds) = words.watch else {
        say(&words.shown(&report(point, Request::Stats)?)?)?;
        return Ok(0);
    };
    let clear = if std::io::stdout().is_terminal() { CLEAR } else { "" };
    say(&format!("{clear}{}", words.shown(&report(point, Request::Glance)?)?))?;
    loop {
        std::thread::sleep(Duration::from_secs(seconds.into()));
        // Its end is no failure of ours.
        let Ok(report) = report(point, Request::Glance) else { return Ok(0) };
        say(&format!("{}{}", if clear.is_empty() { "\n" } else { clear }, words.shown(&report)?))?;
    }
}

/// What the daemon of a mount tells of itself.
pub(super) fn report(mountpoint: &Path, request: Request) -> anyhow::Result<Report> {
    let answer = match control::ask(mountpoint, request.clone()) {
        // A daemon from before an upgrade knows the one question only.
        Err(ControlError::Refused(_)) if request == Request::Glance => {
            control::ask(mountpoint, Request::Stats)
        }
        answer => answer,
    };
    match answer.context("no statistics")? {
        Response::Stats { report } => Ok(*report),
        _ => bail!("no statistics: the daemon answered another question"),
    }
}

impl Stats {
    fn shown(&self, report: &Report) -> anyhow::Result<String> {
        Ok(match (self.json, self.prometheus) {
            (true, _) => serde_json::to_string(report)? + "\n",
            (_, true) => prometheus(report),
            _ => coloured(&report.to_string()),
        })
    }
}

/// The answers at the top, in the colour of what they mean.
fn coloured(text: &str) -> String {
    let paint = |line: &str| match line {
        line if line.starts_with("On?     yes") => paint::good(line),
        line if line.starts_with("On?") => paint::odd(line),
        "Wrong?  nothing." => paint::good(line),
        line if line.starts_with("Wrong?") => paint::bad(line),
        line => line.to_owned(),
    };
    text.lines().map(|line| paint(line) + "\n").collect()
}
