//! What keeps tests from waiting for ever: a watchdog that kills a daemon that has lived too long, so that whoever waits for it
//! gets an error, and a word for threads that work until they are told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Watches one process.
#[derive(Debug)]
pub struct Watchdog(Option<Sender<()>>);

impl Watchdog {
    /// Kills `process` after `life`, unless told to stand down before.
    pub fn over(process: u32, life: Duration) -> Self {
        let (tell, told) = channel();
        std::thread::spawn(move || {
            if told.recv_timeout(life) == Err(RecvTimeoutError::Timeout) {
                eprintln!("a daemon has lived for {life:?}: something hangs, so it is killed");
                // Its guard has not waited for it, so the number is still its own.
                let _ = Pid::from_raw(process as i32).map(|pid| kill_process(pid, Signal::KILL));
            }
        });
        Watchdog(Some(tell))
    }

    /// The process has ended, or will.
    pub fn stand_down(&mut self) {
        self.0 = None;
    }
}

/// Tells threads to stop when it goes, also when a test fails.
#[derive(Debug)]
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
