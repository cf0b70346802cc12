//! `augurfs explain`: why a file was or was not warmed.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use std::os::unix::ffi::OsStrExt;

use super::words::Place;
use super::{FAILURE, complain, say};
use crate::codec::text::to_text;
use crate::live::control::{self, Request, Response};

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    place: Place,
    /// The file: below MOUNTPOINT, or relative to it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(words: &Explain) -> anyhow::Result<u8> {
    let path = below(&words.place.mountpoint, &words.file).context("no explanation")?;
    let request = Request::Explain { path: to_text(path.as_os_str().as_bytes()) };
    let Response::Explain { explanation } =
        control::ask(&words.place.mountpoint, request).context("no explanation")?
    else {
        complain("no explanation: the daemon answered another question");
        return Ok(FAILURE);
    };
    say(&if words.json {
        format!("{}\n", serde_json::to_string(&explanation)?)
    } else {
        explanation.to_string()
    })?;
    Ok(0)
}

/// The file's path below the mountpoint, from the words alone: the mount may hang.
fn below(mountpoint: &Path, file: &Path) -> anyhow::Result<PathBuf> {
    let file = if file.is_absolute() {
        let mountpoint = std::path::absolute(mountpoint)?;
        match file.strip_prefix(&mountpoint) {
            Ok(below) => below,
            Err(_) => bail!("{} is not below {}", file.display(), mountpoint.display()),
        }
    } else {
        file
    };
    let mut path = PathBuf::new();
    for component in file.components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            _ => bail!("{} leads out of the mount", file.display()),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_below_the_mountpoint() {
        let told =
            |file: &str| below(Path::new("/mnt/a"), Path::new(file)).map_err(|error| error.to_string());
        assert_eq!(told("/mnt/a/b/c"), Ok("b/c".into()));
        assert_eq!(told("./b//c"), Ok("b/c".into()));
        assert_eq!(told("/etc/passwd"), Err("/etc/passwd is not below /mnt/a".into()));
        assert_eq!(told("b/../../c"), Err("b/../../c leads out of the mount".into()));
    }
}
