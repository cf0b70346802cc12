//! A session on a connection that was agreed upon long ago, by another process.
//!
//! The library makes no session without the handshake that opens a connection, which the kernel has only once. So
//! the handshake is played to it: it begins on a socket in which the kernel's first request lies once more, answers into
//! that, and then finds the real device under the same number. Upstream would have to offer a way to make a `Session` of a
//! descriptor and the agreed version (fuser's issue 753 asks for it); then this file goes.
//!
//! What must stay true: the answer that is thrown away says the same as the one that the kernel was once given.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use fuser::{InitFlags, KernelConfig};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::codec::{CodecError, Reader, put_varint};

/// Number of the first request: any will do, as nobody reads the answer.
const UNIQUE: u64 = 1;
/// `FUSE_INIT` of the kernel's uapi.
const INIT: u32 = 26;
/// Bytes of a request's header, and of the first request as a whole, in the kernel's uapi.
const HEADER: usize = 40;
const REQUEST: usize = HEADER + 64;

/// What was agreed upon with the kernel when the connection was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Version of the protocol.
    pub(crate) version: (u32, u32),
    /// What the kernel could do.
    pub(crate) offered: InitFlags,
    /// What was asked of it.
    pub(crate) asked: InitFlags,
}

/// Where the agreement is kept.
pub(crate) type Agreed = OnceLock<Agreement>;

impl Agreement {
    /// The one that `config` leads to, when `asked` is asked for.
    pub(crate) fn of(config: &KernelConfig, asked: InitFlags) -> Self {
        let version = config.kernel_abi();
        Agreement { version: (version.0, version.1), offered: config.capabilities(), asked }
    }

    pub(crate) fn put(&self, words: &mut Vec<u8>) {
        let (major, minor) = self.version;
        for number in [major.into(), minor.into(), self.offered.bits(), self.asked.bits()] {
            put_varint(words, number);
        }
    }

    pub(crate) fn read(words: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut next = |limit| words.below(limit, "what was agreed upon with the kernel");
        let version = (next(1 << 32)? as u32, next(1 << 32)? as u32);
        let mut flags = || words.varint("abilities of the kernel").map(InitFlags::from_bits_retain);
        Ok(Agreement { version, offered: flags()?, asked: flags()? })
    }

    /// Can the kernel send again what was read and not answered?
    pub(crate) fn resends(&self) -> bool {
        self.offered.contains(InitFlags::FUSE_HAS_RESEND)
    }

    /// The kernel's first request, as it was.
    fn request(&self) -> Vec<u8> {
        let (major, minor) = self.version;
        // The library forgets the flag that says that there is a second word of flags.
        let offered = (self.offered | InitFlags::FUSE_INIT_EXT).bits();
        let mut bytes = Vec::with_capacity(REQUEST);
        bytes.extend((REQUEST as u32).to_ne_bytes());
        bytes.extend(INIT.to_ne_bytes());
        bytes.extend(UNIQUE.to_ne_bytes());
        // Nobody's request about nothing.
        bytes.resize(HEADER, 0);
        // The read-ahead has been agreed upon too: what is answered to this one reaches nobody.
        for number in [major, minor, 0, offered as u32, (offered >> 32) as u32] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.resize(REQUEST, 0);
        bytes
    }
}

/// Two ends of a socket: ours, which has to live until the handshake is over, and one in which the first request lies.
///
/// # Errors
/// What socketpair(2) and write(2) give.
pub(crate) fn prologue(agreement: &Agreement) -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::io::write(&ours, &agreement.request())?;
    Ok((ours, theirs))
}

/// Has the kernel send again, through `device`, whatever was read by somebody who will not answer.
///
/// # Errors
/// `EINVAL` before Linux 6.9.
pub(crate) fn resend(device: &OwnedFd) -> io::Result<()> {
    /// `FUSE_NOTIFY_RESEND` of the kernel's uapi.
    const RESEND: u32 = 7;
    const LENGTH: u32 = 16;
    let mut notice = [0; LENGTH as usize];
    notice[..4].copy_from_slice(&LENGTH.to_ne_bytes());
    notice[4..8].copy_from_slice(&RESEND.to_ne_bytes());
    // The rest, a request's number, is zero: that makes it a notice.
    rustix::io::write(device, &notice).map(drop).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Mute(std::sync::Arc<Agreed>);

    impl fuser::Filesystem for Mute {
        fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
            let asked = InitFlags::FUSE_POSIX_ACL | InitFlags::FUSE_PASSTHROUGH;
            config.add_capabilities(asked).unwrap();
            self.0.set(Agreement::of(config, asked)).unwrap();
            Ok(())
        }
    }

    #[test]
    fn the_library_hears_what_was_agreed_upon() {
        let agreement = Agreement {
            version: (7, 31),
            offered: InitFlags::FUSE_POSIX_ACL | InitFlags::FUSE_PASSTHROUGH,
            asked: InitFlags::FUSE_POSIX_ACL | InitFlags::FUSE_PASSTHROUGH,
        };
        let (ours, theirs) = prologue(&agreement).unwrap();
        let heard = std::sync::Arc::new(Agreed::new());
        let config = fuser::Config::default();
        fuser::Session::from_fd(Mute(heard.clone()), theirs, fuser::SessionACL::All, config).unwrap();
        let heard = heard.get().unwrap();
        assert_eq!((heard.version, heard.asked), (agreement.version, agreement.asked));
        assert!(heard.offered.contains(agreement.asked) && !heard.resends());
        let mut answer = [0; 256];
        assert!(rustix::io::read(&ours, &mut answer).unwrap() > 16, "the answer comes to us");
        let mut words = Vec::new();
        agreement.put(&mut words);
        assert_eq!(Agreement::read(&mut Reader::new(&words)), Ok(agreement));
        words.pop();
        assert!(Agreement::read(&mut Reader::new(&words)).is_err());
    }
}
