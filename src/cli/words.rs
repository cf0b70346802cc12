//! What can be written on the command line.

use super::explain::Explain;
use super::model::ModelCommand;
use super::options;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const COMMANDS_NOTE: &str = "A SOURCE that is named like a command is written with its directory: ./stats";

/// Mirror a directory, learn in which order programs open its files, and warm the next ones.
#[derive(Debug, Parser)]
#[command(name = "augurfs", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(
    override_usage = "augurfs SOURCE MOUNTPOINT [-f] [-o OPTION[=VALUE],...]\n       augurfs COMMAND ..."
)]
#[command(subcommand_value_name = "COMMAND", max_term_width = 110)]
pub(super) struct Words {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) mount: Mount,
    #[command(flatten)]
    pub(super) tone: Tone,
}

/// How anything is said. Stands anywhere on the line.
#[derive(Debug, Args)]
pub(super) struct Tone {
    /// Log more: -v what is done, -vv details, -vvv everything
    #[arg(short = 'v', action = clap::ArgAction::Count, global = true)]
    pub(super) verbose: u8,
    /// Use colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub(super) color: super::paint::When,
}

#[derive(Debug, Args)]
pub(super) struct Mount {
    /// Directory to mirror
    #[arg(required = true, value_name = "SOURCE")]
    pub(super) source: Option<PathBuf>,
    /// Directory to mount on; may be SOURCE itself; or /dev/fd/N, an open /dev/fuse with which it is mounted already
    #[arg(required = true, value_name = "MOUNTPOINT")]
    pub(super) mountpoint: Option<PathBuf>,
    /// Stay in the foreground and log to the terminal
    #[arg(short = 'f')]
    pub(super) foreground: bool,
    /// Mount options, separated by commas (see below); may be given several times
    #[arg(short = 'o', value_name = "OPTION,...")]
    pub(super) options: Vec<OsString>,
    /// A model of others to begin with, below the mount's own; only read (as -o seed=FILE). May be given several times
    #[arg(long = "model", value_name = "FILE")]
    pub(super) seeds: Vec<PathBuf>,
    /// What mount(8) may pass to a helper. Without effect.
    #[arg(short = 's', hide = true)]
    sloppy: bool,
    #[arg(short = 'n', hide = true)]
    no_mtab: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Unmount, and wait until what was learned is saved
    #[command(visible_alias = "umount")]
    Unmount(Unmount),
    /// Show what a mount has done: opens, what was fetched ahead, and what became of it
    Stats(super::stats::Stats),
    /// Watch a mount at work, on a screen of its own
    Top(super::top::Top),
    /// Make a page of a mount's life, with charts
    Report(super::report::Report),
    /// Warm what is known of a tree, or of what a program uses
    Warm(super::act::Warm),
    /// Fetch nothing ahead until resume; learning goes on
    Pause(Place),
    /// Fetch ahead again
    Resume(Place),
    /// Change options of a mount that is up
    Set(super::act::Set),
    /// Hand a mount over to a new process, of this version of the program: users see a pause
    Upgrade(super::upgrade::Upgrade),
    /// Say what this machine and this user have, and what to do about what is missing
    Doctor,
    /// Record what a mount sees as a trace; show, check, import and anonymise traces
    #[command(subcommand)]
    Trace(super::trace::Trace),
    /// Run workloads through the engine in virtual time: predictors, memory sizes and devices compared
    Simulate(Box<super::simulate::Simulation>),
    /// Say why a file was or was not warmed
    Explain(Explain),
    /// Show, check, export, import, merge and prune files of what was learned
    #[command(subcommand)]
    Model(ModelCommand),
    /// Write the manual pages, or print completions for a shell
    #[command(subcommand)]
    Generate(super::generate::Generate),
    /// Compare who leaves a full cache, on traces of blocks: misses by policy and size of the cache
    Blocks(super::blocks::Blocks),
    /// Show in under a minute what augurfs does, on a small tree on a slow device made for the purpose
    Demo,
}

#[derive(Debug, Args)]
pub(super) struct Place {
    /// Where augurfs is mounted
    #[arg(value_name = "MOUNTPOINT")]
    pub(super) mountpoint: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Unmount {
    #[command(flatten)]
    pub(super) place: Place,
    /// Detach it even if it is in use: its users lose it some seconds later
    #[arg(long)]
    pub(super) lazy: bool,
}

/// Why there are no words to act on: help was asked for, or they were not understood.
pub(super) struct Verdict(clap::Error);

/// The whole definition.
pub(super) fn command() -> clap::Command {
    Words::command().after_help(format!("{}\n\n{COMMANDS_NOTE}", options::help()))
}

pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Words, Verdict> {
    let matches = command().try_get_matches_from(arguments).map_err(Verdict)?;
    Words::from_arg_matches(&matches).map_err(Verdict)
}

impl Verdict {
    /// Prints the help, or one sentence on what was not understood. The exit code is the answer.
    pub(super) fn tell(&self) -> u8 {
        if !self.0.use_stderr() {
            return super::say(&self.0.render().to_string()).map_or(super::FAILURE, |()| 0);
        }
        super::complain(&format!("usage: {} (see augurfs --help)", self.sentence()));
        super::USAGE
    }

    /// The first paragraph of what clap says, in one line.
    fn sentence(&self) -> String {
        // clap takes any third word for a command in the wrong place.
        if let Some(ContextValue::String(word)) = self.0.get(ContextKind::InvalidSubcommand) {
            return format!("unexpected argument '{word}' found");
        }
        let text = self.0.render().to_string();
        let paragraph: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        paragraph.join(" ").trim_start_matches("error: ").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Words, String> {
        let arguments = std::iter::once("augurfs").chain(line.split_whitespace()).map(OsString::from);
        parse(arguments).map_err(|verdict| verdict.sentence())
    }

    #[test]
    fn the_definition_is_sound() {
        Words::command().debug_assert();
    }

    #[test]
    fn mounts() {
        for line in ["src mnt -f -o ro -o path=plain,rw", "-f -oro src mnt -o path=plain,rw"] {
            let mount = words(line).unwrap().mount;
            assert!(mount.foreground);
            assert_eq!((mount.source, mount.mountpoint), (Some("src".into()), Some("mnt".into())));
            assert_eq!(mount.options, ["ro", "path=plain,rw"]);
        }
        assert!(words("src mnt -s -n -v -o rw").is_ok());
    }

    #[test]
    fn commands() {
        assert!(matches!(words("unmount mnt").unwrap().command, Some(Command::Unmount(_))));
        assert!(matches!(words("stats mnt --json").unwrap().command, Some(Command::Stats(_))));
        assert!(words("stats mnt --watch 5 -v").is_ok() && words("stats mnt --json --prometheus").is_err());
        assert!(matches!(words("demo").unwrap().command, Some(Command::Demo)));
        let mount = words("./stats mnt").unwrap();
        assert!(mount.command.is_none() && mount.mount.source == Some("./stats".into()));
    }

    #[test]
    fn what_is_not_understood() {
        let cases = [
            ("", "the following required arguments were not provided: <SOURCE> <MOUNTPOINT>"),
            ("src", "the following required arguments were not provided: <MOUNTPOINT>"),
            ("a b c", "unexpected argument 'c' found"),
            ("a b --quux", "unexpected argument '--quux' found"),
            ("unmount", "the following required arguments were not provided: <MOUNTPOINT>"),
            ("a b -o", "a value is required for '-o <OPTION,...>' but none was supplied"),
        ];
        for (line, sentence) in cases {
            assert_eq!(words(line).unwrap_err(), sentence, "{line}");
        }
    }
}
