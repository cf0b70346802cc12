//! What others have learned, below what the mount has learned itself.
//!
//! A seed is taken into the mount's own model once, as older than all that is in there; which ones have been is told by a file beside the model.
//! A seed that has changed is another one.
//!
//! What must stay true: a seed is only read; what is in a model is never lost by one; whatever is wrong with a seed, the mount
//! comes about without it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Seed;
use crate::model;
use crate::shelf::{ShelfError, Shelved};

/// Unites the seeds with the mount's own model. To be called by who holds the model's lock. Where there is no such model, or it
/// cannot be written, what to begin with comes back.
pub(super) fn sow(seeds: &[Seed], model: Option<&Path>) -> Option<Vec<u8>> {
    let own = model.filter(|model| model.exists());
    let taken = own.map_or_else(String::new, |model| fs::read_to_string(beside(model)).unwrap_or_default());
    let (mut marks, mut below) = (taken.clone(), None);
    for seed in seeds {
        match add(seed, below.as_ref(), &taken) {
            Ok(Some((all, mark))) => {
                log::info!("what {} says is known from the start", seed.path.display());
                below = Some(all);
                marks += &mark;
            }
            Ok(None) => log::info!("what {} says is known already", seed.path.display()),
            Err(error) => log::warn!("the seed is not used: {error}"),
        }
    }
    let all =
        with_own(below?, own).inspect_err(|error| log::warn!("the seeds are not used: {error}")).ok()?;
    let bytes = all.encode();
    let Some(model) = model else { return Some(bytes) };
    match model::store(model, &bytes).and_then(|()| model::store(&beside(model), marks.as_bytes())) {
        Ok(()) => None,
        Err(error) => {
            log::warn!("{} cannot be written: {error}", model.display());
            Some(bytes)
        }
    }
}

/// A seed with those before it, which it wins over, and its mark; `None` if the mount's model has it already.
fn add(seed: &Seed, below: Option<&Shelved>, taken: &str) -> Result<Option<(Shelved, String)>, ShelfError> {
    let path = &seed.path;
    let bytes = model::load(path).map_err(|error| ShelfError::Io { path: path.clone(), error })?;
    let mark = mark(seed, &bytes);
    if taken.contains(&mark) {
        return Ok(None);
    }
    let mut all = Shelved::decode(path, &bytes)?;
    if let Some(map) = &seed.map {
        all = all.relocate(map, path)?;
    }
    if let Some(older) = below {
        all = Shelved::unite(older, &all, path)?;
    }
    Ok(Some((all, mark)))
}

fn with_own(below: Shelved, own: Option<&Path>) -> Result<Shelved, ShelfError> {
    match own {
        None => Ok(below),
        Some(own) => Shelved::unite(&below, &Shelved::open(own)?, own),
    }
}

/// A line that no other seed has.
fn mark(seed: &Seed, bytes: &[u8]) -> String {
    let map = seed.map.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{:08x} {} {map:?}\n", crc32c::crc32c(bytes), bytes.len())
}

fn beside(model: &Path) -> PathBuf {
    let mut path = OsString::from(model);
    path.push(".seeds");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &[u8] = include_bytes!("../model/fixture-v1.model");

    struct Place(tempfile::TempDir);

    impl Place {
        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// A model in which one program used `files`.
        fn model(&self, name: &str, files: &[&str]) -> Seed {
            let mut lines = format!(
                "{{\"line\":\"model\",\"form\":1,\"predictor\":\"default\",\"files\":{}}}\n",
                files.len() + 1
            );
            for (number, file) in files.iter().enumerate() {
                lines +=
                    &format!("{{\"line\":\"file\",\"file\":{},\"in\":0,\"name\":\"{file}\"}}\n", number + 1);
            }
            lines += "{\"line\":\"program\",\"number\":0,\"identity\":\"/usr/bin/cc\"}\n";
            for number in 1..=files.len() {
                lines += &format!(
                    "{{\"line\":\"access\",\"run\":1,\"program\":0,\"use\":\"open\",\"file\":{number},\"life\":{},\"after\":{}}}\n",
                    number.min(3),
                    u8::from(number > 1)
                );
            }
            let shelved =
                Shelved::import(&mut lines.as_bytes(), Path::new("lines"), &self.path(name)).unwrap();
            shelved.write().unwrap();
            Seed { path: self.path(name), map: None }
        }
    }

    fn place() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn names(model: &Path) -> u64 {
        Shelved::open(model).unwrap().survey().unwrap().names
    }

    #[test]
    fn each_seed_is_taken_in_once() {
        let place = place();
        let model = place.path("model");
        let seeds = [place.model("one", &["a", "b"]), place.model("two", &["b", "c"])];
        assert_eq!(sow(&seeds[..1], Some(&model)), None);
        assert_eq!(names(&model), 2);
        assert_eq!(sow(&seeds, Some(&model)), None);
        assert_eq!(names(&model), 3);
        let before = fs::read(&model).unwrap();
        assert_eq!(sow(&seeds, Some(&model)), None);
        assert_eq!(fs::read(&model).unwrap(), before, "nothing new, nothing written");
        let changed = [place.model("one", &["a", "d"])];
        sow(&changed, Some(&model));
        assert_eq!(names(&model), 4, "what was there is kept");
    }

    #[test]
    fn a_map_takes_a_part_and_puts_it_elsewhere() {
        let place = place();
        let model = place.path("model");
        let seed = Seed { map: "a:x/y".parse().ok(), ..place.model("seed", &["a", "b"]) };
        sow(&[seed], Some(&model));
        let text = fs::read(&model).unwrap();
        let survey = Shelved::decode(&model, &text).unwrap().survey().unwrap();
        assert_eq!((survey.names, survey.oldest.as_deref()), (2, Some("x/y")));
    }

    #[test]
    fn without_a_model_the_seeds_are_handed_on() {
        let place = place();
        let bytes = sow(&[place.model("seed", &["a", "b"])], None).unwrap();
        assert_eq!(Shelved::decode(Path::new("x"), &bytes).unwrap().survey().unwrap().names, 2);
        assert_eq!(sow(&[], None), None);
    }

    #[test]
    fn a_bad_seed_leaves_nothing_behind() {
        let place = place();
        let model = place.path("model");
        let seed = |name: &str| Seed { path: place.path(name), map: None };
        fs::write(place.path("seed"), &SOUND[..SOUND.len() - 1]).unwrap();
        assert!(matches!(add(&seed("seed"), None, ""), Err(ShelfError::Model { .. })));
        assert!(matches!(add(&seed("."), None, ""), Err(ShelfError::Io { .. })));
        sow(&[seed("seed")], Some(&model));
        assert!(!model.exists() && !beside(&model).exists());
        // A model that is damaged itself is somebody else's business, and left as it is.
        fs::write(&model, "mine").unwrap();
        sow(&[place.model("good", &["a"])], Some(&model));
        assert_eq!(fs::read(&model).unwrap(), b"mine");
    }
}
