//! The mount options as the help shows them, from the one list that defines them.

use crate::config::{MountOption, OPTIONS};

/// Column at which explanations begin; longer names have theirs on the next line.
const COLUMN: usize = 22;

/// Widest line: what a terminal of the usual width shows.
const WIDTH: usize = 79;

/// The section of the help page.
pub(super) fn help() -> String {
    let shown = OPTIONS.iter().filter(|option| !option.is_ignored());
    let ignored: Vec<_> =
        OPTIONS.iter().filter(|option| option.is_ignored()).map(|option| option.name).collect();
    let entries: String = shown.map(entry).collect();
    let ignored = wrapped(&format!("Accepted for fstab, without effect: {}.", ignored.join(", ")), 0);
    let units = wrapped(
        "BYTES take K, M, G or T; a DURATION takes ms, s, min or h. A comma in a value is written '\\,'.",
        0,
    );
    format!("Mount options (-o), with their defaults:\n{entries}\n{ignored}\n{units}")
}

fn entry(option: &MountOption) -> String {
    let spelling = spelling(option);
    let explanation = wrapped(&explanation(option), COLUMN);
    if spelling.len() < COLUMN - 2 {
        format!("  {spelling:<width$}{explanation}\n", width = COLUMN - 2)
    } else {
        format!("  {spelling}\n{:COLUMN$}{explanation}\n", "")
    }
}

/// The text in lines that end before `WIDTH`; all but the first begin at `column`.
fn wrapped(text: &str, column: usize) -> String {
    let mut out = String::new();
    let mut room = WIDTH - column;
    for word in text.split(' ') {
        if !out.is_empty() && word.len() + 1 > room {
            out.push('\n');
            out.push_str(&" ".repeat(column));
            room = WIDTH - column;
        } else if !out.is_empty() {
            out.push(' ');
            room -= 1;
        }
        out.push_str(word);
        room = room.saturating_sub(word.len());
    }
    out
}

fn spelling(option: &MountOption) -> String {
    option.value().map_or_else(|| option.name.to_owned(), |value| format!("{}={value}", option.name))
}

pub(super) fn explanation(option: &MountOption) -> String {
    let range = option.range().map_or_else(String::new, |(least, most)| format!("; {least} to {most}"));
    match option.default {
        "" => format!("{}{range}", option.help),
        default => format!("{}{range} [{default}]", option.help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_shows_form_range_and_default() {
        let help = help();
        let budget = "  budget=BYTES        most bytes warmed ahead and not yet used; 64K to 1T [a\n                      quarter of";
        assert!(help.contains(budget), "{help}");
        assert!(
            help.contains("\n  path=auto|resident|passthrough|plain\n                      how data reaches"),
            "{help}"
        );
        assert!(help.contains("\n  ro                  refuse every change [rw]\n"), "{help}");
        assert!(help.contains("without effect: defaults, auto,"), "{help}");
    }

    /// The README is for people who have not built anything yet; its table must not lag behind.
    #[test]
    fn the_readme_has_every_option() {
        let readme = include_str!("../../README.md");
        let rows = OPTIONS.iter().filter(|option| !option.is_ignored()).map(row);
        let missing: Vec<_> = rows.filter(|row| !readme.contains(row)).collect();
        assert!(missing.is_empty(), "the README lacks these rows:\n{}", missing.join("\n"));
    }

    fn row(option: &MountOption) -> String {
        let range = option.range().map_or_else(String::new, |(least, most)| format!("; {least} to {most}"));
        let spelling = spelling(option).replace('|', "\\|");
        format!("| `{spelling}` | {}{range} | {} |", option.help, option.default)
    }
}
