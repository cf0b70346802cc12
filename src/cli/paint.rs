//! Colour, for people at a terminal.
//!
//! What must stay true: without colour the text is the same, so that nothing is said by colour alone.

use clap::ValueEnum;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// At a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// In pipes and files too
    Always,
    /// Not at all
    Never,
}

static ON: AtomicBool = AtomicBool::new(false);

/// Decides once, for standard output.
pub(super) fn set(when: When) {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let on = match when {
        When::Always => true,
        When::Never => false,
        When::Auto => wanted && !dumb && std::io::stdout().is_terminal(),
    };
    ON.store(on, Ordering::Relaxed);
}

fn painted(text: &str, code: &str) -> String {
    if ON.load(Ordering::Relaxed) { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// As it should be.
pub(super) fn good(text: &str) -> String {
    painted(text, "32")
}

/// Worth a look.
pub(super) fn odd(text: &str) -> String {
    painted(text, "33")
}

/// Broken.
pub(super) fn bad(text: &str) -> String {
    painted(text, "31;1")
}
