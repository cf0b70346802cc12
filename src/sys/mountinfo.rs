//! What is mounted where, from /proc/self/mountinfo. Reading it asks no file system anything, so it cannot hang.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of its device: what `stat` gives for files on it.
    pub device: (u32, u32),
    /// Which directory of its file system is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Type of file system, like `ext4` or `fuse.augurfs`.
    pub kind: String,
    /// What is mounted, as its file system calls it.
    pub source: OsString,
    /// Options of its file system, separated by commas.
    pub options: String,
}

impl Mount {
    /// For a FUSE mount: the user who made it.
    pub fn user(&self) -> Option<u32> {
        self.options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
    }
}

/// Where mounts never cease to come and go, the last reading has to do.
const ATTEMPTS: usize = 8;

/// All mounts we can see, in the order of mounting.
///
/// # Errors
/// /proc is not there.
pub fn read() -> io::Result<Vec<Mount>> {
    Ok(parse(&steady(|| fs::read("/proc/self/mountinfo"))?))
}

/// The table as it was at one moment. The kernel gives it out in pieces, and while mounts come and go
/// between two of them others may be passed over: two equal readings are believed.
fn steady(mut read: impl FnMut() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut before = read()?;
    for _ in 0..ATTEMPTS {
        let now = read()?;
        if now == before {
            break;
        }
        before = now;
    }
    Ok(before)
}

/// As `read`, from a `table` opened before: needs no descriptor.
///
/// # Errors
/// What seek(2) and read(2) give.
pub fn read_from(mut table: &File) -> io::Result<Vec<Mount>> {
    let text = steady(|| {
        table.rewind()?;
        let mut text = Vec::new();
        table.read_to_end(&mut text)?;
        Ok(text)
    })?;
    Ok(parse(&text))
}

/// The mount at `point`; where several lie on top of each other, the one on top.
///
/// # Errors
/// /proc is not there.
pub fn at(point: &Path) -> io::Result<Option<Mount>> {
    Ok(read()?.into_iter().rev().find(|mount| mount.point == point))
}

/// Lines that are not what proc(5) promises are left out.
fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// `36 35 98:0 /root /point options tags... - type source options`
fn line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    let text = |field: &[u8]| String::from_utf8_lossy(&unescape(field)).into_owned();
    Some(Mount {
        device: device(fields.get(2)?)?,
        root: PathBuf::from(OsString::from_vec(unescape(fields.get(3)?))),
        point: PathBuf::from(OsString::from_vec(unescape(fields.get(4)?))),
        kind: text(fields.get(dash + 1)?),
        source: OsString::from_vec(unescape(fields.get(dash + 2)?)),
        options: text(fields.get(dash + 3)?),
    })
}

fn device(field: &[u8]) -> Option<(u32, u32)> {
    let (major, minor) = std::str::from_utf8(field).ok()?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The kernel writes blanks, newlines and backslashes as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[4..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

fn octal(escape: &[u8]) -> Option<u8> {
    let digits = escape.strip_prefix(b"\\")?.get(..3)?;
    let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?;
    u8::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_changed_meanwhile_is_read_again() {
        let mut readings = ["half", "whole", "whole", "later"].into_iter();
        let text = steady(|| Ok(readings.next().unwrap().into())).unwrap();
        assert_eq!((text, readings.next()), (b"whole".to_vec(), Some("later")));
    }

    const SAMPLE: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 22 0:51 / /mnt/a\\040b\\134c rw,nosuid shared:7 master:2 - fuse.augurfs /srv/x\\012y rw,user_id=1000,group_id=0\n\
        broken line\n\
        41 22 0:52 / /mnt/\xff rw - tmpfs none rw\n";

    #[test]
    fn lines_are_read_with_their_escapes() {
        let mounts = parse(SAMPLE);
        assert_eq!(mounts.len(), 3);
        let fuse = &mounts[1];
        assert_eq!((fuse.device, fuse.point.as_path()), ((0, 51), Path::new("/mnt/a b\\c")));
        assert_eq!((fuse.kind.as_str(), fuse.source.to_str()), ("fuse.augurfs", Some("/srv/x\ny")));
        assert_eq!((fuse.user(), mounts[0].user()), (Some(1000), None));
        assert_eq!(mounts[2].point.as_os_str().len(), 6);
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(unescape(b"a\\9b\\04"), b"a\\9b\\04");
        assert_eq!(unescape(b"\\+12\\777"), b"\\+12\\777");
    }

    #[test]
    fn the_root_of_this_machine_is_mounted() {
        assert!(at(Path::new("/")).unwrap().is_some());
        assert_eq!(at(Path::new("/no/such/mount")).unwrap(), None);
    }
}
