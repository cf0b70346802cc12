//! Files whose data the kernel takes straight from the source (FUSE passthrough).
//!
//! What must stay true: all opens of an inode use the same backing number, or none of them any,
//! from the first open until the last release; the kernel answers a mixture with EIO. A number is closed when its inode
//! is, whichever process got it.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::codec::{CodecError, Reader, put_varint};
use crate::sys::backing;

/// How an inode that is open gets its data.
#[derive(Debug)]
struct Backing {
    id: Option<u32>,
    opens: u64,
}

/// The inodes that are open.
#[derive(Debug)]
pub(crate) struct Backings {
    open: Mutex<HashMap<u64, Backing>>,
    active: AtomicBool,
    /// The device, as long as there is a session.
    device: Mutex<Option<Arc<OwnedFd>>>,
}

impl Backings {
    /// `active`: shall passthrough be tried?
    pub(crate) fn new(active: bool) -> Self {
        Backings { open: Mutex::default(), active: AtomicBool::new(active), device: Mutex::default() }
    }

    /// Says through which device numbers are closed; none when the session has ended, and all numbers with it.
    pub(crate) fn set_device(&self, device: Option<Arc<OwnedFd>>) {
        *self.device.lock() = device;
    }

    /// The device, while there is a session.
    pub(crate) fn device(&self) -> Option<Arc<OwnedFd>> {
        self.device.lock().clone()
    }

    /// Is passthrough in use (as far as we know)?
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Counts one open of `nodeid`; the backing that its reply must name, if any. `register` makes
    /// a number for the file; the first refusal turns passthrough off.
    pub(crate) fn open(&self, nodeid: u64, register: impl FnOnce() -> io::Result<u32>) -> Option<u32> {
        let mut open = self.open.lock();
        let backing = open.entry(nodeid).or_insert_with(|| Backing {
            id: self.is_active().then(|| self.registered(register())).flatten(),
            opens: 0,
        });
        backing.opens += 1;
        backing.id
    }

    fn registered(&self, answer: io::Result<u32>) -> Option<u32> {
        match answer {
            Ok(id) => Some(id),
            Err(error) => {
                // Not allowed at all, or the source is too deeply stacked; other refusals concern
                // one file.
                if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ELOOP | libc::ENOTTY)) {
                    log::warn!("passthrough is off: {error}");
                    self.active.store(false, Ordering::Release);
                }
                None
            }
        }
    }

    /// Counts one release of `nodeid`.
    pub(crate) fn release(&self, nodeid: u64) {
        let mut open = self.open.lock();
        let Some(backing) = open.get_mut(&nodeid) else { return };
        backing.opens -= 1;
        if backing.opens > 0 {
            return;
        }
        let id = open.remove(&nodeid).and_then(|backing| backing.id);
        drop(open);
        let device = self.device.lock().clone();
        if let (Some(id), Some(device)) = (id, device)
            && let Err(error) = backing::close(device, id)
        {
            log::debug!("the number {id} could not be closed: {error}");
        }
    }

    pub(crate) fn bequeath(&self, words: &mut Vec<u8>) {
        let open = self.open.lock();
        words.push(self.is_active().into());
        put_varint(words, open.len() as u64);
        for (&nodeid, backing) in open.iter() {
            put_varint(words, nodeid);
            // The kernel's numbers begin with one.
            put_varint(words, backing.id.unwrap_or(0).into());
            put_varint(words, backing.opens);
        }
    }

    pub(crate) fn inherit(&self, words: &mut Reader<'_>) -> Result<(), CodecError> {
        self.active.store(words.below(2, "whether passthrough is in use")? == 1, Ordering::Release);
        let mut open = self.open.lock();
        for _ in 0..words.count("how many inodes are open")? {
            let nodeid = words.varint("an open inode")?;
            let id = words.below(1 << 32, "the number of its backing")? as u32;
            let opens = words.varint("how often it is open")?;
            open.insert(nodeid, Backing { id: (id != 0).then_some(id), opens });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_opens_of_an_inode_share_a_number_also_in_another_process() {
        let backings = Backings::new(true);
        assert_eq!(backings.open(7, || Ok(3)), Some(3));
        assert_eq!(backings.open(8, || Err(io::ErrorKind::Unsupported.into())), None);
        let mut words = Vec::new();
        backings.bequeath(&mut words);
        let heir = Backings::new(false);
        heir.inherit(&mut Reader::new(&words)).unwrap();
        assert!(heir.is_active());
        assert_eq!(heir.open(7, || panic!("it has one")), Some(3));
        assert_eq!(heir.open(8, || panic!("it must not get one")), None);
        heir.release(7);
        heir.release(7);
        assert_eq!(heir.open(7, || Ok(4)), Some(4), "closed by all, it begins anew");
        assert!((0..words.len()).all(|cut| heir.inherit(&mut Reader::new(&words[..cut])).is_err()));
    }

    #[test]
    fn a_refusal_turns_it_off() {
        let backings = Backings::new(true);
        assert_eq!(backings.open(7, || Err(io::Error::from_raw_os_error(libc::EPERM))), None);
        assert!(!backings.is_active());
    }
}
