//! Recording a mount: into a file from the start, or to whoever asks on the control socket.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::MountError;
use crate::live::control::{Answer, Response};
use crate::live::{Live, Recording};
use crate::trace;

/// A client that takes nothing for so long has stopped, and its recording with it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file to record into, emptied. Opened before anything is mounted, so that it never lies behind the mount.
pub(super) fn file(path: &Path) -> Result<File, MountError> {
    let file = trace::create(path).and_then(|file| file.set_len(0).map(|()| file));
    file.map_err(|reason| MountError::Record { path: path.to_owned(), reason })
}

/// To whoever asks for a trace. The client ends it by closing its side.
pub(super) fn answer(live: &Arc<Live>, hash_names: bool) -> Answer {
    let refusal = match (live.is_off(), live.is_recording()) {
        (true, _) => "prefetching is off: there is nothing to record",
        (_, true) => "a recording is under way already",
        _ => {
            // What waits for the client must not keep the driver alive.
            let live = Arc::downgrade(live);
            return Answer::Feed(
                Response::Recording,
                Box::new(move |stream| feed(&live, stream, hash_names)),
            );
        }
    };
    Response::Error { message: refusal.into() }.into()
}

fn feed(live: &Weak<Live>, stream: UnixStream, hash_names: bool) {
    let Some(there) = live.upgrade() else { return };
    let ready = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.set_read_timeout(None));
    let client = match ready.and_then(|()| stream.try_clone()) {
        Ok(client) => client,
        Err(error) => return log::warn!("nothing is recorded: {error}"),
    };
    match there.record(Box::new(Line(stream)), hash_names) {
        Ok(recording) => await_end(live.clone(), client, recording),
        Err(error) => log::warn!("nothing is recorded: {error}"),
    }
}

/// Ends the recording when the client has closed its side, in a thread of its own.
fn await_end(live: Weak<Live>, mut client: UnixStream, recording: Recording) {
    let listen = move || {
        let mut nothing = [0; 64];
        while client.read(&mut nothing).is_ok_and(|got| got > 0) {}
        if let Some(live) = live.upgrade() {
            live.stop_recording(&recording);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("listen".into()).spawn(listen) {
        log::warn!("the recording ends when its client has gone: {error}");
    }
}

/// The way to a client: when this goes, it sees the end, whoever else holds the socket.
struct Line(UnixStream);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Who has left needs no end.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}
