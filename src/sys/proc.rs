//! What /proc tells of a process or thread: its start, parent, group, name and executable.
//!
//! What must stay true: the process may end between any two reads. Nothing here blocks on a file
//! system of ours, and a half-read answer is an error, never a guess.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;

/// Room for one `stat` or the head of one `status` file: both are a few hundred bytes, and the
/// fields wanted stand in the first thousand even with every number at its longest.
const PAGE: usize = 2048;

/// The fields of /proc/ID/stat that say which process life this is and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The name: at most 15 bytes, set by the kernel on exec or by the program itself.
    pub comm: Vec<u8>,
    /// The state letter: `Z` and `X` are dead.
    pub state: u8,
    /// Process id of the parent, 0 when it is outside our view.
    pub parent: u32,
    /// Process group, which is the shell's job.
    pub group: u32,
    /// Session: the number of the process that leads it.
    pub session: u32,
    /// Start, in clock ticks since boot. With the number it identifies one life.
    pub start: u64,
}

/// Reads /proc/ID/stat of a process or thread.
///
/// # Errors
/// `ENOENT` or `ESRCH` when it has gone, `InvalidData` when the line is not understood.
pub fn stat(id: u32) -> io::Result<Stat> {
    let mut page = [0; PAGE];
    let text = head(&format!("/proc/{id}/stat"), &mut page)?;
    parse_stat(text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The process a thread belongs to.
///
/// # Errors
/// As [`stat`].
pub fn process_of(thread: u32) -> io::Result<u32> {
    let mut page = [0; PAGE];
    let text = head(&format!("/proc/{thread}/status"), &mut page)?;
    parse_tgid(text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The path of the executable a process runs.
///
/// # Errors
/// `ENOENT` when it has gone, is a zombie or a kernel thread; `EACCES` when it is not ours to see.
pub fn executable(process: u32) -> io::Result<Vec<u8>> {
    let path = std::fs::read_link(format!("/proc/{process}/exe"))?;
    Ok(path.into_os_string().into_vec())
}

fn head<'a>(path: &str, page: &'a mut [u8; PAGE]) -> io::Result<&'a [u8]> {
    let len = File::open(path)?.read(page)?;
    Ok(&page[..len])
}

/// The name stands in parentheses and may itself hold parentheses and blanks, so it ends at the
/// last closing one.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')')?;
    let comm = text.get(open + 1..close)?.to_vec();
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Field 22 of the line; the session was field 6.
    let start = fields.nth(15)?.parse().ok()?;
    Some(Stat { comm, state, parent, group, session, start })
}

fn parse_tgid(text: &[u8]) -> Option<u32> {
    let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Tgid:"))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_full_of_parentheses_does_not_move_the_fields() {
        let line = b"42 (a) (b c) R 7 41 40 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 98765 1000 1\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.comm, b"a) (b c");
        assert_eq!((stat.state, stat.parent, stat.group, stat.start), (b'R', 7, 41, 98765));
        assert_eq!(stat.session, 40);
        assert_eq!(parse_stat(b"42 (cut off) R 7"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let own = std::process::id();
        std::thread::spawn(move || {
            let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            assert_ne!(thread, own);
            assert_eq!(process_of(thread).unwrap(), own);
        })
        .join()
        .unwrap();
        assert!(stat(own).unwrap().start > 0);
        assert!(!executable(own).unwrap().is_empty());
    }

    #[test]
    fn a_dead_child_is_a_zombie_then_nothing() {
        let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        let id = child.id();
        assert_eq!(stat(id).unwrap().parent, std::process::id());
        child.wait().unwrap();
        assert!(stat(id).is_err());
        assert!(executable(id).is_err());
    }
}
