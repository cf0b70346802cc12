//! `augurfs.conf`: defaults that hold before `-o`, for all mounts and for single ones.
//!
//! Lines are `name = value`, a bare name, `[MOUNTPOINT]` for those that follow, or begin with `#`. The names are those of the mount
//! options, and `source`. What must stay true: a section comes after what is for all mounts, wherever it stands; every error names
//! file and line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Config, OptionError, Surroundings, option};

/// The one word of a section that is no mount option.
const SOURCE: &str = "source";

/// A file of defaults that cannot be taken as written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line is none of those there are.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An option is wrong.
    #[error("{}, line {line}: {error}", path.display())]
    Option {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        error: OptionError,
    },
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    path: PathBuf,
    settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    line: usize,
    /// `None` is all mounts.
    mountpoint: Option<PathBuf>,
    name: String,
    value: Option<Vec<u8>>,
}

impl Defaults {
    /// All files there are to read: the one that is asked for (`none` is none), or those in the usual places.
    ///
    /// # Errors
    /// One cannot be read, or a line is not understood.
    pub fn all(asked: Option<&Path>, surroundings: &Surroundings) -> Result<Vec<Self>, FileError> {
        match asked {
            Some(path) if path == "none" => Ok(Vec::new()),
            Some(path) => Ok(vec![Defaults::read(path)?]),
            None => surroundings.config_files().iter().map(|path| Defaults::read_if_there(path)).collect(),
        }
    }

    /// Reads a file that must be there.
    ///
    /// # Errors
    /// It cannot be read, or a line is not understood.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = fs::read(path).map_err(|error| FileError::Unreadable { path: path.to_owned(), error })?;
        Defaults::parse(path, &text)
    }

    /// Reads a file that need not be there, nor be for us to find: `$HOME` may still be another user's.
    ///
    /// # Errors
    /// As [`Defaults::read`].
    pub fn read_if_there(path: &Path) -> Result<Self, FileError> {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        match fs::metadata(path) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => {
                Ok(Defaults::default())
            }
            _ => Defaults::read(path),
        }
    }

    /// What `text` says, which `path` holds.
    ///
    /// # Errors
    /// A line is not understood. Options are looked at when they are applied.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, FileError> {
        let mut defaults = Defaults { path: path.to_owned(), settings: Vec::new() };
        let mut mountpoint = None;
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let (line, number) = (line.trim_ascii(), number + 1);
            let wrong = |what| FileError::Line { path: path.to_owned(), line: number, what };
            match line {
                [] | [b'#', ..] => {}
                [b'[', name @ .., b']'] if name.starts_with(b"/") => mountpoint = Some(directory(name)),
                [b'[', ..] => {
                    return Err(wrong("a section is the absolute path of a mountpoint: [/mnt/doc]"));
                }
                [b'=', ..] => return Err(wrong("a name is missing before '='")),
                line => defaults.settings.push(Setting::of(line, number, mountpoint.clone())),
            }
        }
        Ok(defaults)
    }

    /// What the mount at `mountpoint` shall mirror, if the file says so.
    pub fn source_of(&self, mountpoint: &Path) -> Option<PathBuf> {
        let source = self.for_mount(mountpoint).filter(|setting| setting.name == SOURCE).last()?;
        Some(PathBuf::from(OsStr::from_bytes(source.value.as_deref()?)))
    }

    /// Sets everything that is for `config`'s mountpoint.
    ///
    /// # Errors
    /// The first option that is unknown or has a wrong value.
    pub fn apply(&self, config: &mut Config) -> Result<(), FileError> {
        let mountpoint = config.mountpoint.clone();
        let general = self.settings.iter().filter(|setting| setting.mountpoint.is_none());
        for setting in general.chain(self.for_mount(&mountpoint)).filter(|setting| setting.name != SOURCE) {
            self.set(setting, config)?;
        }
        Ok(())
    }

    /// Are all options in it, for whatever mount, well written?
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, trial: &Config) -> Result<(), FileError> {
        let mut options = self.settings.iter().filter(|setting| setting.name != SOURCE);
        options.try_for_each(|setting| self.set(setting, &mut trial.clone()))
    }

    fn set(&self, setting: &Setting, config: &mut Config) -> Result<(), FileError> {
        let set =
            option::find(&setting.name).and_then(|option| option.apply(config, setting.value.as_deref()));
        set.map_err(|error| FileError::Option { path: self.path.clone(), line: setting.line, error })
    }

    fn for_mount<'a>(&'a self, mountpoint: &'a Path) -> impl Iterator<Item = &'a Setting> {
        self.settings.iter().filter(move |setting| setting.mountpoint.as_deref() == Some(mountpoint))
    }
}

impl Setting {
    fn of(line: &[u8], number: usize, mountpoint: Option<PathBuf>) -> Self {
        let (name, value) = match line.iter().position(|byte| *byte == b'=') {
            Some(at) => (line[..at].trim_ascii_end(), Some(line[at + 1..].trim_ascii_start().to_vec())),
            None => (line, None),
        };
        Setting { line: number, mountpoint, name: String::from_utf8_lossy(name).into_owned(), value }
    }
}

/// Without a slash at the end.
fn directory(name: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(name)).components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# all\nbudget = 1G\n noatime\n\n[/mnt/doc/]\nsource = /usr/share/doc\nbudget=2M\n\
                        [/mnt/x]\natime\nmodel = /a, b = c\n";

    fn config(mountpoint: &str) -> Config {
        let mut config = Config::new("/s".into(), mountpoint.into(), &Surroundings::default());
        Defaults::parse(Path::new("f"), TEXT.as_bytes()).unwrap().apply(&mut config).unwrap();
        config
    }

    #[test]
    fn sections_come_after_what_is_for_all() {
        let (doc, x, other) = (config("/mnt/doc"), config("/mnt/x"), config("/mnt"));
        assert_eq!([doc.budget, x.budget, other.budget], [Some(2 << 20), Some(1 << 30), Some(1 << 30)]);
        assert_eq!([doc.atime, x.atime, other.atime], [false, true, false]);
        assert_eq!(x.model, Some("/a, b = c".into()), "a comma is a comma here");
    }

    #[test]
    fn a_section_may_name_its_source() {
        let defaults = Defaults::parse(Path::new("f"), TEXT.as_bytes()).unwrap();
        assert_eq!(defaults.source_of(Path::new("/mnt/doc")), Some("/usr/share/doc".into()));
        assert_eq!(defaults.source_of(Path::new("/mnt/x")), None);
    }

    #[test]
    fn errors_name_file_and_line() {
        let parsed = |text: &str| Defaults::parse(Path::new("f"), text.as_bytes());
        let said = parsed("\n[mnt]\n").unwrap_err().to_string();
        assert_eq!(said, "f, line 2: a section is the absolute path of a mountpoint: [/mnt/doc]");
        assert_eq!(parsed("= 1").unwrap_err().to_string(), "f, line 1: a name is missing before '='");
        let trial = config("/");
        let said = parsed("ro\n[/a]\nbudgte = 1G").unwrap().check(&trial).unwrap_err().to_string();
        assert_eq!(said, "f, line 3: unknown option 'budgte': did you mean 'budget'?");
        let said = parsed("budget = 1").unwrap().apply(&mut config("/")).unwrap_err().to_string();
        assert_eq!(said, "f, line 1: budget=1 is out of range: from 64K to 1T");
    }

    #[test]
    fn what_need_not_be_there_may_be_absent() {
        let absent = Path::new("/no/such/file");
        assert_eq!(Defaults::read_if_there(absent).unwrap(), Defaults::default());
        assert!(matches!(Defaults::read(absent), Err(FileError::Unreadable { .. })));
    }

    #[test]
    fn the_installed_file_is_sound_with_its_examples_in_use() {
        let text = include_str!("../../mount-helpers/augurfs.conf");
        let examples: String = text.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).fold(
            String::new(),
            |all, line| {
                if line.starts_with([' ', 'A', 'E']) { all } else { all + line + "\n" }
            },
        );
        let defaults = Defaults::parse(Path::new("f"), examples.as_bytes()).unwrap();
        defaults.check(&config("/")).unwrap();
        assert_eq!(defaults.source_of(Path::new("/mnt/doc")), Some("/usr/share/doc".into()));
        assert_eq!(Defaults::parse(Path::new("f"), text.as_bytes()).unwrap().settings, []);
    }
}
