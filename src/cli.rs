//! The command line. The only place that knows clap, and the only one that speaks to the user.
//!
//! Whatever goes wrong is one sentence on standard error, `augurfs: what went wrong: reason`, and an exit code: 0 done, 1 failed,
//! 2 not understood, 32 not mounted (what mount(8) expects).

mod act;
mod blocks;
mod commands;
mod doctor;
mod explain;
mod generate;
mod inside;
mod log;
mod model;
mod options;
mod paint;
mod report;
mod simulate;
mod stats;
mod top;
mod trace;
mod upgrade;
mod words;

use crate::config::{FileError, OptionError};
use crate::predict::ChoiceError;
use crate::run::MountError;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use words::{Command, Words};

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const NOT_MOUNTED: u8 = 32;

/// Run the program with the arguments of this process.
pub fn main() -> ExitCode {
    if crate::run::guardian::serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    if let Some(verdict) = crate::run::takeover::serve_if_asked() {
        return ExitCode::from(verdict);
    }
    ExitCode::from(run(std::env::args_os()))
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let words = match words::parse(arguments) {
        Ok(words) => words,
        Err(verdict) => return verdict.tell(),
    };
    log::start(words.tone.verbose);
    paint::set(words.tone.color);
    match obey(words) {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            exit_code(&error)
        }
    }
}

fn obey(words: Words) -> anyhow::Result<u8> {
    match words.command {
        None => commands::mount(words.mount, words.tone.verbose),
        Some(Command::Unmount(words)) => commands::unmount(&words),
        Some(Command::Stats(words)) => stats::run(&words),
        Some(Command::Top(words)) => top::run(&words),
        Some(Command::Report(words)) => report::run(&words),
        Some(Command::Warm(words)) => act::warm(&words),
        Some(Command::Pause(place)) => act::pause(&place, true),
        Some(Command::Resume(place)) => act::pause(&place, false),
        Some(Command::Set(words)) => act::set(&words),
        Some(Command::Upgrade(words)) => upgrade::run(&words),
        Some(Command::Doctor) => doctor::run(),
        Some(Command::Trace(trace)) => trace::obey(trace),
        Some(Command::Explain(words)) => explain::run(&words),
        Some(Command::Model(command)) => model::run(&command),
        Some(Command::Generate(what)) => generate::run(&what),
        Some(Command::Demo) => commands::demo(),
        Some(Command::Simulate(simulation)) => simulate::simulate(&simulation),
        Some(Command::Blocks(words)) => blocks::compare_policies(&words),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error {
        e if e.is::<OptionError>() || e.is::<FileError>() || e.is::<ChoiceError>() => USAGE,
        e => match e.downcast_ref() {
            Some(MountError::Ended(_)) | None => FAILURE,
            Some(_) => NOT_MOUNTED,
        },
    }
}

/// The only ways anything is said: there is nobody to tell if saying it fails.
fn complain(sentence: &str) {
    let line = log::line(::log::Level::Error, &format_args!("{sentence}"), false, "");
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints to standard output. Whoever stops listening early (`| head`) has heard enough.
fn say(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(anyhow::Error::new(e).context("cannot print")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_exit_codes() {
        let option = OptionError::Superfluous { name: "ro" };
        assert_eq!(exit_code(&anyhow::Error::new(option).context("cannot mount")), USAGE);
        assert_eq!(exit_code(&anyhow::Error::new(MountError::NoDevice).context("cannot mount")), NOT_MOUNTED);
        let ended = MountError::Ended(io::Error::other("the session panicked"));
        assert_eq!(exit_code(&anyhow::Error::new(ended)), FAILURE);
        assert_eq!(exit_code(&anyhow::anyhow!("anything else")), FAILURE);
    }
}
