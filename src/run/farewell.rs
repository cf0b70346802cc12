//! Who unmounts is told what became of the model: the daemon saves it when it ends, which may go wrong.
//!
//! What must stay true: nobody who has gone is kept, and nobody who does not listen is waited for.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use parking_lot::Mutex;

use crate::live::control::Last;

/// Those who wait for the end.
#[derive(Debug, Default)]
pub(super) struct Farewell(Mutex<Vec<UnixStream>>);

impl Farewell {
    /// One more waits, on its own connection.
    pub(super) fn await_end(&self, stream: UnixStream) {
        // A line fits into any socket's buffer.
        if stream.set_nonblocking(true).is_ok() {
            let mut waiting = self.0.lock();
            waiting.retain(is_there);
            waiting.push(stream);
        }
    }

    /// Tells all of them how it ended.
    pub(super) fn tell(&self, last: &Last) {
        let mut line = serde_json::to_vec(last).unwrap_or_default();
        line.push(b'\n');
        for mut stream in self.0.lock().drain(..) {
            // Who has gone in the meantime does not want to know.
            let _ = stream.write_all(&line);
        }
    }
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
        assert_eq!(farewell.0.lock().len(), 1);
        farewell.tell(&Last { unsaved: Some("the disk is full".into()) });
        let mut said = String::new();
        there.read_to_string(&mut said).unwrap();
        assert_eq!(said, "{\"unsaved\":\"the disk is full\"}\n");
    }
}
