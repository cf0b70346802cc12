//! What the benches share: their beginning and end, a place to work in, other programs, augurfs as a process, and medians.

pub(crate) mod daemon;
pub(crate) mod mounts;
pub(crate) mod shell;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the bench called `name` with the arguments of this process, and says what went wrong.
pub(crate) fn obey(name: &str, run: impl FnOnce(&[OsString]) -> anyhow::Result<()>) -> ExitCode {
    // Cargo adds `--bench` at the end.
    let arguments: Vec<OsString> = std::env::args_os().filter(|argument| argument != "--bench").collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The middle value, or the mean of the two in the middle; none of nothing.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}
