//! Directories for a test, gone afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Mount, Recipe};

/// A directory with `source` and `point` in it, which every user may enter.
#[derive(Debug)]
pub struct Scratch {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = fs::canonicalize(dir.path()).expect("it is there");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("it is ours");
        for name in ["source", "point"] {
            fs::create_dir(root.join(name)).expect("nothing is there yet");
        }
        Scratch { dir, root }
    }

    /// What is mirrored.
    pub fn source(&self) -> PathBuf {
        self.root.join("source")
    }

    /// Where it is mounted.
    pub fn point(&self) -> PathBuf {
        self.root.join("point")
    }

    /// Any other path in it.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// A mount of the one at the other, by this data path.
    pub fn mount(&self, path: &str) -> Recipe {
        Mount::of(&self.source(), &self.point()).path(path)
    }

    /// Writes a file in the source, with the directories above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.source().join(path);
        fs::create_dir_all(path.parent().expect("below the source")).expect("it can be made");
        fs::write(&path, content).expect("it can be written");
        path
    }
}
