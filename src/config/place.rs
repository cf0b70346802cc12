//! Where things are kept when the user does not say: depends on who we are and on the environment.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Longest readable part of a model's file name: with hash and suffix it stays far below the 255 bytes of a name.
const READABLE: usize = 120;

/// Who runs the program and where that user keeps state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Are we root (effective user 0)?
    pub root: bool,
    /// `$XDG_STATE_HOME`, where it is set to an absolute path.
    pub state_home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, where it is set to an absolute path.
    pub config_home: Option<PathBuf>,
    /// `$HOME`, where it is set to an absolute path.
    pub home: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        Surroundings {
            root: rustix::process::geteuid().is_root(),
            state_home: absolute("XDG_STATE_HOME"),
            config_home: absolute("XDG_CONFIG_HOME"),
            home: absolute("HOME"),
        }
    }

    /// The directory models are kept in; `None` for a user without a home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        if self.root {
            return Some(PathBuf::from("/var/lib/augurfs"));
        }
        let state = self.state_home.clone().or_else(|| Some(self.home.as_ref()?.join(".local/state")))?;
        Some(state.join("augurfs"))
    }

    /// The files of defaults, those that come later win: the system's, and a user's own.
    pub fn config_files(&self) -> Vec<PathBuf> {
        let mut files = vec![PathBuf::from("/etc/augurfs.conf")];
        if !self.root {
            let home = self.config_home.clone().or_else(|| Some(self.home.as_ref()?.join(".config")));
            files.extend(home.map(|home| home.join("augurfs/augurfs.conf")));
        }
        files
    }

    /// The default model file of a source, named after its path.
    pub fn model_for(&self, source: &Path) -> Option<PathBuf> {
        Some(self.state_dir()?.join(model_name(source)))
    }
}

/// The base directory specification says to ignore a relative path.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The end of the path, readable, and a checksum of all of it, which tells apart what the readable part cannot.
fn model_name(source: &Path) -> String {
    let bytes = source.as_os_str().as_bytes();
    let plain =
        |b: &u8| if b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_') { char::from(*b) } else { '-' };
    let readable: String = bytes[bytes.len().saturating_sub(READABLE)..].iter().map(plain).collect();
    let readable = match readable.trim_matches(['-', '.']) {
        "" => "root",
        name => name,
    };
    format!("{readable}-{:08x}.model", crc32c::crc32c(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn user(state_home: Option<&str>, home: Option<&str>) -> Surroundings {
        let config_home = None;
        Surroundings {
            root: false,
            config_home,
            state_home: state_home.map(Into::into),
            home: home.map(Into::into),
        }
    }

    #[test]
    fn state_directories() {
        let root = Surroundings { root: true, ..user(Some("/x"), Some("/root")) };
        assert_eq!(root.state_dir(), Some("/var/lib/augurfs".into()));
        assert_eq!(user(Some("/x"), Some("/h")).state_dir(), Some("/x/augurfs".into()));
        assert_eq!(user(None, Some("/h")).state_dir(), Some("/h/.local/state/augurfs".into()));
        let own = Surroundings { config_home: Some("/c".into()), ..user(None, Some("/h")) };
        assert_eq!(own.config_files()[1], Path::new("/c/augurfs/augurfs.conf"));
        assert_eq!(user(None, Some("/h")).config_files()[1], Path::new("/h/.config/augurfs/augurfs.conf"));
        assert_eq!(root.config_files().len(), 1);
        assert_eq!(user(None, None).model_for(Path::new("/a")), None);
    }

    #[test]
    fn names_are_readable_and_tell_sources_apart() {
        assert_eq!(model_name(Path::new("/usr/share/doc")), "usr-share-doc-7733cda0.model");
        assert!(model_name(Path::new("/")).starts_with("root-"));
        assert_ne!(model_name(Path::new("/a/b")), model_name(Path::new("/a-b")));
    }

    #[test]
    fn names_fit_whatever_the_path() {
        let long = "/x".repeat(2000);
        assert!(model_name(Path::new(&long)).len() <= 200);
        let odd = Path::new(OsStr::from_bytes(b"/\xff\n/\xc3\xa9"));
        assert!(model_name(odd).bytes().all(|b| b.is_ascii_graphic() && b != b'/'));
    }
}
