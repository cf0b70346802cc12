//! `augurfs generate`: manual pages and completions, from the very definitions the parser and the help use.
//!
//! Prose that no definition holds stands beside this file, as roff, one section after the other.

use super::options::explanation;
use super::say;
use super::words::command;
use crate::config::{MountOption, OPTIONS};
use anyhow::Context;
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};

const MOUNTING: &str = include_str!("generate/augurfs.1.roff");
const HELPER: &str = include_str!("generate/mount.augurfs.8.roff");
const FILE: &str = include_str!("generate/augurfs.conf.5.roff");

#[derive(Debug, Subcommand)]
pub(super) enum Generate {
    /// Write the manual pages below a directory, in man1, man5 and man8
    Man(Man),
    /// Print the completions for a shell
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// Where manual pages are, as in /usr/local/share/man
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Whose
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(what: &Generate) -> anyhow::Result<u8> {
    match what {
        Generate::Man(man) => {
            for (name, page) in pages()? {
                write(&man.directory, &name, &page).context("cannot write the manual")?;
            }
        }
        Generate::Completions(completions) => {
            let mut text = Vec::new();
            clap_complete::generate(completions.shell, &mut command(), "augurfs", &mut text);
            say(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(0)
}

fn write(directory: &Path, name: &str, page: &str) -> anyhow::Result<()> {
    let section = name.rsplit('.').next().unwrap_or("1");
    let directory = directory.join(format!("man{section}"));
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let path = directory.join(name);
    fs::write(&path, page).with_context(|| path.display().to_string())
}

/// All pages by file name.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    let mut pages = vec![
        ("augurfs.1".to_owned(), main_page()?),
        ("mount.augurfs.8".to_owned(), format!("{}{}", filled(HELPER), see_also("augurfs"))),
        ("augurfs.conf.5".to_owned(), format!("{}{}", filled(FILE), see_also("augurfs"))),
    ];
    let mut all = command();
    all.build();
    for command in all.get_subcommands().filter(|command| command.get_name() != "help") {
        pages.push((format!("augurfs-{}.1", command.get_name()), page_of(command)?));
    }
    Ok(pages)
}

/// The program's own page: synopsis and commands as clap has them, then what only we know.
fn main_page() -> anyhow::Result<String> {
    let command = command();
    let man = clap_mangen::Man::new(command.clone()).title("AUGURFS").section("1").manual("augurfs");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    out.extend_from_slice(SYNOPSIS.as_bytes());
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    out.extend_from_slice(b".SH COMMANDS\n");
    for command in command.get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let name = command.get_name();
        out.extend_from_slice(format!(".TP\n\\fBaugurfs\\-{name}\\fR(1)\n{}\n", roff(&about)).as_bytes());
    }
    out.extend_from_slice(filled(MOUNTING).as_bytes());
    Ok(String::from_utf8(out)?)
}

const SYNOPSIS: &str = ".SH SYNOPSIS\n\\fBaugurfs\\fR \\fISOURCE\\fR \\fIMOUNTPOINT\\fR [\\fB\\-f\\fR] \
    [\\fB\\-o\\fR \\fIOPTION\\fR[=\\fIVALUE\\fR],...]\n.br\n\\fBaugurfs\\fR \\fICOMMAND\\fR ...\n";

/// A command with everything below it on one page.
fn page_of(command: &clap::Command) -> anyhow::Result<String> {
    let title = format!("augurfs-{}", command.get_name());
    let man = clap_mangen::Man::new(command.clone().name(title.clone()).version(env!("CARGO_PKG_VERSION")))
        .title(title.to_uppercase())
        .section("1")
        .manual("augurfs");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        out.extend_from_slice(
            format!(
                ".SH AUGURFS {} {}\n",
                command.get_name().to_uppercase(),
                below.get_name().to_uppercase()
            )
            .as_bytes(),
        );
        let man = clap_mangen::Man::new(below.clone());
        let mut sections = Vec::new();
        man.render_description_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        // One level further down than they would be on a page of their own.
        out.extend_from_slice(String::from_utf8(sections)?.replace(".SH ", ".SS ").as_bytes());
    }
    if let Some(after) = command.get_after_help() {
        out.extend_from_slice(format!(".SH NOTES\n.nf\n{}\n.fi\n", roff(&after.to_string())).as_bytes());
    }
    out.extend_from_slice(see_also("augurfs").as_bytes());
    Ok(String::from_utf8(out)?)
}

fn see_also(page: &str) -> String {
    format!(".SH SEE ALSO\n\\fB{page}\\fR(1)\n")
}

/// The prose with version and mount options in their places.
fn filled(prose: &str) -> String {
    prose.replace("@VERSION@", env!("CARGO_PKG_VERSION")).replace(".\\\" @OPTIONS@\n", &mount_options())
}

fn mount_options() -> String {
    let shown = OPTIONS.iter().filter(|option| !option.is_ignored()).map(entry);
    let ignored: Vec<_> = OPTIONS.iter().filter(|it| it.is_ignored()).map(|it| roff(it.name)).collect();
    let list: String = shown.collect();
    format!("{list}.PP\nAccepted for fstab, without effect: {}.\n", ignored.join(", "))
}

fn entry(option: &MountOption) -> String {
    let value = option.value().map_or_else(String::new, |value| format!("=\\fI{}\\fR", roff(&value)));
    format!(".TP\n\\fB{}\\fR{value}\n{}\n", roff(option.name), roff(&explanation(option)))
}

/// Text that roff takes for nothing but text.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text
        .lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_option_and_every_command() {
        let pages = pages().unwrap();
        let main = &pages.iter().find(|page| page.0 == "augurfs.1").unwrap().1;
        for option in OPTIONS {
            assert!(main.contains(&roff(option.name)), "{}", option.name);
        }
        for command in command().get_subcommands() {
            let name = format!("augurfs-{}.1", command.get_name());
            let (_, page) = pages.iter().find(|page| page.0 == name).expect("a page for each command");
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let Some(long) = argument.get_long() else { continue };
                assert!(page.contains(&roff(long)), "{name} lacks --{long}");
            }
        }
        assert!(pages.iter().all(|page| !page.1.contains("S@") && !page.1.contains("@V")), "not filled in");
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(roff(".a -b\n'c \\d"), "\\&.a \\-b\n\\&'c \\ed");
    }
}
