//! What the service manager is told: sd_notify(3)'s protocol, a datagram to the socket it names.
//!
//! What must stay true: telling never fails a mount and never waits for long; without a manager nothing is told.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The mount answers.
pub(super) const READY: &str = "READY=1";
/// The end has begun.
pub(super) const STOPPING: &str = "STOPPING=1";

/// Tells the manager of this process, if it has one.
pub(super) fn tell(state: &str) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(&socket, state)
    {
        log::warn!("the service manager cannot be told: {error}");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let from = UnixDatagram::unbound()?;
    from.set_nonblocking(true)?;
    from.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_arrives_by_name_and_by_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("augurfs-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let ears = [UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind_addr(&abstract_name).unwrap()];
        send(path.as_os_str(), READY).unwrap();
        send(OsStr::new(&format!("@{name}")), READY).unwrap();
        for ear in ears {
            let mut said = [0; 32];
            let len = ear.recv(&mut said).unwrap();
            assert_eq!(&said[..len], READY.as_bytes());
        }
    }

    #[test]
    fn nobody_there_is_an_error_and_no_wait() {
        assert!(send(OsStr::new("/no/such/socket"), READY).is_err());
        assert!(send(OsStr::new(""), READY).is_err());
    }
}
