//! A small process beside the daemon that takes the mount away if the daemon dies.
//!
//! Without it a killed daemon leaves a mount that answers nothing; over its own source it would hide
//! the real tree. Worse, a thread of the dying daemon may wait for an answer of its own mount (the
//! kernel writes out a mapped page while it drops it): then the daemon cannot even end, and whoever
//! looks at it in /proc hangs too. Unmounting by force cuts the connection, which ends all waiting.
//!
//! What must stay true: it acts only on a mount with the device number it was told, and only when
//! its daemon is gone; it holds nothing of the mount open; it ends when the daemon ends.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crossbeam_channel::{Sender, bounded};
use rustix::mount::UnmountFlags;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use super::check;
use super::daemon::own_program;
use crate::live::control;
use crate::sys::mountinfo;

/// Tells a process that it is a guardian: `DAEMON MAJOR MINOR`. The mountpoint is its argument.
const MARK: &str = "AUGURFS_GUARDIAN";
/// What the daemon says when it ends in order.
const DONE: &[u8] = b"done";

/// The daemon's side. Dropping it sends the guardian home.
#[derive(Debug)]
pub(super) struct Guardian(Child);

impl Guardian {
    /// Has the mount with number `device` at `place` guarded. To be called by the main thread: the
    /// guardian acts when the thread that started it ends.
    ///
    /// # Errors
    /// The process could not be started.
    pub(super) fn post(place: &Path, (major, minor): (u32, u32)) -> io::Result<Self> {
        let mark = format!("{} {major} {minor}", std::process::id());
        Command::new(own_program())
            .arg0("augurfs-guardian")
            .arg(place)
            .env(MARK, mark)
            .current_dir("/")
            // Ctrl-C is for the daemon.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Guardian)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Some(mut wire) = self.0.stdin.take() {
            // If it has died there is nobody to tell.
            let _ = wire.write_all(DONE);
        }
        let _ = self.0.wait();
    }
}

/// If this process was started as a guardian, it is one until its daemon ends. Says whether it was.
pub fn serve_if_asked() -> bool {
    let Some(order) = std::env::var(MARK).ok().as_deref().and_then(Order::parse) else { return false };
    if let Some(place) = std::env::args_os().nth(1)
        && order.daemon_dies().unwrap_or(true)
    {
        order.take_away(Path::new(&place));
    }
    true
}

/// What it was told to guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    daemon: i32,
    device: (u32, u32),
}

impl Order {
    fn parse(mark: &str) -> Option<Self> {
        let mut words = mark.split(' ');
        let daemon = words.next()?.parse().ok()?;
        let device = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Order { daemon, device })
    }

    /// Waits for the daemon's end. Says whether it died, instead of ending in order.
    fn daemon_dies(&self) -> io::Result<bool> {
        let (to, from) = bounded(2);
        let mut signals = Signals::new([SIGTERM])?;
        let on_signal: Sender<bool> = to.clone();
        thread::spawn(move || {
            for _ in signals.forever() {
                // Full or closed: the end is known already.
                let _ = on_signal.try_send(true);
            }
        });
        // The line to the daemon may stay open though it is dead, while one of its threads hangs; the
        // end of the thread that started us is told all the same.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != self.daemon) {
            return Ok(true);
        }
        thread::spawn(move || {
            let mut said = Vec::new();
            let heard = io::stdin().read_to_end(&mut said);
            let _ = to.send(heard.is_err() || said != DONE);
        });
        Ok(from.recv().unwrap_or(true))
    }

    /// Takes away the daemon's socket, and every mount with the device number that we can see.
    fn take_away(&self, place: &Path) {
        // First, while nobody else can have the device number, and with it this name.
        if let Ok(socket) = control::own_socket(self.device) {
            // It may not have come into being.
            let _ = fs::remove_file(socket);
        }
        let mounts = mountinfo::read().unwrap_or_default();
        let ours = mounts.into_iter().rev().filter(|mount| mount.device == self.device);
        for point in ours.map(|mount| mount.point) {
            let flags = UnmountFlags::FORCE | UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
            let taken =
                rustix::process::geteuid().is_root() && rustix::mount::unmount(&*point, flags).is_ok();
            if !taken && point == place {
                // Nobody is left to be told.
                let _ = check::detach(&point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        assert_eq!(Order::parse("12 0 57"), Some(Order { daemon: 12, device: (0, 57) }));
        for bad in ["", "12", "12 0", "12 0 x", "12 0 57 9", "-"] {
            assert_eq!(Order::parse(bad), None, "{bad}");
        }
    }
}
