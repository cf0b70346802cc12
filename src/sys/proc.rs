//! What /proc tells of a process or thread: its start, parent, group, name and executable.
//!
//! What must stay true: the process may end between any two reads. Nothing here blocks on a file
//! system of ours, and a half-read answer is an error, never a guess.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

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

/// Has this thread, which waits for something, a signal that it would act on? "No" when it cannot be seen.
pub fn is_interrupted(thread: u32) -> bool {
    // All of it: a long list of groups stands before the signals.
    std::fs::read(format!("/proc/{thread}/status")).is_ok_and(|status| acts_on_signal(&status))
}

fn acts_on_signal(status: &[u8]) -> bool {
    let set = |name| field(status, name).and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(0);
    (set("SigPnd:") | set("ShdPnd:")) & !set("SigBlk:") & !set("SigIgn:") != 0
}

/// The number of flock(2) for 32-bit programs on x86 and arm. No other call of that number asks for a lock.
const COMPAT_FLOCK: i64 = 143;

/// A thread that has handed a request to us falls asleep within this time.
const DOZE: Duration = Duration::from_millis(20);

/// Is this thread, which waits for an answer from us, in flock(2)?
pub fn is_in_flock(thread: u32) -> bool {
    let start = Instant::now();
    let mut page = [0; PAGE];
    while let Ok(text) = head(&format!("/proc/{thread}/syscall"), &mut page) {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.split_whitespace().next());
        match number {
            // It has not fallen asleep yet.
            Some("running") if start.elapsed() < DOZE => std::thread::sleep(Duration::from_micros(20)),
            number => {
                let number = number.and_then(|number| number.parse::<i64>().ok());
                return number.is_some_and(|number| number == libc::SYS_flock || number == COMPAT_FLOCK);
            }
        }
    }
    false
}

/// Can it be seen in which system call other users' threads wait?
pub fn tells_system_calls() -> bool {
    rustix::process::geteuid().is_root() && std::fs::read("/proc/self/syscall").is_ok()
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
    field(text, "Tgid:")?.parse().ok()
}

/// What stands after `name` in a `status` file.
fn field<'a>(text: &'a [u8], name: &str) -> Option<&'a str> {
    let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name.as_bytes()))?;
    Some(std::str::from_utf8(line).ok()?.trim())
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
    fn only_signals_that_are_neither_blocked_nor_ignored_interrupt() {
        let status = |thread, process, blocked, ignored| {
            let lines = format!(
                "Name:\tx\nSigPnd:\t{thread:016x}\nShdPnd:\t{process:016x}\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\n"
            );
            acts_on_signal(lines.as_bytes())
        };
        assert!(status(1, 0, 0, 0) && status(0, 1, 0, 0) && status(3, 0, 1, 0));
        assert!(!status(0, 0, 0, 0) && !status(1, 0, 1, 0) && !status(0, 1, 0, 1));
        assert!(!is_interrupted(0));
    }

    #[test]
    fn a_thread_in_flock_is_told_from_others() {
        let file = tempfile::tempfile().unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&file));
        let mut waits = Command::new("flock").args([&path, "true"]).spawn().unwrap();
        let mut sleeps = Command::new("sleep").arg("100").spawn().unwrap();
        let start = Instant::now();
        while !is_in_flock(waits.id()) {
            assert!(start.elapsed() < Duration::from_secs(30));
        }
        assert!(!is_in_flock(sleeps.id()) && !is_in_flock(0));
        drop(file);
        assert!(waits.wait().unwrap().success());
        sleeps.kill().unwrap();
        sleeps.wait().unwrap();
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
