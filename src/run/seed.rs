//! What others have learned, for a mount that has learned nothing yet.
//!
//! What must stay true: a seed is only read; a model that is there is never replaced by one; whatever is wrong with a seed, the
//! mount comes about without it.

use std::io;
use std::path::{Path, PathBuf};

use crate::model::{self, ModelError};

/// Why a seed is of no use.
#[derive(Debug, thiserror::Error)]
enum SeedError {
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Damaged { path: PathBuf, error: ModelError },
    #[error("{} cannot be written: {error}", path.display())]
    Unwritten { path: PathBuf, error: io::Error },
}

/// Makes the seed the mount's own model, if the mount keeps one and has none yet. To be called by who holds the model's lock.
pub(super) fn sow(seed: Option<&Path>, model: Option<&Path>) {
    let Some(seed) = seed else { return };
    let Some(model) = model else {
        return log::warn!("the seed {} is not used: this mount keeps no model", seed.display());
    };
    if model.exists() {
        return log::info!("the seed {} is not needed: there is a model", seed.display());
    }
    match copy(seed, model) {
        Ok(()) => log::info!("what {} says is known from the start", seed.display()),
        Err(error) => log::warn!("the seed is not used: {error}"),
    }
}

fn copy(seed: &Path, model: &Path) -> Result<(), SeedError> {
    let bytes = model::load(seed).map_err(|error| SeedError::Unreadable { path: seed.to_owned(), error })?;
    model::decode(&bytes).map_err(|error| SeedError::Damaged { path: seed.to_owned(), error })?;
    model::store(model, &bytes).map_err(|error| SeedError::Unwritten { path: model.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SOUND: &[u8] = include_bytes!("../model/fixture-v1.model");

    #[test]
    fn only_who_has_no_model_is_given_one() {
        let dir = tempfile::tempdir().unwrap();
        let (seed, model) = (dir.path().join("seed"), dir.path().join("model"));
        fs::write(&seed, SOUND).unwrap();
        sow(Some(&seed), Some(&model));
        assert_eq!(fs::read(&model).unwrap(), SOUND);
        fs::write(&model, "mine").unwrap();
        sow(Some(&seed), Some(&model));
        assert_eq!(fs::read(&model).unwrap(), b"mine");
        sow(Some(&seed), None);
        assert_eq!(fs::read(&seed).unwrap(), SOUND);
    }

    #[test]
    fn a_bad_seed_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let (seed, model) = (dir.path().join("seed"), dir.path().join("model"));
        fs::write(&seed, &SOUND[..SOUND.len() - 1]).unwrap();
        assert!(matches!(copy(&seed, &model), Err(SeedError::Damaged { .. })));
        assert!(matches!(copy(dir.path(), &model), Err(SeedError::Unreadable { .. })));
        sow(Some(&seed), Some(&model));
        assert!(!model.exists());
    }
}
