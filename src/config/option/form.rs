//! What the value of an option looks like, how it is read, and what is wrong with one that cannot be.

use super::super::{Config, OptionError, unit};
use super::{Kind, MountOption};
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

impl MountOption {
    /// What stands after the equals sign, as in the help; `None` for a flag.
    pub fn value(&self) -> Option<String> {
        match &self.kind {
            Kind::Flag(_) | Kind::Ignored => None,
            Kind::Word(words, _) => Some(words.join("|")),
            Kind::Bytes(..) | Kind::Block(..) => Some("BYTES".into()),
            Kind::Duration(..) => Some("DURATION".into()),
            Kind::Path(_) => Some("PATH".into()),
            Kind::Text(name, ..) => Some((*name).into()),
        }
    }

    /// Smallest and largest value, as the user would write them, where there are such.
    pub fn range(&self) -> Option<(String, String)> {
        match &self.kind {
            Kind::Bytes(range, _) | Kind::Block(range, _) => {
                Some((unit::show_bytes(*range.start()), unit::show_bytes(*range.end())))
            }
            Kind::Duration(range, _) => {
                Some((unit::show_duration(*range.start()), unit::show_duration(*range.end())))
            }
            _ => None,
        }
    }

    /// Is it there only because `fstab` may contain it?
    pub fn is_ignored(&self) -> bool {
        matches!(self.kind, Kind::Ignored)
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.strip_suffix('*').is_some_and(|start| name.starts_with(start))
    }

    /// Set what this option sets.
    pub(in super::super) fn apply(
        &self,
        config: &mut Config,
        value: Option<&[u8]>,
    ) -> Result<(), OptionError> {
        match (&self.kind, value) {
            (Kind::Ignored, _) => Ok(()),
            (Kind::Flag(set), None) => {
                set(config);
                Ok(())
            }
            (Kind::Flag(_), Some(_)) => Err(OptionError::Superfluous { name: self.name }),
            (_, None | Some(b"")) => Err(OptionError::Missing { name: self.name, value: self.placeholder() }),
            (Kind::Path(set), Some(value)) => {
                set(config, PathBuf::from(OsStr::from_bytes(value)));
                Ok(())
            }
            (_, Some(value)) => self.apply_text(config, &String::from_utf8_lossy(value)),
        }
    }

    fn apply_text(&self, config: &mut Config, text: &str) -> Result<(), OptionError> {
        match &self.kind {
            Kind::Word(words, set) if words.contains(&text) => set(config, text),
            Kind::Word(words, _) => {
                return Err(OptionError::Choice {
                    name: self.name,
                    got: text.into(),
                    choices: words.join(", "),
                });
            }
            Kind::Bytes(range, set) => set(config, self.within(text, unit::bytes(text), range)?),
            Kind::Block(range, set) => {
                let size = unit::bytes(text).filter(|size| size.is_power_of_two() || !range.contains(size));
                set(config, self.within(text, size, range)?);
            }
            Kind::Duration(range, set) => set(config, self.within(text, unit::duration(text), range)?),
            Kind::Text(.., set) if set(config, text) => {}
            _ => return Err(self.misformed(text)),
        }
        Ok(())
    }

    fn within<T: PartialOrd>(
        &self,
        got: &str,
        value: Option<T>,
        range: &RangeInclusive<T>,
    ) -> Result<T, OptionError> {
        let value = value.ok_or_else(|| self.misformed(got))?;
        if range.contains(&value) {
            return Ok(value);
        }
        let (least, most) = self.range().unwrap_or_default();
        Err(OptionError::Range { name: self.name, got: got.into(), least, most })
    }

    fn misformed(&self, got: &str) -> OptionError {
        OptionError::Form { name: self.name, got: got.into(), form: self.form() }
    }

    fn form(&self) -> &'static str {
        match &self.kind {
            Kind::Bytes(..) => unit::BYTES_FORM,
            Kind::Block(..) => "a power of two, as 8K or 64K",
            Kind::Duration(..) => unit::DURATION_FORM,
            Kind::Text(_, form, _) => form,
            _ => "it as the help says",
        }
    }

    fn placeholder(&self) -> &'static str {
        match &self.kind {
            Kind::Bytes(..) | Kind::Block(..) => "BYTES",
            Kind::Duration(..) => "DURATION",
            Kind::Path(_) => "PATH",
            Kind::Word([only], _) | Kind::Text(only, ..) => only,
            _ => "WORD",
        }
    }
}
