//! Processes as /proc shows them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of memory this process holds; 0 where /proc cannot say.
pub fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Does a process of that number run? One that has ended and only waits for its parent does not.
pub fn runs(pid: u32) -> bool {
    let stat = fs::read(directory(pid).join("stat")).unwrap_or_default();
    // The state follows the name, which stands in parentheses and may contain more of them.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|at| stat.get(at + 2)).is_some_and(|state| !matches!(state, b'Z' | b'X'))
}

/// A process that holds something open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name, as `ps` shows it.
    pub name: String,
    /// One of the things it holds.
    pub what: PathBuf,
}

/// Processes whose directory, root, program, open or mapped files lie at or below `path`, as far as we may look.
/// Only links in /proc are read; the files themselves are not touched.
///
/// # Errors
/// /proc is not there.
pub fn holders(path: &Path) -> io::Result<Vec<Holder>> {
    let pids = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let pids: Vec<u32> = pids.collect();
    let those = |held: fn(u32, &Path) -> Option<PathBuf>| -> Vec<Holder> {
        let holder = |&pid: &u32| Some(Holder { pid, what: held(pid, path)?, name: name(pid) });
        pids.iter().filter_map(holder).collect()
    };
    let found = those(opened);
    // Looking at what is mapped may wait for a process that hangs: only when there is nobody else.
    Ok(if found.is_empty() { those(mapped) } else { found })
}

fn opened(pid: u32, path: &Path) -> Option<PathBuf> {
    let links = ["cwd", "root", "exe"].map(|link| directory(pid).join(link));
    any_link(pid, "fd", path).or_else(|| links.into_iter().find_map(|link| target(link, path)))
}

fn mapped(pid: u32, path: &Path) -> Option<PathBuf> {
    any_link(pid, "map_files", path)
}

/// One of the links in a directory of the process that leads to `path` or below.
fn any_link(pid: u32, list: &str, path: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory(pid).join(list)).into_iter().flatten();
    entries.filter_map(|entry| target(entry.ok()?.path(), path)).next()
}

fn target(link: PathBuf, path: &Path) -> Option<PathBuf> {
    fs::read_link(link).ok().filter(|target| target.starts_with(path))
}

fn name(pid: u32) -> String {
    let comm = fs::read(directory(pid).join("comm")).unwrap_or_default();
    String::from_utf8_lossy(comm.trim_ascii_end()).into_owned()
}

fn directory(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_a_file_open_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let found = |path: &Path| holders(path).unwrap().iter().any(|holder| holder.pid == own);
        assert!(!found(dir.path()));
        let _file = fs::File::create(dir.path().join("held")).unwrap();
        assert!(found(dir.path()));
        let all = holders(dir.path()).unwrap();
        assert_eq!(all.iter().find(|it| it.pid == own).unwrap().what, dir.path().join("held"));
    }

    #[test]
    fn a_process_nobody_has_waited_for_does_not_run() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(runs(child.id()));
        child.kill().unwrap();
        let start = std::time::Instant::now();
        while runs(child.id()) {
            assert!(start.elapsed().as_secs() < 5);
        }
        assert!(directory(child.id()).exists());
        child.wait().unwrap();
    }

    #[test]
    fn we_run_and_take_memory() {
        assert!(runs(std::process::id()) && !runs(u32::MAX));
        assert!(resident_bytes() > 100_000);
    }
}
