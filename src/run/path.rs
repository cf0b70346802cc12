//! Which way data takes from the source to programs: what the user asked for, where kernel and
//! rights allow it, and why.
//!
//! What must stay true: a path that cannot work here is never taken; the mount comes about by
//! another one, and the reason is told.

use std::os::fd::AsFd;

use crate::config::{Config, DataPath};
use crate::sys::fanotify::Reports;
use crate::sys::filesystem::is_made_up;

/// A data path, and why this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenPath {
    /// The path; never `Auto`.
    pub path: DataPath,
    /// One sentence, without a full stop.
    pub reason: String,
}

/// What the surroundings allow.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    /// Are we root?
    pub root: bool,
    /// Has somebody else mounted it, and handed us the device?
    pub adopted: bool,
    /// Can opens be watched; else why not.
    pub watch: Result<(), String>,
    /// Is the data to be in our own cache?
    pub own_cache: bool,
    /// Does the content of the source's files come into being only when they are read?
    pub made_up: bool,
}

impl Allowance {
    /// Finds out, for this source, on the mount that the mountpoint is on now. One that is ours already is not touched:
    /// it does not answer yet.
    pub(super) fn of(config: &Config, source: impl AsFd) -> Self {
        let (own_cache, made_up) = (config.own_cache, is_made_up(source));
        if config.descriptor.is_some() {
            let watch = Err("somebody else has mounted it".into());
            return Allowance { root: false, adopted: true, watch, own_cache, made_up };
        }
        let root = rustix::process::geteuid().is_root();
        let watch = Reports::of_opens(&config.mountpoint).map(drop).map_err(|error| error.to_string());
        Allowance { root, adopted: false, watch, own_cache, made_up }
    }
}

/// Chooses.
pub(super) fn choose(asked: DataPath, allowed: &Allowance) -> ChosenPath {
    let because = |path, reason: String| ChosenPath { path, reason };
    if allowed.own_cache {
        return because(DataPath::Plain, "cache=own has to see every open and every read".into());
    }
    if allowed.adopted {
        return because(DataPath::Plain, "somebody else has mounted it".into());
    }
    let asked_for = || format!("path={} was asked for", asked.as_str());
    match (asked, allowed.root, &allowed.watch) {
        (DataPath::Plain, _, _) => because(DataPath::Plain, asked_for()),
        (DataPath::Passthrough | DataPath::Resident, false, _) => {
            because(DataPath::Plain, format!("{} needs root", asked.as_str()))
        }
        (DataPath::Auto, false, _) => {
            because(DataPath::Plain, "watching opens and kernel passthrough need root".into())
        }
        (DataPath::Resident | DataPath::Auto, true, _) if allowed.made_up => {
            because(DataPath::Plain, "the sizes of these files say nothing of their content".into())
        }
        (DataPath::Passthrough, true, _) => because(DataPath::Passthrough, asked_for()),
        (DataPath::Resident, true, Ok(())) => because(DataPath::Resident, asked_for()),
        (DataPath::Auto, true, Ok(())) => {
            because(DataPath::Resident, "opens can be watched, so they need not be requests".into())
        }
        (DataPath::Resident | DataPath::Auto, true, Err(error)) => {
            because(DataPath::Passthrough, format!("opens cannot be watched: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(asked: DataPath, root: bool, watch: Result<(), String>) -> (DataPath, String) {
        let choice =
            choose(asked, &Allowance { root, adopted: false, watch, own_cache: false, made_up: false });
        (choice.path, choice.reason)
    }

    #[test]
    fn root_gets_resident_and_users_plain() {
        assert_eq!(chosen(DataPath::Auto, true, Ok(())).0, DataPath::Resident);
        assert_eq!(chosen(DataPath::Auto, false, Err("no".into())).0, DataPath::Plain);
    }

    #[test]
    fn what_cannot_work_is_replaced_and_the_reason_told() {
        let (path, reason) = chosen(DataPath::Resident, true, Err("no fanotify".into()));
        assert_eq!(path, DataPath::Passthrough);
        assert!(reason.contains("no fanotify"));
        let (path, reason) = chosen(DataPath::Passthrough, false, Ok(()));
        assert_eq!(path, DataPath::Plain);
        assert!(reason.contains("needs root"));
    }

    #[test]
    fn the_own_cache_has_to_see_reads() {
        for path in [DataPath::Auto, DataPath::Resident, DataPath::Passthrough, DataPath::Plain] {
            let allowed =
                Allowance { root: true, adopted: false, watch: Ok(()), own_cache: true, made_up: false };
            assert_eq!(choose(path, &allowed).path, DataPath::Plain);
        }
    }

    #[test]
    fn what_cannot_be_cached_is_not_resident() {
        let allowed =
            Allowance { root: true, adopted: false, watch: Ok(()), own_cache: false, made_up: true };
        assert_eq!(choose(DataPath::Auto, &allowed).path, DataPath::Plain);
        assert_eq!(choose(DataPath::Resident, &allowed).path, DataPath::Plain);
    }

    #[test]
    fn every_wish_that_can_be_granted_is() {
        for path in [DataPath::Resident, DataPath::Passthrough, DataPath::Plain] {
            assert_eq!(chosen(path, true, Ok(())).0, path);
        }
    }
}
