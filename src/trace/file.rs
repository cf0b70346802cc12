//! Traces in the file system: only regular files, and a new one replaces an old one when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::{MAGIC, Reader, TraceError};
use crate::sys::filesystem::is_made_up;

/// Opens a trace for reading.
///
/// # Errors
/// There is none, it is no regular file, or no trace.
pub fn open(path: &Path) -> Result<Reader<File>, TraceError> {
    let name = path.display().to_string();
    // A fifo would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).and_then(regular);
    match file {
        Ok(file) => Reader::new(file, name),
        Err(error) => Err(TraceError::Read { name, error }),
    }
}

/// Opens a file to be written piece by piece, readable by its owner only. What was in it stays until the caller empties it.
///
/// # Errors
/// What the system says; `InvalidInput` when there is something else than a regular file, or in it something else than a
/// trace.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    options.open(path).and_then(regular).and_then(expendable)
}

/// A file that may be overwritten: empty, or a trace. One in /proc only seems to be empty.
fn expendable(file: File) -> io::Result<File> {
    let mut head = [0; MAGIC.len()];
    let kept = file.metadata()?.len() > 0 && !(file.read_exact_at(&mut head, 0).is_ok() && head == *MAGIC);
    if kept || is_made_up(&file) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "there is something else than a trace in it",
        ));
    }
    Ok(file)
}

/// Makes or replaces a file by what `write` writes: the old one stays until the new one is whole, and nothing half-written is left.
///
/// # Errors
/// What `write` says, or what keeps the file from being made.
pub fn replace<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    let unwritten = |error| TraceError::Write { name: path.display().to_string(), error };
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(unwritten(not_regular()));
    }
    let temporary = Temporary::beside(path).map_err(unwritten)?;
    let mut out = BufWriter::new(temporary.create().map_err(unwritten)?);
    let written = write(&mut out)?;
    let synced = out.flush().and_then(|()| out.get_ref().sync_all());
    synced.and_then(|()| fs::rename(&temporary.0, path)).map_err(unwritten)?;
    Ok(written)
}

/// A name beside the one that is meant; what has it is removed in the end, unless it was renamed.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn beside(path: &Path) -> io::Result<Self> {
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".tmp-{}", std::process::id()));
        Ok(Temporary(path.with_file_name(name)))
    }

    fn create(&self) -> io::Result<File> {
        // Left by a process of the same number that died; what it points to, should it be a link, stays.
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(_: &mut BufWriter<File>) -> Result<(), TraceError> {
        Err(TraceError::Foreign { name: "x".into() })
    }

    #[test]
    fn only_traces_are_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        assert!(create(&path).is_ok(), "nothing was there");
        assert!(create(&path).is_ok(), "an empty file was there");
        fs::write(&path, [&MAGIC[..], b"and more"].concat()).unwrap();
        assert!(create(&path).is_ok(), "a trace was there");
        for other in [&b"a model"[..], b"x"] {
            fs::write(&path, other).unwrap();
            assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert_eq!(fs::read(&path).unwrap(), other, "it is as it was");
        }
        assert!(create(Path::new("/proc/self/comm")).is_err());
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        assert!(replace(&path, failing).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replace(&path, |out| {
            out.write_all(b"new").map_err(|error| TraceError::Write { name: String::new(), error })
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn only_regular_files_are_written_or_read() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [Path::new("/dev/null"), dir.path(), &link] {
            assert!(replace(path, |_| Ok(())).is_err(), "{}", path.display());
            assert!(create(path).is_err(), "{}", path.display());
        }
        assert!(open(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a regular file"));
        assert_eq!(fs::read(&target).unwrap(), b"old");
    }
}
