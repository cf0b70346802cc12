//! What the program says besides answers: how much of it, and in which form.
//!
//! To a person it is `augurfs: what happened`. Under systemd every line begins with `<N>`, the priority of syslog(3), which the
//! journal takes off again; a daemon in the background speaks to the system's log and says who it is.
//! `RUST_LOG` wins over `-v`.

use crate::run::daemon;
use log::Level;
use std::fmt::Arguments;
use std::io::Write;
use std::sync::OnceLock;

/// The FUSE library warns of unmounts that somebody else was quicker to do: nobody can do anything about these.
const QUIET: &str = "warn,fuser=error,augurfs::statistics=info";
/// By the number of `-v`.
const LOUD: [&str; 3] = ["info,fuser=error", "debug,fuser=warn", "trace"];

/// syslog(3): facility `daemon`, shifted to its place beside the priority.
const DAEMON: u8 = 3 << 3;

/// Log records are said from now on.
pub(super) fn start(verbosity: u8) {
    let filter = match usize::from(verbosity).checked_sub(1) {
        None => QUIET,
        Some(more) => LOUD[more.min(LOUD.len() - 1)],
    };
    let _ = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(filter))
        .format(move |out, record| {
            let said = line(record.level(), record.args(), verbosity > 1, record.target());
            out.write_all(said.as_bytes())
        })
        // A second initialisation, as in tests, is no harm.
        .try_init();
}

/// One line for standard error, in the form that suits where it leads.
pub(super) fn line(level: Level, what: &Arguments<'_>, detailed: bool, target: &str) -> String {
    let what = if detailed { format!("{target}: {what}") } else { what.to_string() };
    if daemon::speaks_to_the_system_log() {
        format!("<{}>augurfs[{}]: {what}\n", DAEMON | priority(level), std::process::id())
    } else if leads_to_the_journal() {
        format!("<{}>{what}\n", priority(level))
    } else {
        format!("augurfs: {what}\n")
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

/// systemd names the device and inode it connected standard error to; somebody may have led it elsewhere since.
fn leads_to_the_journal() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stat = rustix::fs::fstat(rustix::stdio::stderr());
        stat.is_ok_and(|stat| named == format!("{}:{}", stat.st_dev, stat.st_ino))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_sentences() {
        let said = line(Level::Warn, &format_args!("it rains"), false, "augurfs::run");
        assert_eq!(said, "augurfs: it rains\n");
        let said = line(Level::Debug, &format_args!("it rains"), true, "augurfs::run");
        assert_eq!(said, "augurfs: augurfs::run: it rains\n");
    }

    #[test]
    fn priorities_are_those_of_syslog() {
        let all = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace].map(priority);
        assert_eq!(all, [3, 4, 6, 7, 7]);
    }
}
