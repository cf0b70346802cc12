//! One line over a socket, bounded in length and in time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Reads up to a newline. What came behind it comes back too.
///
/// # Errors
/// `TimedOut` when the line is not complete in time; `InvalidData` when it is longer than `most`;
/// `UnexpectedEof` when the other side leaves before its end.
pub(super) fn read_with_rest(
    stream: &mut UnixStream,
    most: usize,
    patience: Duration,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let deadline = Instant::now() + patience;
    let mut line = Vec::new();
    while Instant::now() < deadline {
        let piece = piece(stream, deadline)?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if line.len() > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
        if let Some(end) = end {
            return Ok((line, piece[end + 1..].to_vec()));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Reads up to a newline, as [`read_with_rest`] does; nothing is expected behind it.
pub(super) fn read(stream: &mut UnixStream, most: usize, patience: Duration) -> io::Result<Vec<u8>> {
    read_with_rest(stream, most, patience).map(|(line, _)| line)
}

fn piece(stream: &mut UnixStream, deadline: Instant) -> io::Result<Vec<u8>> {
    // A time-out of zero would mean none at all.
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_read_timeout(Some(left))?;
    let mut piece = vec![0; 4096];
    match stream.read(&mut piece) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => Ok(piece[..n].to_vec()),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
        Err(e) => Err(e),
    }
}

/// Writes the line and its newline. The time-out is for each piece the socket takes.
pub(super) fn write(stream: &mut UnixStream, mut line: Vec<u8>, patience: Duration) -> io::Result<()> {
    line.push(b'\n');
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&line)
}
