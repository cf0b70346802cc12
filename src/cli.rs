//! The command line. The only place that knows clap, and the only one that speaks to the user.
//!
//! Whatever goes wrong is one sentence on standard error, `augurfs: what went wrong: reason`, and an exit code: 0 done, 1 failed,
//! 2 not understood, 32 not mounted (what mount(8) expects).

mod blocks;
mod commands;
mod explain;
mod model;
mod options;
mod simulate;
mod trace;
mod words;

use crate::config::OptionError;
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
    start_log();
    ExitCode::from(run(std::env::args_os()))
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let words = match words::parse(arguments) {
        Ok(words) => words,
        Err(verdict) => return verdict.tell(),
    };
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
        None => commands::mount(words.mount),
        Some(Command::Unmount(place)) => commands::unmount(&place.mountpoint),
        Some(Command::Stats(stats)) => commands::stats(&stats.place.mountpoint, stats.json),
        Some(Command::Trace(trace)) => trace::obey(trace),
        Some(Command::Explain(words)) => explain::run(&words),
        Some(Command::Model(command)) => model::run(&command),
        Some(Command::Demo) => commands::demo(),
        Some(Command::Simulate(simulation)) => simulate::simulate(&simulation),
        Some(Command::Blocks(words)) => blocks::compare_policies(&words),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error {
        e if e.is::<OptionError>() || e.is::<ChoiceError>() => USAGE,
        e => match e.downcast_ref() {
            Some(MountError::Ended(_)) | None => FAILURE,
            Some(_) => NOT_MOUNTED,
        },
    }
}

/// The only ways anything is said: there is nobody to tell if saying it fails.
fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "augurfs: {sentence}");
}

/// Prints to standard output. Whoever stops listening early (`| head`) has heard enough.
fn say(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(anyhow::Error::new(e).context("cannot print")),
        _ => Ok(()),
    }
}

/// Warnings look like every other sentence of ours. `RUST_LOG` asks for more.
///
/// The FUSE library warns of unmounts that somebody else was quicker to do: nobody can do anything about these.
fn start_log() {
    let quiet = env_logger::Env::default().default_filter_or("warn,fuser=error");
    let _ = env_logger::Builder::from_env(quiet)
        .format(|out, record| writeln!(out, "augurfs: {}", record.args()))
        // A second initialisation, as in tests, is no harm.
        .try_init();
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
