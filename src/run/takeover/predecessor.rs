//! The side that serves until another does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rustix::process::{Pid, Signal, kill_process};

use super::attendant::become_attendant;
use super::estate::{Deed, seal};
use super::wire::{Wire, Word};
use super::{MARK, PAUSE, PREPARATION};
use crate::codec::put_varint;
use crate::config::Config;
use crate::fuse::{Handover, Paused};
use crate::live::control::{Answer, Response};
use crate::mirror::{Bundle, Mirror};
use crate::model::ModelLock;
use crate::run::daemon;

/// A client that takes nothing for so long has stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// The wish that another program goes on, and who wants to hear how that went.
#[derive(Debug)]
pub(in crate::run) struct Order {
    pub(in crate::run) program: PathBuf,
    client: UnixStream,
    _turn: Option<Turn>,
}

/// Where such wishes are taken, one at a time.
pub(in crate::run) struct Orders {
    to: Sender<Order>,
    taken: Arc<AtomicBool>,
}

/// While it lives, no other wish is taken.
#[derive(Debug)]
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Orders {
    /// And who fulfils them.
    pub(in crate::run) fn new() -> (Self, Receiver<Order>) {
        let (to, orders) = bounded(1);
        (Orders { to, taken: Arc::default() }, orders)
    }

    /// Takes a wish, if nobody else's is being fulfilled.
    pub(in crate::run) fn attend(&self, program: PathBuf) -> Answer {
        let (to, taken) = (self.to.clone(), self.taken.clone());
        let feed = move |client: UnixStream| {
            let turn = (!taken.swap(true, Ordering::AcqRel)).then(|| Turn(taken));
            let free = turn.is_some();
            let order = Order { program, client, _turn: turn };
            let refused =
                if free { to.try_send(order).err().map(TrySendError::into_inner) } else { Some(order) };
            if let Some(order) = refused {
                order.tell(&Response::Error { message: "an upgrade is under way already".into() });
            }
        };
        Answer::Feed(Response::Upgrading, Box::new(feed))
    }
}

impl Order {
    /// Says how it went.
    pub(in crate::run) fn tell(mut self, response: &Response) {
        let mut line = serde_json::to_vec(response).unwrap_or_default();
        line.push(b'\n');
        // Who has gone in the meantime need not hear it.
        let _ = self.client.set_write_timeout(Some(PATIENCE)).and_then(|()| self.client.write_all(&line));
    }
}

/// What there is to hand over.
pub(in crate::run) struct Holdings<'a> {
    pub(in crate::run) config: &'a Config,
    /// What was given since, in the words of options.
    pub(in crate::run) tuned: String,
    pub(in crate::run) deed: Deed,
    pub(in crate::run) handover: &'a Handover,
    pub(in crate::run) mirror: &'a Mirror,
    pub(in crate::run) source: &'a OwnedFd,
    pub(in crate::run) below: &'a OwnedFd,
    pub(in crate::run) lock: Option<&'a ModelLock>,
}

/// How it went.
#[derive(Debug)]
pub(in crate::run) struct Succession {
    /// The process that has it now.
    pub(in crate::run) pid: u32,
    /// How long requests waited.
    pub(in crate::run) pause: Duration,
    /// Did it begin to serve? If not, it has died with what was handed over.
    pub(in crate::run) serves: io::Result<()>,
}

impl Succession {
    /// In one sentence.
    pub(in crate::run) fn message(&self) -> String {
        format!("process {} serves it now; requests waited for {} ms", self.pid, self.pause.as_millis())
    }
}

/// Ends this process, or in the foreground turns it into one that waits for the successor. `stops`: its end was asked
/// for in the meantime. Comes back only if the latter cannot be had, with the reason.
pub(in crate::run) fn leave(succession: &Succession, mountpoint: &Path, stops: bool) -> io::Error {
    if stops && let Some(pid) = Pid::from_raw(succession.pid as i32) {
        // If it has ended there is nothing to stop.
        let _ = kill_process(pid, Signal::TERM);
    }
    if daemon::is_behind() {
        std::process::exit(0);
    }
    become_attendant(succession.pid, mountpoint)
}

/// A process that may become the successor; it dies with this.
struct Candidate(Option<Child>);

impl Drop for Candidate {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // From here on it can do nothing: whoever goes on is alone.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Hands the mount over to `program`. `save` is called when the model is about to be read.
///
/// # Errors
/// It was not handed over: everything is as it was, and goes on.
pub(in crate::run) fn hand_over(
    holdings: &Holdings<'_>,
    program: &Path,
    save: impl FnOnce(),
) -> io::Result<Succession> {
    let (wire, theirs) = Wire::pair()?;
    let mut candidate = Candidate(Some(start(holdings, program, theirs)?));
    let deadline = Instant::now() + PREPARATION;
    wire.hear(Word::Hello, deadline)?;
    save();
    holdings.tell_estate(&wire)?;
    wire.hear(Word::Prepared, deadline)?;
    let begin = Instant::now();
    let deadline = begin + PAUSE;
    let paused = holdings.handover.pause(&holdings.config.mountpoint, deadline)?;
    holdings.tell_state(&wire, &paused, deadline)?;
    wire.hear(Word::Ready, deadline)?;
    wire.say(Word::Go, "", &[])?;
    paused.for_ever();
    let pid = candidate.0.take().map_or(0, |child| child.id());
    let serves = wire.hear(Word::Serving, Instant::now() + PREPARATION).map(drop);
    Ok(Succession { pid, pause: begin.elapsed(), serves })
}

fn start(holdings: &Holdings<'_>, program: &Path, theirs: OwnedFd) -> io::Result<Child> {
    Command::new(program)
        .arg0("augurfs")
        .args(arguments(holdings.config, &holdings.tuned))
        .env(MARK, "1")
        .stdin(Stdio::from(theirs))
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be started: {error}", program.display()))
        })
}

/// The command line by which the same mount would have been made.
fn arguments(config: &Config, tuned: &str) -> Vec<OsString> {
    let mut arguments = vec![config.source.clone().into(), config.mountpoint.clone().into(), "-f".into()];
    let mut lists = config.given.clone();
    let mut last = vec![OsString::from(tuned)];
    if let Some(file) = &config.config {
        last.push(option("config", file));
    }
    // What an earlier upgrade has added is there already.
    if !lists.ends_with(&last) {
        lists.append(&mut last);
    }
    arguments.extend(lists.into_iter().flat_map(|list| ["-o".into(), list]));
    let levels = [log::Level::Info, log::Level::Debug, log::Level::Trace];
    let loud = levels.into_iter().filter(|&level| log::log_enabled!(target: "augurfs::run", level)).count();
    arguments.extend((0..loud).map(|_| "-v".into()));
    arguments
}

/// An option with a path for a value, in which commas and backslashes mean themselves.
fn option(name: &str, value: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut words = format!("{name}=").into_bytes();
    for &byte in value.as_os_str().as_bytes() {
        if matches!(byte, b',' | b'\\') {
            words.push(b'\\');
        }
        words.push(byte);
    }
    OsString::from_vec(words)
}

impl Holdings<'_> {
    fn tell_estate(&self, wire: &Wire) -> io::Result<()> {
        let mut words = Vec::new();
        self.deed.put(&mut words);
        self.handover.agreement(&mut words)?;
        let device = self.handover.device().ok_or(io::ErrorKind::NotConnected)?;
        let words = seal(&words)?;
        let mut files = vec![words.as_fd(), device.as_fd(), self.source.as_fd(), self.below.as_fd()];
        files.extend(self.lock.map(AsFd::as_fd));
        wire.say(Word::Estate, "", &files)
    }

    fn tell_state(&self, wire: &Wire, paused: &Paused, deadline: Instant) -> io::Result<()> {
        let (mut words, mut bundle) = (Vec::new(), Bundle::default());
        self.mirror.bequeath(&mut words, &mut bundle);
        paused.bequeath(&mut words);
        let files: &[Arc<OwnedFd>] = bundle.files();
        let mut all = Vec::with_capacity(words.len() + 10);
        put_varint(&mut all, files.len() as u64);
        all.append(&mut words);
        wire.say(Word::State, "", &[seal(&all)?.as_fd()])?;
        wire.say_files(files, deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Surroundings;

    #[test]
    fn the_command_line_does_not_grow_with_each_upgrade() {
        let mut config = Config::new("/s".into(), "/m".into(), &Surroundings::default());
        config.given = vec!["ro,path=plain".into()];
        config.config = Some("/a,b".into());
        let words = ["/s", "/m", "-f", "-o", "ro,path=plain", "-o", "prefetch=on", "-o", "config=/a\\,b"];
        let expected: Vec<OsString> = words.iter().map(OsString::from).collect();
        let told = |config: &Config| -> Vec<OsString> {
            arguments(config, "prefetch=on").into_iter().filter(|word| word != "-v").collect()
        };
        assert_eq!(told(&config), expected);
        config.given = vec!["ro,path=plain".into(), "prefetch=on".into(), "config=/a\\,b".into()];
        assert_eq!(told(&config), expected);
        let mut fresh = Config::new("/s".into(), "/m".into(), &Surroundings::default());
        fresh.apply(&option("config", Path::new("/a,b"))).unwrap();
        assert_eq!(fresh.config, config.config);
    }
}
