//! Who unmounts is told what became of the model: the daemon saves it when it ends, which may go wrong.
//!
//! What must stay true: nobody who has gone is kept, and nobody who does not listen is waited for.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use parking_lot::Mutex;

use crate::live::control::Last;

/// Those who wait for the end; once it has come, what it was, for those who came a moment too late.
#[derive(Debug, Default)]
pub(super) struct Farewell(Mutex<(Vec<UnixStream>, Option<Vec<u8>>)>);

impl Farewell {
    /// One more waits, on its own connection.
    pub(super) fn await_end(&self, stream: UnixStream) {
        // A line fits into any socket's buffer.
        if stream.set_nonblocking(true).is_ok() {
            let (waiting, last) = &mut *self.0.lock();
            match last {
                Some(line) => say(stream, line),
                None => {
                    waiting.retain(is_there);
                    waiting.push(stream);
                }
            }
        }
    }

    /// Tells all of them how it ended.
    pub(super) fn tell(&self, last: &Last) {
        let mut line = serde_json::to_vec(last).unwrap_or_default();
        line.push(b'\n');
        let (waiting, last) = &mut *self.0.lock();
        waiting.drain(..).for_each(|stream| say(stream, &line));
        *last = Some(line);
    }
}

fn say(mut stream: UnixStream, line: &[u8]) {
    // Who has gone in the meantime does not want to know.
    let _ = stream.write_all(line);
}

/// They say nothing more; the end of their side is that of their wait.
fn is_there(mut stream: &UnixStream) -> bool {
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_and_who_has_gone_is_not_kept() {
        let farewell = Farewell::default();
        let (here, mut there) = UnixStream::pair().unwrap();
        for _ in 0..10 {
            farewell.await_end(UnixStream::pair().unwrap().0);
        }
        farewell.await_end(here);
        assert_eq!(farewell.0.lock().0.len(), 1);
        farewell.tell(&Last { unsaved: Some("the disk is full".into()) });
        let mut said = String::new();
        there.read_to_string(&mut said).unwrap();
        assert_eq!(said, "{\"unsaved\":\"the disk is full\"}\n");
        let (here, mut there) = UnixStream::pair().unwrap();
        farewell.await_end(here);
        let mut late = String::new();
        there.read_to_string(&mut late).unwrap();
        assert_eq!(late, said);
    }
}
