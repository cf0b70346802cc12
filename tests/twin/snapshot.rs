//! A whole tree, in a form that two can be compared by.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, FileTypeExt, MetadataExt};
use std::path::Path;

use super::outcome::{attributes, bytes};
use super::world::extended_names;
use rustix::path::Arg;

/// Path below the root, and everything about what is there.
pub(crate) type Snapshot = BTreeMap<String, String>;

/// The tree below `root`. Names of the same file say so by the first one of them.
pub(crate) fn of(root: &Path) -> std::io::Result<Snapshot> {
    let mut all = Snapshot::new();
    let mut seen = HashMap::new();
    below(root, root, &mut seen, &mut all)?;
    all.insert(".".into(), described(root)?);
    Ok(all)
}

fn below(
    root: &Path,
    dir: &Path,
    seen: &mut HashMap<u64, String>,
    all: &mut Snapshot,
) -> std::io::Result<()> {
    let mut entries = fs::read_dir(dir)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name =
            path.strip_prefix(root).expect("below it").as_os_str().as_bytes().escape_ascii().to_string();
        let inode = fs::symlink_metadata(&path)?.ino();
        if inode != entry.ino() {
            all.insert(format!("{name} (number)"), "listed under another number than stat gives".into());
        }
        let first = seen.entry(inode).or_insert_with(|| name.clone()).clone();
        all.insert(name, format!("{}, the same as {first}", described(&path)?));
        if entry.file_type()?.is_dir() {
            below(root, &path, seen, all)?;
        }
    }
    Ok(())
}

fn described(path: &Path) -> std::io::Result<String> {
    let stat = rustix::fs::lstat(path)?;
    let kind = fs::symlink_metadata(path)?.file_type();
    let content = if kind.is_file() {
        bytes(&fs::read(path)?)
    } else if kind.is_symlink() {
        bytes(fs::read_link(path)?.as_os_str().as_bytes())
    } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_dir() {
        String::new()
    } else {
        "of no known kind".into()
    };
    let mut extended = String::new();
    for name in extended_names(path)?.split(' ').filter(|name| !name.is_empty()) {
        let raw = if name == r"user.\xfe" { b"user.\xfe".to_vec() } else { name.as_bytes().to_vec() };
        let mut room = vec![0; 4096];
        let len = rustix::fs::lgetxattr(path, raw.as_slice().into_c_str()?, &mut room[..])?;
        extended.push_str(&format!(" {name}={}", bytes(&room[..len])));
    }
    Ok(format!("{} {content}{extended}", attributes(&stat)))
}
