//! Operation lists that showed a difference once, shrunk; each with what was wrong.

use super::step::Step;

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, Vec<Step>)> {
    Vec::new()
}
