//! The mount options as the help shows them, from the one list that defines them.

use crate::config::{MountOption, OPTIONS};
use std::fmt::Write;

/// Column at which explanations begin; longer names have theirs on the next line.
const COLUMN: usize = 22;

/// The section of the help page.
pub(super) fn help() -> String {
    let mut text = String::from("Mount options (-o):\n");
    for option in OPTIONS.iter().filter(|option| !option.is_ignored()) {
        entry(&mut text, option);
    }
    let ignored: Vec<_> = OPTIONS.iter().filter(|option| option.is_ignored()).map(|option| option.name).collect();
    let _ = write!(text, "\nAccepted for fstab, without effect: {}.", ignored.join(", "));
    text.push_str("\nBYTES take K, M, G or T; a DURATION takes ms, s, min or h. A comma in a value is written '\\,'.");
    text
}

fn entry(text: &mut String, option: &MountOption) {
    let spelling = spelling(option);
    let explanation = explanation(option);
    // Writing to a string cannot fail.
    let _ = if spelling.len() < COLUMN - 2 {
        writeln!(text, "  {spelling:<width$}{explanation}", width = COLUMN - 2)
    } else {
        writeln!(text, "  {spelling}\n{:COLUMN$}{explanation}", "")
    };
}

fn spelling(option: &MountOption) -> String {
    option.value().map_or_else(|| option.name.to_owned(), |value| format!("{}={value}", option.name))
}

fn explanation(option: &MountOption) -> String {
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
        assert!(help.contains("  budget=BYTES        most bytes warmed ahead and not yet used; 64K to 1T [a quarter of"), "{help}");
        assert!(help.contains("\n  path=auto|resident|passthrough|plain\n                      how data reaches"), "{help}");
        assert!(help.contains("\n  ro                  refuse every change [rw]\n"), "{help}");
        assert!(help.contains("without effect: defaults, auto,"), "{help}");
    }

    /// The README is for people who have not built anything yet; its table must not lag behind.
    #[test]
    fn the_readme_has_every_option() {
        let readme = include_str!("../../README.md");
        for option in OPTIONS.iter().filter(|option| !option.is_ignored()) {
            let range = option.range().map_or_else(String::new, |(least, most)| format!("; {least} to {most}"));
            let spelling = spelling(option).replace('|', "\\|");
            let row = format!("| `{spelling}` | {}{range} | {} |", option.help, option.default);
            assert!(readme.contains(&row), "the README lacks this row:\n{row}");
        }
    }
}
