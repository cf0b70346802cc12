//! What each command does, in terms of the layers below.

use super::words::{Mount, Unmount};
use super::{NOT_MOUNTED, complain};
use crate::config::{Config, DataPath, Defaults, OptionError, Surroundings};
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::run::daemon::{Launch, Readiness, launch, own_program};
use crate::run::takeover::Heir;
use crate::run::{self, MountError, check};
use crate::sys::descriptor;
use crate::{demo as demonstration, run::unmount as unmounting};
use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Mounts, in the foreground or by starting ourselves again in the background.
pub(super) fn mount(words: Mount, verbosity: u8) -> anyhow::Result<u8> {
    let words = &with_seeds(words);
    if let Some(heir) = Heir::of_process().map_err(MountError::Session).context("cannot take over")? {
        return succeed(words, heir.clone()).inspect_err(|error| heir.refuse(&format!("{error:#}")));
    }
    let config = config(words).context("cannot mount")?;
    let predictor: PredictorChoice =
        config.predictor.parse().map_err(anyhow::Error::new).context("cannot mount")?;
    let policy: Policy = config.policy.parse().map_err(anyhow::Error::new).context("cannot mount")?;
    if !words.foreground {
        return background(words, &config, verbosity).context("cannot mount");
    }
    let readiness = Readiness::of_process().map_err(MountError::Session).context("cannot mount")?;
    match run::mount(config, predictor, policy, readiness) {
        Err(error @ MountError::Ended(_)) => Err(error.into()),
        other => other.map(|()| 0).context("cannot mount"),
    }
}

/// Goes on with a mount that another process has.
fn succeed(words: &Mount, heir: Heir) -> anyhow::Result<u8> {
    let given = |word: &Option<PathBuf>| word.clone().unwrap_or_default();
    // As the other process has them: what lies there now may not answer before we do.
    let places = |_: &[Defaults]| Ok((given(&words.source), given(&words.mountpoint)));
    let config = config_at(places, words)?;
    let predictor = config.predictor.parse().map_err(anyhow::Error::new)?;
    let policy = config.policy.parse().map_err(anyhow::Error::new)?;
    run::succeed(config, predictor, policy, heir)?;
    Ok(0)
}

/// `--model` is another word for an option.
fn with_seeds(mut words: Mount) -> Mount {
    for seed in std::mem::take(&mut words.seeds) {
        let mut option = b"seed=".to_vec();
        for byte in seed.as_os_str().as_bytes() {
            option.extend(matches!(byte, b',' | b'\\').then_some(b'\\'));
            option.push(*byte);
        }
        words.options.push(OsString::from_vec(option));
    }
    words
}

fn config(words: &Mount) -> anyhow::Result<Config> {
    let place = words.mountpoint.as_deref().unwrap_or(Path::new(""));
    let descriptor = descriptor::number(place);
    let places = |files: &[Defaults]| {
        let mountpoint = descriptor.map_or_else(|| check::mountpoint(place), check::adopted)?;
        Ok((check::source(&source(words.source.as_deref(), files, &mountpoint)?)?, mountpoint))
    };
    let mut config = config_at(places, words)?;
    config.descriptor = descriptor;
    if descriptor.is_some() {
        // What else there is has to be arranged before the mount.
        config.path = DataPath::Plain;
    }
    Ok(config)
}

/// Options first: they can be wrong on any machine. Then `places`, which finds source and mountpoint.
fn config_at(
    places: impl FnOnce(&[Defaults]) -> anyhow::Result<(PathBuf, PathBuf)>,
    words: &Mount,
) -> anyhow::Result<Config> {
    let surroundings = Surroundings::of_process();
    let mut trial = Config::new("/".into(), "/".into(), &surroundings);
    options(&mut trial, &words.options)?;
    let files = Defaults::all(trial.config.as_deref(), &surroundings)?;
    files.iter().try_for_each(|file| file.check(&trial))?;
    let (source, mountpoint) = places(&files)?;
    let mut config = Config::new(source, mountpoint, &surroundings);
    files.iter().try_for_each(|file| file.apply(&mut config))?;
    options(&mut config, &words.options)?;
    config.given = words.options.clone();
    // The daemon leaves the directory it was started in.
    let file = config.config.take();
    config.config = file
        .map(|path| if path.as_os_str() == "none" { Ok(path) } else { std::path::absolute(path) })
        .transpose()?;
    config.model = config.model.map(std::path::absolute).transpose()?;
    for seed in &mut config.seeds {
        seed.path = std::path::absolute(&seed.path)?;
    }
    config.record = config.record.map(std::path::absolute).transpose()?;
    Ok(config)
}

/// `-` stands for the source that a file of defaults names for the mountpoint.
fn source(word: Option<&Path>, files: &[Defaults], mountpoint: &Path) -> Result<PathBuf, MountError> {
    match word {
        Some(word) if word == "-" => {
            let named = files.iter().rev().find_map(|file| file.source_of(mountpoint));
            named.ok_or_else(|| MountError::Sourceless { path: mountpoint.to_owned() })
        }
        word => Ok(word.unwrap_or(Path::new("")).to_owned()),
    }
}

fn options(config: &mut Config, lists: &[OsString]) -> Result<(), OptionError> {
    lists.iter().try_for_each(|list| config.apply(list))
}

fn background(words: &Mount, config: &Config, verbosity: u8) -> anyhow::Result<u8> {
    let given = words.mountpoint.as_deref().filter(|_| config.descriptor.is_some());
    let place = given.unwrap_or(&config.mountpoint);
    let mut arguments: Vec<OsString> = vec![config.source.clone().into(), place.into(), "-f".into()];
    for list in &words.options {
        arguments.extend(["-o".into(), list.clone()]);
    }
    arguments.extend((0..verbosity).map(|_| "-v".into()));
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

pub(super) fn unmount(words: &Unmount) -> anyhow::Result<u8> {
    match unmounting::unmount(&words.place.mountpoint, words.lazy) {
        Err(error) if error.is_unmounted() => Err(error.into()),
        other => other.map(|()| 0).context("cannot unmount"),
    }
}

pub(super) fn demo() -> anyhow::Result<u8> {
    demonstration::run(&mut std::io::stdout()).context("the demonstration failed")?;
    Ok(0)
}
