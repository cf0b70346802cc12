//! Which socket belongs to which mount.
//!
//! Every user has a directory of sockets that only that user can enter; in it, a socket is named after the device number of
//! its mount. Nothing here looks at the mountpoint itself.

use super::ControlError;
use crate::sys::mountinfo::{self, Mount};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Every socket with a name, those of other users too.
const SOCKETS: &str = "/proc/net/unix";
/// The type of our mounts.
const KIND: &str = "fuse.augurfs";

/// The mount at `mountpoint` and its daemon's socket, if there is one.
///
/// # Errors
/// Nothing is mounted there, or something that is not ours.
pub fn find(mountpoint: &Path) -> Result<(Mount, Option<PathBuf>), ControlError> {
    let path = resolve(mountpoint);
    let Some(mount) = mountinfo::at(&path).map_err(ControlError::Proc)? else {
        return Err(ControlError::NotMounted { path });
    };
    if !is_ours(&mount) {
        return Err(ControlError::NotOurs { path, kind: mount.kind });
    }
    let socket = socket_of(&mount);
    Ok((mount, socket))
}

/// Is it a mount of augurfs? One whose type was renamed is known by its socket.
pub fn is_ours(mount: &Mount) -> bool {
    mount.kind == KIND || (mount.kind.starts_with("fuse") && socket_of(mount).is_some())
}

/// The path under which the kernel knows a mountpoint the user has named: absolute, without links.
///
/// The last component is not followed into the mount: only whether it is a link is asked, which the kernel answers
/// without the file system.
pub fn resolve(mountpoint: &Path) -> PathBuf {
    let given = std::path::absolute(mountpoint).unwrap_or_else(|_| mountpoint.to_owned());
    // Without the slash at the end, which would ask for the directory behind a link.
    let given: PathBuf = given.components().collect();
    if matches!(mountinfo::at(&given), Ok(Some(_))) {
        return given;
    }
    match (given.parent().map(fs::canonicalize), given.file_name()) {
        (Some(Ok(parent)), Some(name)) if fs::read_link(&given).is_err() => parent.join(name),
        _ => fs::canonicalize(&given).unwrap_or(given),
    }
}

/// Where the daemon of a mount with this device number listens. Makes the directory.
///
/// # Errors
/// No directory could be made that is ours alone.
pub fn own_socket(device: (u32, u32)) -> io::Result<PathBuf> {
    let mut refusal = io::Error::from(io::ErrorKind::NotFound);
    for directory in directories(rustix::process::geteuid().as_raw()) {
        match make_private(&directory) {
            Ok(()) => return Ok(directory.join(name(device))),
            Err(e) => refusal = e,
        }
    }
    Err(refusal)
}

/// The socket of a mount, if it is there and belongs to the user who made the mount.
fn socket_of(mount: &Mount) -> Option<PathBuf> {
    let user = mount.user().unwrap_or(0);
    let usual = directories(user).into_iter().map(|directory| directory.join(name(mount.device)));
    let theirs = |socket: &PathBuf| fs::symlink_metadata(socket).is_ok_and(|it| it.uid() == user);
    usual.into_iter().find(theirs).or_else(|| elsewhere(mount.device).into_iter().find(theirs))
}

/// Where sockets of that name are, for a user whose `XDG_RUNTIME_DIR` we do not know: the kernel lists all that somebody listens on.
fn elsewhere(device: (u32, u32)) -> Vec<PathBuf> {
    let listed = fs::read(SOCKETS).unwrap_or_default();
    listed_as(&listed, &format!("/augurfs/{}", name(device)))
}

/// The paths in the kernel's list that end so. In its lines they come last, behind seven columns.
fn listed_as(list: &[u8], end: &str) -> Vec<PathBuf> {
    let path = |line: &[u8]| {
        let at = line.iter().position(|&byte| byte == b'/')?;
        line.ends_with(end.as_bytes()).then(|| PathBuf::from(OsStr::from_bytes(&line[at..])))
    };
    list.split(|&byte| byte == b'\n').filter_map(path).collect()
}

/// The directories in which a user's sockets may lie, the preferred one first.
fn directories(user: u32) -> Vec<PathBuf> {
    let fallback = PathBuf::from(format!("/tmp/augurfs-{user}"));
    if user == 0 {
        return vec!["/run/augurfs".into(), fallback];
    }
    let own = rustix::process::geteuid().as_raw() == user;
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| own).map(PathBuf::from);
    let session =
        session.filter(|path| path.is_absolute()).unwrap_or_else(|| format!("/run/user/{user}").into());
    vec![session.join("augurfs"), fallback]
}

fn name(device: (u32, u32)) -> String {
    format!("{}-{}.sock", device.0, device.1)
}

/// In `/tmp` anybody could have put something of that name before us.
fn make_private(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let found = fs::symlink_metadata(directory)?;
    let own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is not ours alone", directory.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_directory_must_be_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let private = dir.path().join("a");
        make_private(&private).unwrap();
        assert_eq!(fs::metadata(&private).unwrap().mode() & 0o777, 0o700);
        make_private(&private).unwrap();
        fs::set_permissions(&private, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(&private).is_err());
        symlink(dir.path(), dir.path().join("link")).unwrap();
        assert!(make_private(&dir.path().join("link")).is_err());
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(make_private(&dir.path().join("file")).is_err());
    }

    #[test]
    fn links_on_the_way_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(real.join("mnt")).unwrap();
        symlink(&real, real.join("way")).unwrap();
        symlink("mnt", real.join("last")).unwrap();
        for named in ["mnt", "way/mnt", "last", "mnt/.", "mnt/", "last/", "mnt/../mnt"] {
            assert_eq!(resolve(&real.join(named)), real.join("mnt"), "{named}");
        }
        assert_eq!(resolve(&real.join("absent")), real.join("absent"));
        assert_eq!(resolve(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn what_is_not_ours_is_told_apart() {
        let other = find(Path::new("/proc")).unwrap_err();
        assert_eq!(other.to_string(), "/proc is a mount of type proc, not of augurfs");
        let nothing = find(Path::new("/proc/sys/kernel")).unwrap_err();
        assert!(matches!(nothing, ControlError::NotMounted { .. }), "{nothing}");
    }

    #[test]
    fn a_socket_is_found_in_the_kernels_list() {
        let list = b"Num RefCount Protocol Flags Type St Inode Path\n\
            0000: 00000002 00000000 00010000 0001 01 2401 /odd dir/augurfs/0-59.sock\n\
            0000: 00000002 00000000 00010000 0001 01 2402 /run/augurfs/0-590.sock\n\
            0000: 00000003 00000000 00000000 0001 03 2403\n";
        assert_eq!(listed_as(list, "/augurfs/0-59.sock"), [Path::new("/odd dir/augurfs/0-59.sock")]);
        let dir = tempfile::tempdir().unwrap();
        let own = fs::canonicalize(dir.path()).unwrap().join("augurfs");
        fs::create_dir(&own).unwrap();
        let _ear = std::os::unix::net::UnixListener::bind(own.join("4000000-1.sock")).unwrap();
        assert_eq!(elsewhere((4_000_000, 1)), [own.join("4000000-1.sock")]);
    }

    #[test]
    fn a_users_sockets_are_looked_for_where_that_user_puts_them() {
        assert_eq!(directories(0), [Path::new("/run/augurfs"), Path::new("/tmp/augurfs-0")]);
        // No user of this number runs the tests, so the environment is not asked.
        let other = directories(4_000_000);
        assert_eq!(other, [Path::new("/run/user/4000000/augurfs"), Path::new("/tmp/augurfs-4000000")]);
    }
}
