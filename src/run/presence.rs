//! Is our mount still there? Somebody may unmount it while a clone of ours keeps its file system
//! alive; then the clone has to go.
//!
//! What must stay true: watching costs nothing while no mount comes or goes.

use std::fs::File;
use std::io;
use std::thread;

use crossbeam_channel::Sender;
use rustix::event::{PollFd, PollFlags, poll};

use crate::sys::mountinfo;

/// Tells when no mount with a device number is left in our view.
///
/// The thread ends with the process or when it has told.
///
/// # Errors
/// /proc is not there, or no thread can be had.
pub(super) fn watch(device: (u32, u32), gone: Sender<()>) -> io::Result<()> {
    let table = File::open("/proc/self/mountinfo")?;
    thread::Builder::new().name("mounts".into()).spawn(move || {
        while shows(&table, device) {
            let mut fds = [PollFd::new(&table, PollFlags::PRI)];
            if let Err(error) = poll(&mut fds, None)
                && error != rustix::io::Errno::INTR
            {
                log::warn!("mounts cannot be watched: {error}");
                return;
            }
        }
        // The receiver may have gone: then the end has begun anyway.
        let _ = gone.send(());
    })?;
    Ok(())
}

/// Does the table show a mount with this device number? Also when it cannot be read: that says nothing of mounts.
/// Read through the descriptor that is there, for when no other can be had.
fn shows(table: &File, device: (u32, u32)) -> bool {
    let mounts = mountinfo::read_from(table);
    mounts.map_or(true, |mounts| mounts.iter().any(|mount| mount.device == device))
}
