//! The listening side: one thread, clients one after the other, none for longer than its time.

use super::{Request, Response, line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A client that takes longer than this to ask, or to take its answer, is let go.
const PATIENCE: Duration = Duration::from_secs(2);
/// The requests there are fit many times over.
const LONGEST_REQUEST: usize = 64 << 10;

/// A listening socket. Dropping it ends the thread and removes the socket.
#[derive(Debug)]
pub struct ControlGuard {
    path: PathBuf,
    /// Closing it wakes the thread, which takes that as the end.
    waker: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// Listens at `path` and answers each request with what `handler` says.
///
/// A socket left behind by a daemon that died is replaced. The handler runs on the control thread, one request at a time; if
/// it panics, the client gets an error line. It must not drop the guard itself.
///
/// # Errors
/// `AddrInUse` when a living daemon listens there already; otherwise what the system said.
pub fn serve(
    path: &Path,
    handler: impl Fn(Request) -> Response + Send + 'static,
) -> io::Result<ControlGuard> {
    let listener = bind(path)?;
    let (waker, wake) = UnixStream::pair()?;
    let work = move || listen(&listener, &wake, &handler);
    let thread = thread::Builder::new().name("control".into()).spawn(work)?;
    Ok(ControlGuard { path: path.to_owned(), waker: Some(waker), thread: Some(thread) })
}

impl Drop for ControlGuard {
    fn drop(&mut self) {
        self.waker = None;
        if let Some(thread) = self.thread.take() {
            // It catches the handler's panics, so there is nothing to learn from its end.
            let _ = thread.join();
        }
        // Last: who waits for us to be gone waits for this. If it has gone already, so much the better.
        let _ = fs::remove_file(&self.path);
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused) {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn listen(listener: &UnixListener, wake: &UnixStream, handler: &dyn Fn(Request) -> Response) {
    loop {
        match stir(listener, wake, None) {
            Ok(Stir::Word) => {}
            Ok(Stir::Silence) => continue,
            Ok(Stir::End) => return,
            Err(e) => return log::warn!("the control socket is closed: {e}"),
        }
        // A client that has left in the meantime is no concern of ours.
        let attended = listener.accept().and_then(|(stream, _)| attend(stream, wake, handler));
        if let Err(e) = attended {
            log::debug!("a client of the control socket: {e}");
        }
    }
}

/// What a wait ended with.
enum Stir {
    Word,
    Silence,
    End,
}

fn stir(from: &impl std::os::fd::AsFd, wake: &UnixStream, patience: Option<Duration>) -> io::Result<Stir> {
    let patience = patience.map(|it| Timespec { tv_sec: it.as_secs() as i64, tv_nsec: 0 });
    let mut fds = [PollFd::new(from, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
    match poll(&mut fds, patience.as_ref()) {
        Ok(0) | Err(Errno::INTR) => Ok(Stir::Silence),
        Ok(_) if !fds[1].revents().is_empty() => Ok(Stir::End),
        Ok(_) => Ok(Stir::Word),
        Err(e) => Err(e.into()),
    }
}

fn attend(
    mut stream: UnixStream,
    wake: &UnixStream,
    handler: &dyn Fn(Request) -> Response,
) -> io::Result<()> {
    // Whoever connects and says nothing must not hold up our end.
    if !matches!(stir(&stream, wake, Some(PATIENCE))?, Stir::Word) {
        return Ok(());
    }
    let response = match line::read(&mut stream, LONGEST_REQUEST, PATIENCE) {
        Ok(request) => answer(&request, handler),
        Err(e) if e.kind() == io::ErrorKind::InvalidData => unreadable(&e),
        Err(e) => return Err(e),
    };
    line::write(&mut stream, serde_json::to_vec(&response)?, PATIENCE)
}

fn answer(line: &[u8], handler: &dyn Fn(Request) -> Response) -> Response {
    let request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(e) => return unreadable(&e),
    };
    let failed = |_| Response::Error { message: "an internal error; the mount goes on".into() };
    catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(failed)
}

fn unreadable(why: &dyn std::fmt::Display) -> Response {
    Response::Error { message: format!("the request cannot be read: {why}") }
}

#[cfg(test)]
mod tests;
