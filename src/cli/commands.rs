//! What each command does, in terms of the layers below.

use super::words::Mount;
use super::{FAILURE, NOT_MOUNTED, complain, say};
use crate::config::{Config, OptionError, Surroundings};
use crate::live::control::{self, Request, Response};
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::run::daemon::{Launch, Readiness, launch, own_program};
use crate::run::{self, MountError, check};
use crate::{demo as demonstration, run::unmount as unmounting};
use anyhow::Context;
use std::ffi::OsString;
use std::path::Path;

/// Mounts, in the foreground or by starting ourselves again in the background.
pub(super) fn mount(words: Mount) -> anyhow::Result<u8> {
    let config = config(&words).context("cannot mount")?;
    let predictor: PredictorChoice =
        config.predictor.parse().map_err(anyhow::Error::new).context("cannot mount")?;
    let policy: Policy = config.policy.parse().map_err(anyhow::Error::new).context("cannot mount")?;
    if !words.foreground {
        return background(&words, &config).context("cannot mount");
    }
    let readiness = Readiness::of_process().map_err(MountError::Session).context("cannot mount")?;
    match run::mount(config, predictor, policy, readiness) {
        Err(error @ MountError::Ended(_)) => Err(error.into()),
        other => other.map(|()| 0).context("cannot mount"),
    }
}

/// Options first: they can be wrong on any machine.
fn config(words: &Mount) -> anyhow::Result<Config> {
    let surroundings = Surroundings::of_process();
    options(&mut Config::new("/".into(), "/".into(), &surroundings), &words.options)?;
    let source = check::source(words.source.as_deref().unwrap_or(Path::new("")))?;
    let mountpoint = check::mountpoint(words.mountpoint.as_deref().unwrap_or(Path::new("")))?;
    let mut config = Config::new(source, mountpoint, &surroundings);
    options(&mut config, &words.options)?;
    // The daemon leaves the directory it was started in.
    config.model = config.model.map(std::path::absolute).transpose()?;
    config.record = config.record.map(std::path::absolute).transpose()?;
    Ok(config)
}

fn options(config: &mut Config, lists: &[OsString]) -> Result<(), OptionError> {
    lists.iter().try_for_each(|list| config.apply(list))
}

fn background(words: &Mount, config: &Config) -> anyhow::Result<u8> {
    let mut arguments: Vec<OsString> =
        vec![config.source.clone().into(), config.mountpoint.clone().into(), "-f".into()];
    for list in &words.options {
        arguments.extend(["-o".into(), list.clone()]);
    }
    match launch(&own_program(), &arguments).map_err(MountError::Session)? {
        Launch::Mounted => Ok(0),
        Launch::GaveUp(0) => Ok(NOT_MOUNTED),
        Launch::GaveUp(code) => Ok(code),
        Launch::Killed(signal) => {
            complain(&format!("cannot mount: the background process was ended by signal {signal}"));
            Ok(NOT_MOUNTED)
        }
    }
}

pub(super) fn unmount(mountpoint: &Path) -> anyhow::Result<u8> {
    unmounting::unmount(mountpoint).context("cannot unmount")?;
    Ok(0)
}

pub(super) fn stats(mountpoint: &Path, json: bool) -> anyhow::Result<u8> {
    let Response::Stats { report } = control::ask(mountpoint, Request::Stats).context("no statistics")?
    else {
        complain("no statistics: the daemon answered another question");
        return Ok(FAILURE);
    };
    say(&if json { format!("{}\n", serde_json::to_string(&report)?) } else { report.to_string() })?;
    Ok(0)
}

pub(super) fn demo() -> anyhow::Result<u8> {
    demonstration::run(&mut std::io::stdout()).context("the demonstration failed")?;
    Ok(0)
}
