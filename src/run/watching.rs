//! Changes made directly in the source: told to the mirror, where that can be had, and how that stands.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::Config;
use crate::live::{ChangeWatch, News};
use crate::mirror::Mirror;
use crate::stats::Choice;

/// How the watching stands. A copy follows the original.
#[derive(Clone, Debug)]
pub(super) struct WatchStanding(Arc<Mutex<Choice<bool>>>);

impl WatchStanding {
    fn off(reason: &str) -> Self {
        WatchStanding(Arc::new(Mutex::new(Choice { active: false, reason: reason.into() })))
    }

    fn set(&self, active: bool, reason: String) {
        *self.0.lock() = Choice { active, reason };
    }

    /// What the statistics say of it.
    pub(super) fn choice(&self) -> Choice<bool> {
        self.0.lock().clone()
    }
}

/// Has `mirror`, connected to its kernel, told of changes in its source, as long as the result lives.
pub(super) fn watch_changes(
    config: &Config,
    mirror: &Arc<Mirror>,
    source: &OwnedFd,
) -> (Option<ChangeWatch>, WatchStanding) {
    if !config.watch {
        return (None, WatchStanding::off("watch=off was asked for"));
    }
    // A user cannot use the names either, so the source is not to blame.
    if !rustix::process::geteuid().is_root() {
        return (None, WatchStanding::off("watching needs root"));
    }
    if !mirror.can_be_watched() {
        return (None, WatchStanding::off("the source has no lasting names to report changes by"));
    }
    let standing = WatchStanding::off("it has not begun");
    let (to, told) = (mirror.clone(), standing.clone());
    let receiver = move |news| match news {
        News::Changed(change) => to.changed(&change),
        News::Watching => {
            told.set(true, "the kernel reports changes made directly in the source".into());
            to.set_watched(true);
        }
        News::Blind(why) => {
            told.set(false, why);
            to.set_watched(false);
        }
    };
    match ChangeWatch::start(source, receiver) {
        Ok(watch) => (Some(watch), standing),
        Err(error) => {
            log::info!("changes in the source are noticed by time-out only: {error}");
            mirror.set_watched(false);
            standing.set(false, error.to_string());
            (None, standing)
        }
    }
}
