//! What one process leaves to another, in words: sealed with a version and a checksum.
//!
//! What must stay true: words that are not whole, or of another version, are refused before any of them is believed.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::codec::{CodecError, Reader, put_bytes, put_varint};
use crate::config::DataPath;

/// What such words begin with.
const MAGIC: &[u8; 8] = b"augurfs>";
/// Grows whenever the words change their meaning. A successor of another version refuses, and the old process goes on.
const VERSION: u32 = 1;
/// Magic and version.
const HEAD: usize = MAGIC.len() + 4;
const CHECKSUM: usize = 4;

/// Why what a predecessor has left cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// It is something else, or has been damaged on the way.
    #[error("what the old process has left is damaged")]
    Damaged,
    /// The two versions of the program differ in this.
    #[error(
        "the old process speaks version {0} of the takeover format, this program version {VERSION}: unmount and mount instead"
    )]
    Version(u32),
    /// A part of it makes no sense.
    #[error("what the old process has left cannot be read: {0}")]
    Words(#[from] CodecError),
}

/// Writes words, with version and checksum, into a file that is in memory only.
///
/// # Errors
/// What memfd_create(2) and write(2) give.
pub(super) fn seal(words: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"augurfs-estate", MemfdFlags::CLOEXEC)?);
    file.write_all(&sealed(words))?;
    file.rewind()?;
    Ok(file.into())
}

fn sealed(words: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(HEAD + words.len() + CHECKSUM);
    all.extend_from_slice(MAGIC);
    all.extend(VERSION.to_le_bytes());
    all.extend_from_slice(words);
    all.extend(crc32c::crc32c(&all).to_le_bytes());
    all
}

/// The words of such a file.
///
/// # Errors
/// It cannot be read, or [`EstateError`] inside of `InvalidData`.
pub(super) fn unseal(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    File::from(file).read_to_end(&mut all)?;
    opened(&all).map(<[u8]>::to_vec).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn opened(all: &[u8]) -> Result<&[u8], EstateError> {
    let rest = all.strip_prefix(MAGIC).ok_or(EstateError::Damaged)?;
    let (version, _) = rest.split_first_chunk::<4>().ok_or(EstateError::Damaged)?;
    let (body, sum) = all.split_last_chunk::<CHECKSUM>().ok_or(EstateError::Damaged)?;
    if body.len() < HEAD || crc32c::crc32c(body).to_le_bytes() != *sum {
        return Err(EstateError::Damaged);
    }
    match u32::from_le_bytes(*version) {
        VERSION => Ok(&body[HEAD..]),
        other => Err(EstateError::Version(other)),
    }
}

/// What a mount is, apart from its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run) struct Deed {
    /// Version of the program that serves it.
    pub(in crate::run) program: String,
    /// Device number of the file system.
    pub(in crate::run) device: (u32, u32),
    /// The data path in use, and why.
    pub(in crate::run) path: DataPath,
    pub(in crate::run) reason: String,
    /// Is data served from the own cache?
    pub(in crate::run) own_cache: bool,
    pub(in crate::run) read_only: bool,
    /// Where the model is kept, if it is.
    pub(in crate::run) model: Option<PathBuf>,
}

const PATHS: [DataPath; 3] = [DataPath::Resident, DataPath::Passthrough, DataPath::Plain];

impl Deed {
    pub(super) fn put(&self, words: &mut Vec<u8>) {
        use std::os::unix::ffi::OsStrExt;
        put_bytes(words, self.program.as_bytes());
        put_varint(words, self.device.0.into());
        put_varint(words, self.device.1.into());
        put_bytes(words, self.path.as_str().as_bytes());
        put_bytes(words, self.reason.as_bytes());
        words.extend([self.own_cache, self.read_only, self.model.is_some()].map(u8::from));
        if let Some(model) = &self.model {
            put_bytes(words, model.as_os_str().as_bytes());
        }
    }

    pub(super) fn read(words: &mut Reader<'_>) -> Result<Self, CodecError> {
        use std::os::unix::ffi::OsStringExt;
        let program = text(words)?;
        let device = (number(words)?, number(words)?);
        let word = text(words)?;
        let path = PATHS.into_iter().find(|path| path.as_str() == word);
        let path = path.ok_or_else(|| words.error("a data path"))?;
        let reason = text(words)?;
        let mut flag = || Ok(words.below(2, "yes or no")? == 1);
        let (own_cache, read_only, kept) = (flag()?, flag()?, flag()?);
        let model = if kept {
            Some(std::ffi::OsString::from_vec(words.bytes("the model's path")?.to_vec()).into())
        } else {
            None
        };
        Ok(Deed { program, device, path, reason, own_cache, read_only, model })
    }
}

fn text(words: &mut Reader<'_>) -> Result<String, CodecError> {
    Ok(String::from_utf8_lossy(words.bytes("a text")?).into_owned())
}

fn number(words: &mut Reader<'_>) -> Result<u32, CodecError> {
    Ok(words.below(1 << 32, "half of a device number")? as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sealed_comes_out_whole_or_not_at_all(words: Vec<u8>, at: usize, bit in 0..8_u8) {
            prop_assert_eq!(unseal(seal(&words).unwrap()).unwrap(), words.clone());
            let mut damaged = sealed(&words);
            let at = at % damaged.len();
            damaged[at] ^= 1 << bit;
            prop_assert!(matches!(opened(&damaged), Err(EstateError::Damaged)));
            damaged.truncate(at);
            prop_assert!(opened(&damaged).is_err());
        }
    }

    #[test]
    fn another_version_is_told_apart_from_damage() {
        let mut all = sealed(b"words");
        all.truncate(all.len() - CHECKSUM);
        all[MAGIC.len()] = 9;
        all.extend(crc32c::crc32c(&all).to_le_bytes());
        assert!(matches!(opened(&all), Err(EstateError::Version(9))));
    }

    #[test]
    fn a_deed_is_read_as_it_was_written() {
        let deed = Deed {
            program: "1.2.3".into(),
            device: (0, 57),
            path: DataPath::Passthrough,
            reason: "asked for".into(),
            own_cache: false,
            read_only: true,
            model: Some("/m".into()),
        };
        for deed in [Deed { model: None, ..deed.clone() }, deed] {
            let mut words = Vec::new();
            deed.put(&mut words);
            assert_eq!(Deed::read(&mut Reader::new(&words)), Ok(deed));
            assert!((0..words.len()).all(|cut| Deed::read(&mut Reader::new(&words[..cut])).is_err()));
        }
    }
}
