//! Changes made directly in the source, by anybody but us.
//!
//! What must stay true: the receiver is called by one thread at a time, in the order of the changes; while it
//! has been told `Watching` and not `Blind`, it hears of every change, or that changes were lost.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use super::follow::{Follower, Reader};
use crate::sys::fanotify::{Change, Reports};
use crate::sys::filesystem;

/// So many overflows of the kernel's queue within `SPELL` are a storm: each of them costs everything that is
/// cached above, more than the watching is worth.
const STORM: usize = 3;
const SPELL: Duration = Duration::from_secs(10);
/// While only we change the source, reports are read this seldom: they come at every write that passes through
/// us, and waking for each takes a processor from the writer. So much later is a change by somebody else told
/// then, a small part of what the telling itself takes.
const NAP: Duration = Duration::from_micros(200);
/// How long a storm is left alone.
const REST: Duration = Duration::from_secs(60);

/// What a receiver is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// From now on every change is told.
    Watching,
    /// Something has changed.
    Changed(Change),
    /// From now on nothing is told, for this reason (a clause that can follow "because"); something may have
    /// changed untold. `Watching` may come again.
    Blind(String),
}

/// Watches while it lives.
#[derive(Debug)]
pub struct ChangeWatch {
    _follower: Follower,
}

impl ChangeWatch {
    /// Tells `receiver` of every change on the file system that `source` (opened for reading) lies on,
    /// changes outside the source included; those made by this process are left out. The first news,
    /// `Watching`, has been told when this returns.
    ///
    /// # Errors
    /// `Unsupported` where others than this machine may make changes; `EPERM` without `CAP_SYS_ADMIN`,
    /// `EOPNOTSUPP`, `ENODEV` or `EXDEV` where the file system cannot be watched, `EINVAL` where the kernel
    /// is too old. The receiver has been told `Blind` last, if anything.
    pub fn start(source: impl AsFd, receiver: impl Fn(News) + Send + 'static) -> io::Result<ChangeWatch> {
        Self::except(std::process::id(), source, receiver)
    }

    fn except(own: u32, source: impl AsFd, receiver: impl Fn(News) + Send + 'static) -> io::Result<Self> {
        if !filesystem::is_local(&source) {
            let why = "the source's file system may be changed from other machines";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let reports = Reports::of_changes(&source)?;
        let listener = Listener::new(own, source.as_fd().try_clone_to_owned()?, receiver);
        (listener.receiver)(News::Watching);
        Ok(ChangeWatch { _follower: Follower::start("changes", reports, listener)? })
    }
}

/// Passes on what is reported, and rests in a storm.
struct Listener<R: Fn(News)> {
    own: u32,
    source: OwnedFd,
    receiver: R,
    batch: Vec<Change>,
    /// The last reports were all of our own doing.
    alone: bool,
    /// When the kernel's queue overflowed, lately.
    overflows: VecDeque<Instant>,
    rest: Duration,
    /// Resting, until then.
    resting: Option<Instant>,
}

impl<R: Fn(News)> Listener<R> {
    fn new(own: u32, source: OwnedFd, receiver: R) -> Self {
        let (batch, overflows) = Default::default();
        Listener { own, source, receiver, batch, alone: false, overflows, rest: REST, resting: None }
    }

    fn pass_on(&mut self, change: Change, reports: &Reports) -> io::Result<()> {
        // What the kernel had collected when the rest began.
        if self.resting.is_some() {
            return Ok(());
        }
        if change == Change::Everything && self.is_storm(Instant::now()) {
            return self.begin_rest(reports);
        }
        (self.receiver)(News::Changed(change));
        Ok(())
    }

    /// Counts an overflow.
    fn is_storm(&mut self, now: Instant) -> bool {
        self.overflows.push_back(now);
        while self.overflows.front().is_some_and(|&first| now.duration_since(first) > SPELL) {
            self.overflows.pop_front();
        }
        self.overflows.len() >= STORM
    }

    fn begin_rest(&mut self, reports: &Reports) -> io::Result<()> {
        reports.pause_changes()?;
        self.overflows.clear();
        self.resting = Some(Instant::now() + self.rest);
        log::info!("the source's disk changes faster than can be followed: not watched for a while");
        (self.receiver)(News::Blind(
            "its disk changes faster than can be followed; this is tried again".into(),
        ));
        Ok(())
    }

    fn end_rest(&mut self, reports: &Reports) -> io::Result<()> {
        reports.resume_changes(&self.source)?;
        self.resting = None;
        (self.receiver)(News::Watching);
        Ok(())
    }
}

impl<R: Fn(News) + Send + 'static> Reader for Listener<R> {
    fn drain(&mut self, reports: &mut Reports) -> io::Result<usize> {
        let mut batch = std::mem::take(&mut self.batch);
        let left_out = reports.read_changes(self.own, &mut batch)?;
        let count = batch.len();
        if left_out + count > 0 {
            self.alone = count == 0;
        }
        batch.drain(..).try_for_each(|change| self.pass_on(change, reports))?;
        self.batch = batch;
        if count == 0 && self.resting.is_some_and(|until| Instant::now() >= until) {
            self.end_rest(reports)?;
        }
        Ok(count)
    }

    fn nap(&self) -> Duration {
        if self.alone { NAP } else { Duration::ZERO }
    }

    fn due(&self) -> Option<Instant> {
        self.resting
    }

    fn ended(&mut self, why: &str) {
        (self.receiver)(News::Blind(format!("its changes cannot be read any more: {why}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fanotify::What;
    use crate::sys::handle::FileHandle;
    use std::fs::{self, File};
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn changes_below_are_told_with_handles_and_names() {
        // On the disk of the project: a tmpfs may hide handles in some sandboxes.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = File::open(dir.path()).unwrap();
        let (dir_handle, _) = FileHandle::of_fd(&at).unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        // Nobody has number 0: our own changes are told.
        let watch = ChangeWatch::except(0, &at, move |news| to.send(news).unwrap()).unwrap();

        fs::write(dir.path().join("new"), b"text").unwrap();
        let (handle, _) = FileHandle::of_fd(File::open(dir.path().join("new")).unwrap()).unwrap();
        fs::remove_file(dir.path().join("new")).unwrap();

        let deadline = Instant::now() + LONG;
        let mut seen = What::default();
        while !(seen.name && seen.data && seen.gone) {
            let News::Changed(Change::One { dir, name, child, what }) = from.recv_deadline(deadline).unwrap()
            else {
                continue;
            };
            let here = dir.as_ref() == Some(&dir_handle) && name == b"new";
            if here || child.as_ref() == Some(&handle) {
                seen.name |= here && what.name;
                seen.data |= what.data;
                seen.gone |= what.gone || (here && what.name && child.is_some());
            }
        }
        drop(watch);
    }

    #[test]
    fn our_own_changes_are_left_out() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = File::open(dir.path()).unwrap();
        let (handle, _) = FileHandle::of_fd(&at).unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        let _watch = ChangeWatch::start(&at, move |news| to.send(news).unwrap()).unwrap();
        fs::write(dir.path().join("ours"), b"").unwrap();
        let theirs = std::process::Command::new("touch").arg(dir.path().join("theirs")).status().unwrap();
        assert!(theirs.success());

        let deadline = Instant::now() + LONG;
        loop {
            if let News::Changed(Change::One { dir: Some(dir), name, .. }) =
                from.recv_deadline(deadline).unwrap()
                && dir == handle
            {
                assert_eq!(name, b"theirs");
                return;
            }
        }
    }

    #[test]
    fn a_storm_is_left_alone_for_a_while() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = File::open(dir.path()).unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        let mut listener =
            Listener::new(0, at.try_clone().unwrap().into(), move |news| to.send(news).unwrap());
        listener.rest = Duration::from_millis(100);
        let mut reports = Reports::of_changes(&at).unwrap();
        for _ in 0..STORM {
            listener.pass_on(Change::Everything, &reports).unwrap();
        }
        for _ in 1..STORM {
            assert_eq!(from.try_recv(), Ok(News::Changed(Change::Everything)));
        }
        assert!(matches!(from.try_recv(), Ok(News::Blind(_))));

        fs::write(dir.path().join("unseen"), b"").unwrap();
        let until = listener.due().expect("it rests");
        while Instant::now() < until {
            listener.drain(&mut reports).unwrap();
        }
        while listener.due().is_some() {
            listener.drain(&mut reports).unwrap();
        }
        assert_eq!(from.try_iter().collect::<Vec<_>>(), [News::Watching]);

        fs::write(dir.path().join("seen"), b"").unwrap();
        let deadline = Instant::now() + LONG;
        let named = |news: &News, wanted: &[u8]| matches!(news, News::Changed(Change::One { name, .. }) if name == wanted);
        let mut news = Vec::new();
        while !news.iter().any(|news| named(news, b"seen")) {
            assert!(Instant::now() < deadline, "{news:?}");
            listener.drain(&mut reports).unwrap();
            news.extend(from.try_iter());
        }
        assert!(!news.iter().any(|news| named(news, b"unseen")), "{news:?}");
    }

    #[test]
    fn overflows_far_apart_are_no_storm() {
        let at = File::open("/").unwrap();
        let mut listener = Listener::new(0, at.into(), |_| {});
        let start = Instant::now();
        let storms = [0, 6, 12, 18, 19].map(|s| listener.is_storm(start + Duration::from_secs(s)));
        assert_eq!(storms, [false, false, false, false, true]);
    }

    #[test]
    fn an_end_is_told() {
        let at = File::open("/").unwrap();
        let (to, from) = crossbeam_channel::unbounded();
        let mut listener = Listener::new(0, at.into(), move |news| to.send(news).unwrap());
        listener.ended("a reason");
        assert!(matches!(from.try_recv(), Ok(News::Blind(why)) if why.ends_with("a reason")));
    }

    #[test]
    fn what_others_may_change_is_not_watched() {
        let refusal = ChangeWatch::start(File::open("/proc").unwrap(), |_| panic!("nothing to tell"));
        assert_eq!(refusal.unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
