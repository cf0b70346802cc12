//! Changing options of a mount that is up: one by one, or by reading the files of defaults again.
//!
//! What must stay true: all of what is asked for is changed, or nothing is.

use std::ffi::OsStr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::{Config, Defaults, FileError, OptionError, Surroundings, show_bytes, show_duration};
use crate::live::Live;
use crate::sys::memory;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TuningError {
    /// An option is wrong.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The options in force.
pub(super) struct Tuning {
    config: Mutex<Config>,
    live: Arc<Live>,
}

impl Tuning {
    /// Those the mount began with; puts in force what the driver was not made with.
    pub(super) fn new(config: &Config, live: Arc<Live>) -> Self {
        if !config.prefetch {
            live.pause(true);
        }
        Tuning { config: Mutex::new(config.clone()), live }
    }

    /// Sets what a list says, as after `-o`. Says what is in force then.
    pub(super) fn set(&self, options: &str) -> Result<String, TuningError> {
        let mut config = self.config.lock();
        let mut fresh = config.clone();
        fresh.change(OsStr::new(options))?;
        self.put_in_force(&config, &fresh);
        *config = fresh;
        Ok(told(&config))
    }

    /// Reads the files of defaults again, and what was given after them. Says what is in force then, and whether
    /// something else has changed, which waits for the next mount.
    pub(super) fn reload(&self) -> Result<String, TuningError> {
        let mut config = self.config.lock();
        let surroundings = Surroundings::of_process();
        let mut fresh = Config::new(config.source.clone(), config.mountpoint.clone(), &surroundings);
        let files = Defaults::all(config.config.as_deref(), &surroundings)?;
        files.iter().try_for_each(|file| file.apply(&mut fresh))?;
        config.given.iter().try_for_each(|list| fresh.apply(list))?;
        let tuned = with_tunables_of(&config, &fresh);
        self.put_in_force(&config, &tuned);
        *config = tuned;
        Ok(told(&config))
    }

    /// What is in force, as after `-o`, for a process that goes on with the mount.
    pub(super) fn options(&self) -> String {
        let config = self.config.lock();
        let budget = config.budget.map(|bytes| format!(",budget={bytes}")).unwrap_or_default();
        format!(
            "prefetch={},join_wait={},save_interval={}{budget}",
            if config.prefetch { "on" } else { "off" },
            show_duration(config.join_wait),
            show_duration(config.save_interval),
        )
    }

    fn put_in_force(&self, old: &Config, new: &Config) {
        if new.budget != old.budget {
            self.live.set_budget(new.budget.unwrap_or_else(memory::default_budget));
        }
        if new.join_wait != old.join_wait {
            self.live.set_join_wait(new.join_wait);
        }
        if new.save_interval != old.save_interval {
            self.live.set_save_interval(new.save_interval);
        }
        if new.prefetch != old.prefetch {
            self.live.pause(!new.prefetch);
        }
    }
}

/// `config` with the values of `other` where they may change while mounted.
fn with_tunables_of(config: &Config, other: &Config) -> Config {
    let Config { budget, join_wait, save_interval, prefetch, .. } = *other;
    Config { budget, join_wait, save_interval, prefetch, ..config.clone() }
}

fn told(config: &Config) -> String {
    format!(
        "prefetch={}, budget={}, join_wait={}, save_interval={}",
        if config.prefetch { "on" } else { "off" },
        config.budget.map_or_else(|| "a quarter of the available memory".into(), show_bytes),
        show_duration(config.join_wait),
        show_duration(config.save_interval),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning(file: &std::path::Path) -> Tuning {
        let mut config = Config::new("/s".into(), "/m".into(), &Surroundings::default());
        config.given = vec!["save_interval=1h".into()];
        config.config = Some(file.to_owned());
        Tuning::new(&config, Arc::new(Live::default()))
    }

    #[test]
    fn what_may_change_changes_and_nothing_else() {
        let tuning = tuning(std::path::Path::new("none"));
        let told = tuning.set("budget=64M,prefetch=off").unwrap();
        assert_eq!(told, "prefetch=off, budget=64M, join_wait=300ms, save_interval=5min");
        assert!(tuning.live.is_paused());
        assert_eq!(tuning.options(), "prefetch=off,join_wait=300ms,save_interval=5min,budget=67108864");
        for (options, why) in [
            ("budget=1G,path=auto", "option 'path' cannot change while mounted, only budget,"),
            ("nofail", "option 'nofail' cannot change"),
            ("budget=1", "out of range"),
            ("", "no option is named"),
            (" ,", "unknown option ' '"),
            ("bugdet=1G", "did you mean 'budget'?"),
        ] {
            let said = tuning.set(options).unwrap_err().to_string();
            assert!(said.contains(why), "{options}: {said}");
        }
        assert_eq!(tuning.set("prefetch=on").unwrap(), told.replace("off", "on"));
        assert!(!tuning.live.is_paused());
    }

    #[test]
    fn files_are_read_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tuning = tuning(file.path());
        std::fs::write(file.path(), "budget = 2M\nsave_interval = 1min\n[/m]\nprefetch = off\nro\n").unwrap();
        let told = tuning.reload().unwrap();
        assert_eq!(told, "prefetch=off, budget=2M, join_wait=300ms, save_interval=1h");
        assert!(!tuning.config.lock().read_only, "for the next mount");
        std::fs::write(file.path(), "budgte = 2M\n").unwrap();
        assert!(tuning.reload().unwrap_err().to_string().contains("line 1: unknown option"));
    }
}
