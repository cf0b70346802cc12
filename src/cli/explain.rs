//! `augurfs explain`: why a file was or was not warmed.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::inside::inside;
use super::words::Place;
use super::{FAILURE, complain, say};
use crate::live::control::{self, Request, Response};

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    place: Place,
    /// The file: below MOUNTPOINT, or relative to it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(words: &Explain) -> anyhow::Result<u8> {
    let path = inside(&words.place.mountpoint, &words.file).context("no explanation")?;
    let request = Request::Explain { path };
    let Response::Explain { explanation } =
        control::ask(&words.place.mountpoint, request).context("no explanation")?
    else {
        complain("no explanation: the daemon answered another question");
        return Ok(FAILURE);
    };
    say(&if words.json {
        format!("{}\n", serde_json::to_string(&explanation)?)
    } else {
        explanation.to_string()
    })?;
    Ok(0)
}
