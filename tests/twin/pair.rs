//! A directory in the mount and one beside it, which begin alike and are treated alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::snapshot::{self, Snapshot};
use super::step::Step;
use super::world::World;
use crate::mount::Mount;
use crate::mount::scratch::Scratch;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Pair {
    native: PathBuf,
    mounted: PathBuf,
    below: PathBuf,
}

impl Pair {
    /// A fresh pair over this mount.
    pub(crate) fn new(scratch: &Scratch, mount: &Mount) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("twin-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let native = scratch.join("native").join(&name);
        fs::create_dir_all(&native).unwrap();
        let pair = Pair { native, mounted: mount.join(&name), below: scratch.source().join(&name) };
        fs::create_dir(&pair.mounted).unwrap();
        furnish(&pair.native);
        furnish(&pair.mounted);
        pair
    }

    /// Does each step in both, and says how many of them succeeded; the first difference is the error.
    pub(crate) fn run(self, steps: &[Step]) -> Result<usize, String> {
        let mut succeeded = 0;
        let (mut native, mut mounted) = (World::new(&self.native), World::new(&self.mounted));
        for (number, step) in steps.iter().enumerate() {
            let (expected, found) = (native.step(step), mounted.step(step));
            if expected != found {
                return Err(format!("step {number}, {step:?}: native {expected:?}, mounted {found:?}"));
            }
            succeeded += usize::from(found.is_ok());
        }
        // Also with everything still open, and with nothing open.
        self.compare("with files open")?;
        drop((native, mounted));
        self.compare("at the end")?;
        self.remove();
        Ok(succeeded)
    }

    fn compare(&self, when: &str) -> Result<(), String> {
        let expected = take(&self.native)?;
        for (place, path) in [("in the mount", &self.mounted), ("in the source", &self.below)] {
            if let Some(difference) = difference(&expected, &take(path)?) {
                return Err(format!("{place}, {when}: {difference}"));
            }
        }
        Ok(())
    }

    fn remove(&self) {
        fs::remove_dir_all(&self.native).unwrap();
        fs::remove_dir_all(&self.mounted).unwrap();
        assert!(!self.below.exists());
    }
}

fn take(root: &Path) -> Result<Snapshot, String> {
    snapshot::of(root).map_err(|error| format!("{} cannot be walked: {error}", root.display()))
}

fn difference(expected: &Snapshot, found: &Snapshot) -> Option<String> {
    let names = expected.keys().chain(found.keys());
    names
        .filter(|name| expected.get(*name) != found.get(*name))
        .map(|name| format!("{name}: native {:?}, here {:?}", expected.get(name), found.get(name)))
        .next()
}

/// Something to act on from the start.
fn furnish(root: &Path) {
    fs::create_dir_all(root.join("dir/sub")).unwrap();
    fs::write(root.join("a"), b"ten bytes.").unwrap();
    fs::write(root.join("dir/b"), vec![b'b'; 9000]).unwrap();
}
