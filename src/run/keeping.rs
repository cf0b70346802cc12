//! Which file the model is kept in, and whether it is ours to write.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::ModelLock;
use crate::predict::PredictorChoice;

/// A daemon that has just been unmounted saves its model within this time, else it is not about to end.
const SUCCESSION: Duration = Duration::from_secs(2);

/// Where the knowledge of a predictor is kept: that of one is of no use to another, and must not be
/// overwritten by it. The default's is where the option says, that of others beside it under their name. None learns
/// nothing.
pub(super) fn model_for(model: Option<PathBuf>, predictor: PredictorChoice) -> Option<PathBuf> {
    match predictor {
        PredictorChoice::None => None,
        PredictorChoice::Default => model,
        other => model.map(|model| {
            let mut path = model.into_os_string();
            path.push(".");
            path.push(other.name());
            path.into()
        }),
    }
}

/// Where a mount keeps its model.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// The file; `None` is nowhere.
    pub(super) model: Option<PathBuf>,
    /// Why it is kept nowhere, though it was to be.
    pub(super) unkept: Option<String>,
    /// Nobody else saves it as long as this is held.
    pub(super) lock: Option<ModelLock>,
}

impl Keeping {
    /// Makes sure that nobody else saves the model. Without that what is learned stays in memory.
    pub(super) fn of(model: Option<&Path>) -> Self {
        let Some(model) = model else { return Keeping::default() };
        let unkept = if is_of_the_system(model) {
            format!("what is learned is not kept: {} is a place for programs and settings", model.display())
        } else {
            match ModelLock::take(model, SUCCESSION) {
                Ok(Some(lock)) => {
                    return Keeping { model: Some(model.into()), unkept: None, lock: Some(lock) };
                }
                Ok(None) => format!(
                    "another mount uses the model {}: what this one learns is not kept; give it another with -o model=PATH",
                    model.display()
                ),
                Err(error) => {
                    format!("the model {} is not used: it cannot be locked: {error}", model.display())
                }
            }
        };
        log::warn!("{unkept}");
        Keeping { unkept: Some(unkept), ..Keeping::default() }
    }
}

/// Others rely on what lies there: a file that is no model would be set aside, and be missing.
fn is_of_the_system(model: &Path) -> bool {
    const PLACES: [&str; 9] = ["/etc", "/usr", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc"];
    let parent = model.parent().and_then(|parent| parent.canonicalize().ok());
    let is_below = |place: &&str| parent.as_ref().is_some_and(|parent| parent.starts_with(place));
    PLACES.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_rely_on_is_left_alone() {
        for place in ["/etc/passwd", "/usr/../etc/passwd", "/bin/sh"] {
            let keeping = Keeping::of(Some(Path::new(place)));
            assert!(keeping.model.is_none() && keeping.lock.is_none(), "{place}");
            assert!(keeping.unkept.is_some_and(|why| why.contains(place)));
        }
        assert!(!is_of_the_system(Path::new("/var/lib/augurfs/x.model")));
    }

    #[test]
    fn each_predictor_has_a_model_of_its_own() {
        let place = |words: &str| model_for(Some("/m/x".into()), words.parse().unwrap());
        assert_eq!(place("default"), Some("/m/x".into()));
        assert_eq!(place("match"), Some("/m/x.match".into()));
        assert_eq!(place("epcm:64/48/0.5/paper"), Some("/m/x.epcm".into()));
        assert_eq!(place("last"), Some("/m/x.last".into()));
        assert_eq!(place("none"), None);
        assert_eq!(model_for(None, PredictorChoice::Last), None);
    }
}
