//! Many small files: looked at, read, archived, made and removed.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::{Side, timed};
use crate::common::mounts::utf8;
use crate::common::shell::tool;
use crate::material::{self, MANY};

/// Files made and removed in one measurement.
const CREATED: usize = 2000;

/// Seconds for the attributes of all files.
pub(super) fn stat(side: &Side<'_>) -> anyhow::Result<f64> {
    let root = side.root.join("grep");
    let begun = Instant::now();
    for path in material::small_paths(&root, MANY) {
        fs::symlink_metadata(path)?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Microseconds for one file opened, read and closed, of all.
pub(super) fn open(side: &Side<'_>) -> anyhow::Result<f64> {
    let root = side.root.join("grep");
    let mut buffer = [0; 8192];
    let begun = Instant::now();
    for path in material::small_paths(&root, MANY) {
        let _ = File::open(path)?.read(&mut buffer)?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / MANY as f64)
}

pub(super) fn tar(side: &Side<'_>) -> anyhow::Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-c", "tar cf - \"$0\" 2>/dev/null | cat > /dev/null"]).arg(side.root.join("grep"));
    timed(command, side, 0)
}

/// A file of each number, made, written and removed, in microseconds.
pub(super) fn create(side: &Side<'_>) -> anyhow::Result<f64> {
    let place = side.root.join(if side.mounted { "create-mounted" } else { "create-native" });
    fs::create_dir_all(&place)?;
    let begun = Instant::now();
    for number in 0..CREATED {
        let path = place.join(format!("f{number}"));
        fs::write(&path, b"a line that is soon forgotten\n")?;
        fs::remove_file(&path)?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / CREATED as f64)
}

/// An archive of 2,000 small files.
pub(super) fn archive(root: &Path, _: u64) -> anyhow::Result<()> {
    let place = root.join("packed");
    material::small_files(&place, CREATED)?;
    let (file, place) = (root.join("packed.tar"), utf8(&place)?.to_owned());
    tool("tar", &["-cf", utf8(&file)?, "-C", &place, "."]).map(drop)
}

pub(super) fn untar(side: &Side<'_>) -> anyhow::Result<f64> {
    let place = side.root.join(if side.mounted { "untar-mounted" } else { "untar-native" });
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir(&place)?;
    let mut command = Command::new("tar");
    command.arg("-xf").arg(side.root.join("packed.tar")).arg("-C").arg(&place);
    timed(command, side, 0)
}
