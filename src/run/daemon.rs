//! Going to the background.
//!
//! The program starts itself again instead of forking, so no thread and no lock can be caught half-way. The one in front waits
//! until the one behind says that the mount is there, and ends with its verdict; until then the one behind
//! complains on the same standard error. Its command line shows source and mountpoint, for `ps`.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a process that it is the one behind, and that its standard output leads to the one in front.
const MARK: &str = "AUGURFS_BACKGROUND";
/// What it says when the mount is there.
const READY: &[u8] = b"ready\n";

/// Where the system's log takes datagrams; the journal listens there too.
const SYSTEM_LOG: &str = "/dev/log";
static SPEAKS: AtomicBool = AtomicBool::new(false);

/// Does what is said on standard error go to the system's log, a record a write, each of which has to say who speaks?
pub fn speaks_to_the_system_log() -> bool {
    SPEAKS.load(Ordering::Relaxed)
}

/// The duty to say when the mount is there.
#[derive(Debug)]
pub struct Readiness {
    wire: Option<File>,
}

impl Readiness {
    /// That of this process. In the background it leaves the terminal's session and takes hold of the line to the front.
    ///
    /// # Errors
    /// Descriptors or the session could not be arranged.
    pub fn of_process() -> io::Result<Self> {
        if std::env::var_os(MARK).is_none() {
            return Ok(Readiness { wire: None });
        }
        // Fails only for the leader of a group, who has left nothing to leave.
        let _ = rustix::process::setsid();
        let wire = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(null()?)?;
        Ok(Readiness { wire: Some(File::from(wire)) })
    }

    /// The mount is there. In the background, nothing ties us to where we were started from then on: directory, terminal, pipes.
    ///
    /// # Errors
    /// Whoever started us has gone in the meantime: the mount is not wanted any more.
    pub fn ready(self) -> io::Result<()> {
        let Some(mut wire) = self.wire else { return Ok(()) };
        std::env::set_current_dir("/")?;
        match system_log() {
            Ok(log) => {
                rustix::stdio::dup2_stderr(log)?;
                SPEAKS.store(true, Ordering::Relaxed);
            }
            Err(_) => rustix::stdio::dup2_stderr(null()?)?,
        }
        wire.write_all(READY)
    }
}

/// Was this process, or one that it goes on for, started to stay behind?
pub(super) fn is_behind() -> bool {
    std::env::var_os(MARK).is_some()
}

/// This process goes on for another: its standard error leads where the other's did.
pub(super) fn speak_as_before() {
    let leads_to_a_socket = rustix::fs::fstat(rustix::stdio::stderr())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_socket());
    SPEAKS.store(is_behind() && leads_to_a_socket, Ordering::Relaxed);
}

fn system_log() -> io::Result<UnixDatagram> {
    let log = UnixDatagram::unbound()?;
    // A log that is behind must not hold up who speaks.
    log.set_nonblocking(true)?;
    log.connect(SYSTEM_LOG)?;
    Ok(log)
}

fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

/// How the one behind ended without a mount. What was to be said, it has said itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Launch {
    /// The mount is there.
    Mounted,
    /// It gave up, with this exit code.
    GaveUp(u8),
    /// A signal ended it.
    Killed(i32),
}

/// Starts `program` with `arguments` in the background and waits for its verdict.
///
/// # Errors
/// It could not be started, or not be waited for.
pub fn launch(program: &Path, arguments: &[OsString]) -> io::Result<Launch> {
    let (mut wire, far_end) = io::pipe()?;
    let mut command = Command::new(program);
    command.arg0("augurfs").args(arguments).env(MARK, "1").stdin(Stdio::null()).stdout(far_end);
    let mut child = command.spawn()?;
    // It holds our copy of the far end: without it, the line ends when the child does.
    drop(command);
    let mut said = Vec::new();
    wire.read_to_end(&mut said)?;
    if said == READY {
        return Ok(Launch::Mounted);
    }
    Ok(verdict(child.wait()?))
}

fn verdict(status: ExitStatus) -> Launch {
    match (status.code(), status.signal()) {
        (Some(code), _) => Launch::GaveUp(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => Launch::Killed(signal.unwrap_or_default()),
    }
}

/// The program we are, to be started again. Its path, so that `ps` shows its name; where that has gone, what /proc still holds.
pub fn own_program() -> PathBuf {
    let path = std::env::current_exe().unwrap_or_default();
    if path.is_file() { path } else { PathBuf::from("/proc/self/exe") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Launch {
        launch(Path::new("/bin/sh"), &["-c".into(), script.into()]).unwrap()
    }

    #[test]
    fn the_front_waits_for_the_verdict() {
        assert_eq!(shell("echo ready; exec >&-; sleep 0.1"), Launch::Mounted);
        assert_eq!(shell("exit 32"), Launch::GaveUp(32));
        assert_eq!(shell("exit 0"), Launch::GaveUp(0));
        assert_eq!(shell("kill -9 $$"), Launch::Killed(9));
        assert_eq!(shell("test \"$AUGURFS_BACKGROUND\" || exit 9; exit 4"), Launch::GaveUp(4));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(launch(Path::new("/no/such/program"), &[]).is_err());
    }

    #[test]
    fn in_front_readiness_is_nobodys_business() {
        Readiness::of_process().unwrap().ready().unwrap();
    }
}
