//! What can be wrong with a mount option, each in one sentence that says how to write it right.

/// An option that cannot be taken as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option '{name}'{}", hint(.suggestion.as_deref()))]
    Unknown {
        /// What was written.
        name: String,
        /// An option spelled nearly like it.
        suggestion: Option<&'static str>,
    },
    /// No option at all.
    #[error("no option is named: OPTION=VALUE, where OPTION is one of {choices}")]
    Nothing {
        /// Those there are, separated by commas.
        choices: String,
    },
    /// It is for the whole life of a mount.
    #[error("option '{name}' cannot change while mounted, only {choices} can: unmount, and mount with it")]
    Fixed {
        /// The option.
        name: &'static str,
        /// Those that can, separated by commas.
        choices: String,
    },
    /// The option needs a value and has none.
    #[error("option '{name}' needs a value: {name}={value}")]
    Missing {
        /// The option.
        name: &'static str,
        /// What kind of value, as in the help.
        value: &'static str,
    },
    /// The option is a flag and has a value.
    #[error("option '{name}' takes no value")]
    Superfluous {
        /// The option.
        name: &'static str,
    },
    /// The value is none of the words allowed.
    #[error("{name}={got} is not known: choose one of {choices}")]
    Choice {
        /// The option.
        name: &'static str,
        /// What was written.
        got: String,
        /// The words allowed, separated by commas.
        choices: String,
    },
    /// The value cannot be read in the option's unit.
    #[error("{name}={got} cannot be read: write {form}")]
    Form {
        /// The option.
        name: &'static str,
        /// What was written.
        got: String,
        /// How a value looks.
        form: &'static str,
    },
    /// The value is too small or too large.
    #[error("{name}={got} is out of range: from {least} to {most}")]
    Range {
        /// The option.
        name: &'static str,
        /// What was written.
        got: String,
        /// Smallest value.
        least: String,
        /// Largest value.
        most: String,
    },
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |s| format!(": did you mean '{s}'?"))
}
