//! Asking a daemon.

use super::{Request, Response, find, line};
use crate::sys::mountinfo::Mount;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The daemon serves one client after the other, each for at most two seconds: so we may have to wait for some.
const PATIENCE: Duration = Duration::from_secs(6);
/// A report of the most programs and requests there can be is far smaller.
const LONGEST_REPLY: usize = 16 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Nothing is mounted there.
    #[error("{} is not a mountpoint", path.display())]
    NotMounted {
        /// The path asked for.
        path: PathBuf,
    },
    /// Another file system is mounted there.
    #[error("{} is a mount of type {kind}, not of augurfs", path.display())]
    NotOurs {
        /// The path asked for.
        path: PathBuf,
        /// Its type.
        kind: String,
    },
    /// It is our mount, but nobody listens.
    #[error("no daemon answers for {}: {reason}", path.display())]
    Silent {
        /// The mountpoint, or the socket.
        path: PathBuf,
        /// What was tried.
        reason: String,
    },
    /// The socket is another user's.
    #[error("only root and the user who mounted {} may ask its daemon", path.display())]
    Denied {
        /// The mountpoint, or the socket.
        path: PathBuf,
    },
    /// The daemon answered that it cannot.
    #[error("the daemon says: {0}")]
    Refused(String),
    /// The daemon answered something else.
    #[error("the daemon's answer cannot be read: {0}")]
    Garbled(String),
    /// The list of mounts could not be read.
    #[error("/proc/self/mountinfo cannot be read: {0}")]
    Proc(io::Error),
}

impl ControlError {
    /// The user knows the mountpoint, not the socket.
    fn at(self, point: PathBuf) -> Self {
        match self {
            ControlError::Silent { reason, .. } => ControlError::Silent { path: point, reason },
            ControlError::Denied { .. } => ControlError::Denied { path: point },
            other => other,
        }
    }
}

/// Asks the daemon of the mount at `mountpoint`. Never touches the mount itself.
///
/// # Errors
/// It is not our mount, nobody answers in time, or the answer is an error.
pub fn ask(mountpoint: &Path, request: Request) -> Result<Response, ControlError> {
    match find(mountpoint)? {
        (mount, Some(socket)) => ask_at(&socket, request).map_err(|error| error.at(mount.point)),
        (mount, None) => Err(no_socket(mount)),
    }
}

/// Another user's directory of sockets cannot be entered, so its sockets seem absent.
fn no_socket(mount: Mount) -> ControlError {
    let us = rustix::process::geteuid();
    if us.is_root() || mount.user() == Some(us.as_raw()) {
        return ControlError::Silent {
            path: mount.point,
            reason: "its control socket does not exist".into(),
        };
    }
    ControlError::Denied { path: mount.point }
}

/// Asks the daemon that listens at `socket`.
///
/// # Errors
/// Nobody answers in time, or the answer is an error.
pub fn ask_at(socket: &Path, request: Request) -> Result<Response, ControlError> {
    listen_at(socket, request).map(|(response, _)| response)
}

/// What a daemon sends behind its answer.
#[derive(Debug)]
pub struct Feed {
    /// What came with the answer.
    pub begun: Vec<u8>,
    /// Where the rest comes from. Reading it waits as long as it takes.
    pub stream: UnixStream,
}

/// Asks the daemon of the mount at `mountpoint` for something that does not end with the answer.
///
/// # Errors
/// As [`ask`].
pub fn listen(mountpoint: &Path, request: Request) -> Result<(Response, Feed), ControlError> {
    match find(mountpoint)? {
        (mount, Some(socket)) => listen_at(&socket, request).map_err(|error| error.at(mount.point)),
        (mount, None) => Err(no_socket(mount)),
    }
}

/// The same of the daemon that listens at `socket`.
///
/// # Errors
/// As [`ask_at`].
pub fn listen_at(socket: &Path, request: Request) -> Result<(Response, Feed), ControlError> {
    let (answer, feed) = exchange(socket, request).map_err(|e| unanswered(socket, &e))?;
    match serde_json::from_slice(&answer) {
        Ok(Response::Error { message }) => Err(ControlError::Refused(message)),
        Ok(response) => Ok((response, feed)),
        Err(e) => Err(ControlError::Garbled(e.to_string())),
    }
}

fn exchange(socket: &Path, request: Request) -> io::Result<(Vec<u8>, Feed)> {
    let mut stream = UnixStream::connect(socket)?;
    line::write(&mut stream, serde_json::to_vec(&request)?, PATIENCE)?;
    let (answer, begun) = line::read_with_rest(&mut stream, LONGEST_REPLY, PATIENCE)?;
    stream.set_read_timeout(None)?;
    Ok((answer, Feed { begun, stream }))
}

fn unanswered(socket: &Path, error: &io::Error) -> ControlError {
    let path = socket.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied => ControlError::Denied { path },
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            ControlError::Silent { path, reason: "it took too long".into() }
        }
        _ => ControlError::Silent { path, reason: error.to_string() },
    }
}
