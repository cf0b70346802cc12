//! `augurfs upgrade`: another version of the program goes on with a mount.

use super::say;
use super::words::Place;
use crate::codec::text::to_text;
use crate::live::control::{self, Request, Response};
use crate::run::daemon::own_program;
use anyhow::{Context, bail};
use clap::Args;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// The daemon gives up earlier: see the times in `run::takeover`.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(super) struct Upgrade {
    #[command(flatten)]
    place: Place,
    /// The program that goes on, instead of this one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

pub(super) fn run(words: &Upgrade) -> anyhow::Result<u8> {
    let program = words.program.as_ref().map_or_else(|| Ok(own_program()), std::path::absolute)?;
    let request = Request::Upgrade { program: to_text(program.as_os_str().as_bytes()) };
    let (_, feed) = control::listen(&words.place.mountpoint, request).context("cannot upgrade")?;
    feed.stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let mut answer = BufReader::new(feed.begun.as_slice().chain(feed.stream));
    answer.read_line(&mut line).context("cannot upgrade: the daemon says nothing")?;
    match serde_json::from_str(&line) {
        Ok(Response::Done { message }) => say(&format!("{message}\n")).map(|()| 0),
        Ok(Response::Error { message }) => bail!("cannot upgrade: {message}"),
        _ => bail!("cannot upgrade: the daemon has ended, or its answer cannot be read"),
    }
}
