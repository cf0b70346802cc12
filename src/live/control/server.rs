//! The listening side: one thread, clients one after the other, none for longer than its time.

use super::{Request, Response, line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A client that takes longer than this to ask, or to take its answer, is let go.
const PATIENCE: Duration = Duration::from_secs(2);
/// When not even the reserve helped, so long passes before the next attempt.
const SHORTAGE: Duration = Duration::from_millis(100);
/// The requests there are fit many times over.
const LONGEST_REQUEST: usize = 64 << 10;

/// A listening socket. Dropping it ends the thread and removes the socket.
#[derive(Debug)]
pub struct ControlGuard {
    path: PathBuf,
    /// The socket's own inode: by the end another daemon's socket may have the name.
    inode: u64,
    /// Closing it wakes the thread, which takes that as the end.
    waker: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// What is said to a request.
pub enum Answer {
    /// One line, and that is all.
    Line(Response),
    /// A line, and then the connection belongs to somebody else, who must not take up the calling thread's time.
    Feed(Response, Box<dyn FnOnce(UnixStream)>),
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Answer::Line(response)
    }
}

type Handler = dyn Fn(Request) -> Answer;

/// Listens at `path` and answers each request with what `handler` says.
///
/// What has that name already is replaced: it was left behind by a daemon that died, or belongs to one that is about to end,
/// since device numbers are handed out again as soon as a mount is gone. The handler runs on the control thread, one request at a
/// time; if it panics, the client gets an error line. It must not drop the guard itself.
///
/// # Errors
/// The socket could not be made, or the thread not started.
pub fn serve<A: Into<Answer>>(
    path: &Path,
    handler: impl Fn(Request) -> A + Send + 'static,
) -> io::Result<ControlGuard> {
    let handler = move |request| handler(request).into();
    let (listener, inode) = bind(path)?;
    let (waker, wake) = UnixStream::pair()?;
    let reserve = Reserve::new();
    let work = move || listen(&listener, reserve, &wake, &handler);
    let thread = thread::Builder::new().name("control".into()).spawn(work)?;
    Ok(ControlGuard { path: path.to_owned(), inode, waker: Some(waker), thread: Some(thread) })
}

impl Drop for ControlGuard {
    fn drop(&mut self) {
        self.waker = None;
        if let Some(thread) = self.thread.take() {
            // It catches the handler's panics, so there is nothing to learn from its end.
            let _ = thread.join();
        }
        if inode(&self.path).is_ok_and(|found| found == self.inode) {
            // If it has gone in this moment, so much the better.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Made beside its place and moved there, so that whoever finds it can connect.
fn bind(path: &Path) -> io::Result<(UnixListener, u64)> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    match fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = UnixListener::bind(&beside)?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    let inode = inode(&beside)?;
    fs::rename(&beside, path)?;
    Ok((listener, inode))
}

fn inode(path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.ino())
}

fn listen(listener: &UnixListener, mut reserve: Reserve, wake: &UnixStream, handler: &Handler) {
    loop {
        match stir(listener, wake, None) {
            Ok(Stir::Word) => {}
            Ok(Stir::Silence) => continue,
            Ok(Stir::End) => return,
            Err(e) => return log::warn!("the control socket is closed: {e}"),
        }
        // A client that has left in the meantime is no concern of ours.
        match reserve.accept(listener).and_then(|stream| attend(stream, wake, handler)) {
            Ok(Some(stream)) => reserve.refill(stream),
            Ok(None) => {}
            Err(e) => log::debug!("a client of the control socket: {e}"),
        }
    }
}

/// A descriptor to give up when there are no others: a client that cannot be let in stays at the door, and we would ask for
/// it again and again. And just then somebody wants to know what is going on.
struct Reserve(Option<OwnedFd>);

impl Reserve {
    fn new() -> Self {
        // Without one, the next wait is all that can be done.
        Reserve(fs::File::open("/dev/null").ok().map(Into::into))
    }

    fn accept(&mut self, listener: &UnixListener) -> io::Result<UnixStream> {
        if self.0.is_none() {
            *self = Reserve::new();
        }
        let accepted = match listener.accept() {
            Err(error) if is_shortage(&error) && self.0.take().is_some() => listener.accept(),
            accepted => accepted,
        };
        if accepted.as_ref().is_err_and(is_shortage) {
            thread::sleep(SHORTAGE);
        }
        accepted.map(|(stream, _)| stream)
    }

    /// Takes the descriptor of a client who has been answered, if there is none: closed, it would be somebody else's at once.
    fn refill(&mut self, stream: UnixStream) {
        if self.0.is_none() && stream.shutdown(Shutdown::Both).is_ok() {
            self.0 = Some(stream.into());
        }
    }
}

/// Are there no descriptors left for us, or for anybody?
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
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

/// Gives the connection back, unless it belongs to somebody else now.
fn attend(mut stream: UnixStream, wake: &UnixStream, handler: &Handler) -> io::Result<Option<UnixStream>> {
    // Whoever connects and says nothing must not hold up our end.
    if !matches!(stir(&stream, wake, Some(PATIENCE))?, Stir::Word) {
        return Ok(Some(stream));
    }
    let answer = match line::read(&mut stream, LONGEST_REQUEST, PATIENCE) {
        Ok(request) => answer(&request, handler),
        Err(e) if e.kind() == io::ErrorKind::InvalidData => unreadable(&e),
        Err(e) => return Err(e),
    };
    let (response, feed) = match answer {
        Answer::Line(response) => (response, None),
        Answer::Feed(response, feed) => (response, Some(feed)),
    };
    line::write(&mut stream, serde_json::to_vec(&response)?, PATIENCE)?;
    let Some(feed) = feed else { return Ok(Some(stream)) };
    feed(stream);
    Ok(None)
}

fn answer(line: &[u8], handler: &Handler) -> Answer {
    let request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(e) => return unreadable(&e),
    };
    let failed = |_| Response::Error { message: "an internal error; the mount goes on".into() }.into();
    catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(failed)
}

fn unreadable(why: &dyn std::fmt::Display) -> Answer {
    Response::Error { message: format!("the request cannot be read: {why}") }.into()
}

#[cfg(test)]
mod tests;
