//! The programs of a model file, read without the rest of it.
//!
//! What must stay true: whatever the file holds, little of it is read, and what is not a sound section of programs is `None`: whoever
//! reads all of it later says what is wrong.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::{MAGIC, PROGRAMS, SECTIONS_MAX, VERSION};
use crate::names::Programs;

/// Before the first section: the mark, the version, the number of sections.
const HEAD: usize = 12;
/// Before each section's content.
const SECTION_HEAD: usize = 16;
/// No machine has programs with so many bytes of names.
const MOST: u64 = 64 << 20;

/// The programs in the model file at `path`.
pub fn programs_of(path: &Path) -> Option<Programs> {
    // A fifo would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let head: [u8; HEAD] = read(&file, 0)?;
    let (version, sections) = (u16_at(&head, 8), u16_at(&head, 10));
    if head[..8] != *MAGIC || version == 0 || version > VERSION {
        return None;
    }
    let mut at = HEAD as u64;
    for _ in 0..sections.min(SECTIONS_MAX) {
        let section: [u8; SECTION_HEAD] = read(&file, at)?;
        let length = u64::from_le_bytes(section[4..12].try_into().ok()?);
        let checksum = u32::from_le_bytes(section[12..].try_into().ok()?);
        at += SECTION_HEAD as u64;
        if u16_at(&section, 0) == PROGRAMS {
            return content(&file, at, length, checksum);
        }
        at = at.checked_add(length)?;
    }
    None
}

fn content(file: &File, at: u64, length: u64, checksum: u32) -> Option<Programs> {
    let mut bytes = vec![0; usize::try_from(length.min(MOST)).ok()?];
    file.read_exact_at(&mut bytes, at).ok()?;
    (length <= MOST && crc32c::crc32c(&bytes) == checksum).then(|| Programs::load(&bytes).ok())?
}

fn read<const SIZE: usize>(file: &File, at: u64) -> Option<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::super::{Learned, encode};
    use super::*;
    use crate::names::Names;

    #[test]
    fn programs_are_found_behind_the_names() {
        let (mut names, mut programs) = (Names::new(), Programs::new());
        names.intern_path(b"a/b/c");
        let cat = programs.intern("/usr/bin/cat");
        let (mut name_bytes, mut program_bytes) = (Vec::new(), Vec::new());
        names.save(&mut name_bytes);
        programs.save(&mut program_bytes);
        let bytes = encode(&name_bytes, &program_bytes, &Learned::default());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(programs_of(&path).unwrap().identity(cat), Some("/usr/bin/cat"));
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let whole = programs_of(&path).is_none_or(|found| found.identity(cat) == Some("/usr/bin/cat"));
            assert!(whole, "cut at {length}");
        }
        let mut damaged = bytes.clone();
        let place = bytes.windows(3).position(|three| three == b"cat").unwrap();
        damaged[place] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(programs_of(&path).is_none());
        assert!(programs_of(&directory.path().join("absent")).is_none());
    }
}
