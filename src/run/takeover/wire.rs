//! The line between predecessor and successor: words, and open files with them.
//!
//! What must stay true: nobody waits longer than a deadline; a word that is not the expected one, or silence, is an
//! error that says which.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair, sockopt,
};

/// Open files in one message: the kernel takes 253 (`SCM_MAX_FD`).
const MOST: usize = 250;
/// A reason takes a line, other words a byte.
const LONGEST: usize = 4096;
/// Who takes nothing for so long has stopped.
const SENDING: Duration = Duration::from_secs(5);

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Word {
    Hello = 1,
    Estate,
    Prepared,
    State,
    Files,
    Taken,
    Ready,
    Go,
    Serving,
    /// It cannot be done; the reason is with it.
    Refused,
}

const WORDS: [Word; 10] = [
    Word::Hello,
    Word::Estate,
    Word::Prepared,
    Word::State,
    Word::Files,
    Word::Taken,
    Word::Ready,
    Word::Go,
    Word::Serving,
    Word::Refused,
];

/// One end.
#[derive(Debug)]
pub(super) struct Wire(OwnedFd);

impl Wire {
    /// Both ends.
    ///
    /// # Errors
    /// What socketpair(2) gives.
    pub(super) fn pair() -> io::Result<(Wire, OwnedFd)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Wire::of(ours)?, theirs))
    }

    /// The end that this process was given.
    ///
    /// # Errors
    /// It is no socket.
    pub(super) fn of(socket: OwnedFd) -> io::Result<Wire> {
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(SENDING))?;
        Ok(Wire(socket))
    }

    /// Says a word, with at most 250 files.
    ///
    /// # Errors
    /// The other side has gone, or takes nothing.
    pub(super) fn say(&self, word: Word, text: &str, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let (word, text) = ([word as u8], &text.as_bytes()[..text.len().min(LONGEST - 1)]);
        let mut space = vec![MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let parts = [IoSlice::new(&word), IoSlice::new(text)];
        sendmsg(&self.0, &parts, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Sends any number of files. Each batch is waited for, so that few are on their way at a time.
    ///
    /// # Errors
    /// As [`Wire::say`] and [`Wire::hear`].
    pub(super) fn say_files(&self, files: &[Arc<OwnedFd>], deadline: Instant) -> io::Result<()> {
        for batch in files.chunks(MOST) {
            let batch: Vec<_> = batch.iter().map(|file| file.as_fd()).collect();
            self.say(Word::Files, "", &batch)?;
            self.hear(Word::Taken, deadline)?;
        }
        Ok(())
    }

    /// Takes so many files.
    ///
    /// # Errors
    /// As [`Wire::say`] and [`Wire::hear`].
    pub(super) fn hear_files(&self, count: usize, deadline: Instant) -> io::Result<Vec<Arc<OwnedFd>>> {
        let mut files = Vec::new();
        while files.len() < count {
            let batch = self.hear(Word::Files, deadline)?;
            // What finds no room in the table of descriptors is left out by the kernel.
            if batch.len() < MOST.min(count - files.len()) {
                return Err(io::Error::other("open files were lost on their way: the limit on descriptors?"));
            }
            files.extend(batch.into_iter().map(Arc::new));
            self.say(Word::Taken, "", &[])?;
        }
        Ok(files)
    }

    /// Waits for a word; the files that come with it come back.
    ///
    /// # Errors
    /// `TimedOut`, `UnexpectedEof` when the other side has gone, the reason when it refuses.
    pub(super) fn hear(&self, expected: Word, deadline: Instant) -> io::Result<Vec<OwnedFd>> {
        self.await_word(deadline)?;
        let mut bytes = [0; LONGEST];
        let mut space = vec![MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let length = recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let files = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files = files.flatten().collect();
        let Some((&word, text)) = bytes[..length].split_first() else {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other process has ended"));
        };
        match WORDS.into_iter().find(|known| *known as u8 == word) {
            Some(word) if word == expected => Ok(files),
            Some(Word::Refused) => Err(io::Error::other(String::from_utf8_lossy(text).into_owned())),
            word => Err(io::Error::other(format!("{expected:?} was expected, {word:?} was said"))),
        }
    }

    fn await_word(&self, deadline: Instant) -> io::Result<()> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "the other process is silent")),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn words_and_files_arrive() {
        let (ours, theirs) = Wire::pair().unwrap();
        let theirs = Wire::of(theirs).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = |n: usize| Arc::new(File::create(dir.path().join(n.to_string())).unwrap().into());
        let files: Vec<Arc<OwnedFd>> = (0..600).map(file).collect();
        let inodes = |files: &[Arc<OwnedFd>]| -> Vec<_> {
            files.iter().map(|file| rustix::fs::fstat(file).unwrap().st_ino).collect()
        };
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| theirs.hear_files(600, soon()).unwrap());
            ours.say_files(&files, soon()).unwrap();
            assert_eq!(inodes(&taken.join().unwrap()), inodes(&files));
        });
        theirs.say(Word::Refused, "no room", &[]).unwrap();
        assert_eq!(ours.hear(Word::Ready, soon()).unwrap_err().to_string(), "no room");
        theirs.say(Word::Hello, "", &[]).unwrap();
        assert!(ours.hear(Word::Ready, soon()).unwrap_err().to_string().contains("Ready was expected"));
        let silence = ours.hear(Word::Ready, Instant::now()).unwrap_err();
        assert_eq!(silence.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
        let end = ours.hear(Word::Ready, soon()).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(ours.say(Word::Go, "", &[]).is_err());
    }
}
