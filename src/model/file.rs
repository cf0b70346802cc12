//! The model as a file: written so that a crash leaves the old one or the new one, never half of each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Largest file that is read at all: several times what a full history of long names takes. Anything
/// larger is not ours.
const SIZE_MAX: u64 = 1 << 30;
/// Damaged files kept beside the model, at most.
const SET_ASIDE_MAX: u32 = 100;

/// Replaces `path` by `bytes`: temporary file beside it (mode 0600), written, synced, renamed.
///
/// # Errors
/// What the system said; the old file is then untouched and the temporary one is gone.
pub fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = beside(path, &format!("tmp-{}", std::process::id()))?;
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(directory)?.sync_all()
}

/// Reads the whole file.
///
/// # Errors
/// What the system said (`NotFound` when there is none yet), `InvalidInput` for what is no regular file,
/// `FileTooLarge` for what cannot be a model.
pub fn load(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A fifo would be waited for, and a device could have no end.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    file.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Moves a damaged or foreign file out of the way, to `PATH.damaged-<n>`. Returns where it is now.
///
/// # Errors
/// What the system said; `AlreadyExists` when a hundred of them lie there.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=SET_ASIDE_MAX {
        let aside = beside(path, &format!("damaged-{number}"))?;
        if fs::symlink_metadata(&aside).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            fs::rename(path, &aside)?;
            return Ok(aside);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn beside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".");
    name.push(suffix);
    Ok(path.with_file_name(name))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Left by a process of the same number that died; never follow what might lie there instead.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_model_is_replaced_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        assert_eq!(load(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        store(&path, b"old").unwrap();
        store(&path, b"new").unwrap();
        assert_eq!(load(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert!(store(&dir.path().join("missing/model"), b"x").is_err());
        let occupied = dir.path().join("occupied");
        fs::create_dir(&occupied).unwrap();
        assert!(store(&occupied, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(store(Path::new("/"), b"x").is_err());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let status = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(status.success());
        for path in [&*fifo, Path::new("/dev/zero"), dir.path()] {
            assert_eq!(load(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
    }

    #[test]
    fn damaged_files_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        for number in 1..=3 {
            store(&path, b"bad").unwrap();
            assert_eq!(set_aside(&path).unwrap(), dir.path().join(format!("model.damaged-{number}")));
        }
        assert!(set_aside(&path).is_err(), "there is nothing to set aside");
    }
}
