//! The command line. The only place that knows clap.

use std::process::ExitCode;

/// Run the program with the arguments of this process.
pub fn main() -> ExitCode {
    ExitCode::from(2)
}
