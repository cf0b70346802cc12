//! Paths inside a mount, as people write them: absolute, from where they stand, or from the mountpoint on.
//!
//! What must stay true: the mount is not touched, for it may hang: words are compared, and nothing else.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use anyhow::bail;

use crate::codec::text::to_text;
use crate::live::control;

/// A path below the source, as the daemon wants it. Empty is the mountpoint itself.
///
/// # Errors
/// It leads out of the mount.
pub(super) fn inside(mountpoint: &Path, path: &Path) -> anyhow::Result<String> {
    let points = [control::resolve(mountpoint), std::path::absolute(mountpoint)?];
    let from_here = std::path::absolute(path)?;
    let below = points.iter().find_map(|point| from_here.strip_prefix(point).ok());
    let inside = match below {
        Some(inside) => inside,
        None if path.is_absolute() => bail!("{} is not below {}", path.display(), points[0].display()),
        None => path,
    };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => parts.push(name.as_bytes()),
            Component::CurDir => {}
            _ => bail!("{} leads out of {}", path.display(), mountpoint.display()),
        }
    }
    Ok(to_text(&parts.join(&b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(mountpoint: &Path, path: &Path) -> Result<String, String> {
        inside(mountpoint, path).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_below_the_mountpoint_or_relative_to_it() {
        let below = |path: &str| told(Path::new("/mnt/x"), Path::new(path));
        assert_eq!(below("a/./b/"), Ok("a/b".into()));
        assert_eq!(below("/mnt/x/a"), Ok("a".into()));
        assert_eq!(below("/mnt/x"), Ok(String::new()));
        assert_eq!(below("/etc"), Err("/etc is not below /mnt/x".into()));
        assert_eq!(below("../a"), Err("../a leads out of /mnt/x".into()));
    }

    #[test]
    fn what_a_shell_completes_is_understood() {
        // The mountpoint and the file, both as they are called from here.
        assert_eq!(told(Path::new("mnt"), Path::new("mnt/src/a.rs")), Ok("src/a.rs".into()));
        assert_eq!(told(Path::new("."), Path::new("src/a.rs")), Ok("src/a.rs".into()));
        assert_eq!(told(Path::new("mnt"), Path::new("README.md")), Ok("README.md".into()));
    }
}
