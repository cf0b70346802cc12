//! How many entries of a directory are looked at around one that had to be fetched.

use std::fmt;
use std::str::FromStr;

/// See the module's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InodeWindow {
    /// None, and walks are not followed.
    #[default]
    Off,
    /// So many: a power of two, at most [`InodeWindow::MOST`].
    Fixed(u32),
    /// As many as pays, by the share of them that is wanted.
    Auto,
}

impl InodeWindow {
    /// Widest window, in entries.
    pub const MOST: u32 = 4096;
}

impl fmt::Display for InodeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InodeWindow::Off => f.write_str("0"),
            InodeWindow::Fixed(entries) => write!(f, "{entries}"),
            InodeWindow::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for InodeWindow {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match (word, word.parse::<u32>()) {
            ("auto", _) => Ok(InodeWindow::Auto),
            (_, Ok(0)) => Ok(InodeWindow::Off),
            (_, Ok(entries)) if entries.is_power_of_two() && entries <= Self::MOST => {
                Ok(InodeWindow::Fixed(entries))
            }
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_nothing_and_auto() {
        for word in ["0", "1", "64", "4096", "auto"] {
            assert_eq!(word.parse::<InodeWindow>().unwrap().to_string(), word);
        }
        for word in ["", "3", "8192", "-1", "on"] {
            assert_eq!(word.parse::<InodeWindow>(), Err(()), "{word}");
        }
    }
}
