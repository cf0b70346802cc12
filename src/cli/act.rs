//! What can be done to a mount that is up: `warm`, `pause`, `resume`, `set`.

use super::inside::inside;
use super::words::Place;
use super::{FAILURE, complain, say};
use crate::config::{Config, Surroundings, show_bytes, show_count};
use crate::live::control::{self, Progress, Request, Response};
use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Warm {
    #[command(flatten)]
    place: Place,
    /// Only what lies at or below this path: below MOUNTPOINT, or relative to it
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Only what this program has used: its name, or its path
    #[arg(long, value_name = "PROGRAM")]
    program: Option<String>,
    /// Say how much it would be, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct Set {
    #[command(flatten)]
    place: Place,
    /// budget=BYTES, join_wait=DURATION, save_interval=DURATION, prefetch=on or prefetch=off, separated by commas
    #[arg(value_name = "OPTION=VALUE,...", required = true)]
    options: Vec<String>,
}

pub(super) fn set(words: &Set) -> anyhow::Result<u8> {
    // What is wrong on any mount is said here: a mistake of whoever typed it.
    let mut trial = Config::new("/".into(), "/".into(), &Surroundings::of_process());
    trial.change(OsStr::new(&words.options.join(","))).context("nothing is changed")?;
    say(&format!("{}\n", change(&words.place, &words.options.join(","))?))?;
    Ok(0)
}

/// Fetches nothing ahead, or does so again.
pub(super) fn pause(place: &Place, paused: bool) -> anyhow::Result<u8> {
    set_prefetch(place, !paused)?;
    Ok(0)
}

/// The same, for who has a screen to keep.
pub(super) fn set_prefetch(place: &Place, on: bool) -> anyhow::Result<()> {
    change(place, if on { "prefetch=on" } else { "prefetch=off" }).map(drop)
}

/// What is in force then comes back.
fn change(place: &Place, options: &str) -> anyhow::Result<String> {
    let request = Request::Set { options: options.to_owned() };
    match control::ask(&place.mountpoint, request).context("nothing is changed")? {
        Response::Done { message } => Ok(message),
        _ => bail!("nothing is changed: the daemon answered another question"),
    }
}

pub(super) fn warm(words: &Warm) -> anyhow::Result<u8> {
    let place = &words.place.mountpoint;
    let below = inside(place, words.path.as_deref().unwrap_or(place)).context("nothing is warmed")?;
    let request = Request::Warm { below, program: words.program.clone(), dry_run: words.dry_run };
    let (response, feed) = control::listen(&words.place.mountpoint, request).context("nothing is warmed")?;
    let Response::Warming { files, bytes } = response else {
        bail!("nothing is warmed: the daemon answered another question");
    };
    if words.dry_run || files == 0 {
        let are = if files == 1 { "is" } else { "are" };
        let known = show_count(files, "file");
        say(&format!("{known}, {}, {are} known and would be looked at\n", show_bytes(bytes)))?;
        return Ok(0);
    }
    let lines = BufReader::new(feed.begun.as_slice().chain(feed.stream)).lines();
    let bar = bar(files);
    let mut progress = Progress::default();
    for line in lines.map_while(Result::ok) {
        progress = serde_json::from_str(&line).context("the daemon's answer cannot be read")?;
        bar.set_position(progress.files);
        bar.set_message(show_bytes(progress.bytes));
    }
    bar.finish_and_clear();
    told(&progress, files)
}

fn told(progress: &Progress, files: u64) -> anyhow::Result<u8> {
    let Progress { files: done, resident, failed, bytes } = *progress;
    let warmed = done - resident - failed;
    say(&format!(
        "{} warmed, {} from the source; {resident} were in memory, {failed} have gone or may not be read\n",
        show_count(warmed, "file"),
        show_bytes(bytes)
    ))?;
    if done < files {
        complain(&format!("the daemon has stopped after {done} of {files} files"));
        return Ok(FAILURE);
    }
    Ok(0)
}

/// Shown on a terminal only.
fn bar(files: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} files, {msg}, {eta} left");
    ProgressBar::new(files).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
