//! Signals, turned into words on a channel. Handlers do nothing else, so there is nothing they could catch half-way.
//!
//! SIGPIPE needs no care: Rust programs start with it ignored.

use crossbeam_channel::Sender;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::{Handle, Signals};
use std::io::{self, IsTerminal};
use std::thread::{self, JoinHandle};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Unmount, save and end: SIGINT, SIGTERM, and the end of the terminal we belong to.
    Stop,
    /// Save the model now, and log the statistics: SIGUSR1.
    Save,
    /// Read the files of defaults again: SIGHUP where there is no terminal.
    Reload,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct SignalWatch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Sends every wish into `wishes` from now on.
///
/// # Errors
/// The handlers or the thread could not be set up.
pub fn watch(wishes: Sender<Wish>) -> io::Result<SignalWatch> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
    let handle = signals.handle();
    let interactive = std::io::stdin().is_terminal();
    let listen = move || {
        for signal in signals.forever() {
            let wish = match signal {
                SIGUSR1 => Wish::Save,
                SIGHUP if !interactive => Wish::Reload,
                _ => Wish::Stop,
            };
            // A full channel holds wishes enough; a closed one means that the end has begun.
            let _ = wishes.try_send(wish);
        }
    };
    let thread = thread::Builder::new().name("signals".into()).spawn(listen)?;
    Ok(SignalWatch { handle, thread: Some(thread) })
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // It only passes on words; there is nothing to learn from its end.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::time::Duration;

    #[test]
    fn signals_become_wishes() {
        let (tell, told) = crossbeam_channel::bounded(4);
        let watch = watch(tell).unwrap();
        for (signal, wish) in [
            (Signal::TERM, Wish::Stop),
            // Tests have no terminal, or one that does not end.
            (Signal::HUP, if std::io::stdin().is_terminal() { Wish::Stop } else { Wish::Reload }),
            (Signal::INT, Wish::Stop),
            (Signal::USR1, Wish::Save),
        ] {
            kill_process(getpid(), signal).unwrap();
            assert_eq!(told.recv_timeout(Duration::from_secs(5)).unwrap(), wish);
        }
        drop(watch);
        assert!(told.recv().is_err());
    }
}
