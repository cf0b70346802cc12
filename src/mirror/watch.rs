//! Changes made directly in the source: what the kernel must be told to forget.
//!
//! What must stay true: the kernel is told at once, and once more when every answer that may have
//! been read from the source before the change has been given, because such an answer may reach the
//! kernel after the first telling. Requests never wait for this, and nothing of ours is locked while
//! the kernel is told (it waits for pages that only our own answers can bring).

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use parking_lot::Mutex;

use super::attr::{Attr, Version};
use super::debris::close_elsewhere;
use super::inodes::{Inode, ROOT};
use super::{Freshness, Mirror};
use crate::id::FileId;
use crate::live::Tree;
use crate::sys::fanotify::{Change, What};
use crate::sys::handle::FileHandle;

/// How often a telling that waits for earlier answers looks whether they have been given.
const GRACE: Duration = Duration::from_millis(5);

/// A watched source tells of every change: the kernel may rely on what it knows until then. An hour
/// bounds the harm of an event that got lost unseen.
const WATCHED: Duration = Duration::from_secs(3600);

/// More things to tell again than this are told as "everything".
const MOST: usize = 10_000;

/// The kernel's caches of our mount.
pub trait Kernel: Send + Sync + fmt::Debug {
    /// Forget attributes, and with `content` also data (of a directory: its listing).
    fn forget_inode(&self, nodeid: u64, content: bool);
    /// Forget what `name` in `parent` leads to.
    fn forget_entry(&self, parent: u64, name: &OsStr);
}

/// One thing the kernel must forget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Forget {
    Inode {
        nodeid: u64,
        content: bool,
    },
    Entry {
        parent: u64,
        name: OsString,
    },
    Everything,
    /// Nothing: when all else has been told again, the watching of this number may be relied on.
    Trust(u64),
}

/// The way to the thread that tells the kernel, and the answers under way.
#[derive(Debug, Default)]
pub(super) struct Changes {
    to: OnceLock<Sender<Forget>>,
    answers: Answers,
    /// What has not been told once yet.
    untold: AtomicU64,
    /// Grows whenever watching begins or ends.
    round: Mutex<u64>,
}

impl Changes {
    /// The content of `nodeid` may differ from what the kernel has.
    pub(super) fn content(&self, nodeid: u64) {
        self.tell(Forget::Inode { nodeid, content: true });
    }

    fn tell(&self, what: Forget) {
        if let Some(to) = self.to.get() {
            self.untold.fetch_add(1, Ordering::SeqCst);
            // The receiver goes only with the mount: then there is no cache to correct.
            let _ = to.send(what);
        }
    }
}

/// Answers under way, in two ages: when the older age is empty, every answer begun before the last
/// change of age has been given.
#[derive(Debug, Default)]
struct Answers {
    age: AtomicU64,
    under_way: [AtomicU64; 2],
}

impl Answers {
    fn begin(&self) -> usize {
        loop {
            let age = self.age.load(Ordering::SeqCst);
            let slot = (age & 1) as usize;
            self.under_way[slot].fetch_add(1, Ordering::SeqCst);
            if self.age.load(Ordering::SeqCst) == age {
                return slot;
            }
            self.under_way[slot].fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn end(&self, slot: usize) {
        self.under_way[slot].fetch_sub(1, Ordering::SeqCst);
    }

    /// Starts a new age; the slot of the one before comes back.
    fn turn(&self) -> usize {
        (self.age.fetch_add(1, Ordering::SeqCst) & 1) as usize
    }

    fn given(&self, slot: usize) -> bool {
        self.under_way[slot].load(Ordering::SeqCst) == 0
    }
}

/// An answer under way: lives from before the source is asked until the kernel has been answered.
#[derive(Debug)]
pub struct Answer {
    mirror: Arc<Mirror>,
    slot: usize,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.mirror.changes.answers.end(self.slot);
    }
}

impl Mirror {
    /// Marks the beginning of an answer that the kernel may cache.
    pub fn answer(self: &Arc<Self>) -> Answer {
        Answer { slot: self.changes.answers.begin(), mirror: self.clone() }
    }

    /// Starts telling `kernel` what to forget.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn connect(self: &Arc<Self>, kernel: Arc<dyn Kernel>) -> std::io::Result<()> {
        let (to, from) = unbounded();
        if self.changes.to.set(to).is_ok() {
            // Weak: the thread ends with the mirror, whose sender it waits on.
            let mirror = Arc::downgrade(self);
            std::thread::Builder::new().name("forget".into()).spawn(move || {
                Teller { kernel, mirror, again: HashSet::new(), waiting: None }.run(&from);
            })?;
        }
        Ok(())
    }

    /// Has the kernel been told of everything, once at least?
    pub fn has_told(&self) -> bool {
        self.changes.untold.load(Ordering::SeqCst) == 0
    }

    /// Has the source lasting names, by which changes in it could be told of?
    pub fn can_be_watched(&self) -> bool {
        self.inodes.root().has_handle()
    }

    /// From now on every change in the source is told of through `changed`, or no longer.
    ///
    /// Watching is relied on when every answer has been given that may have been read before. When it ends,
    /// the kernel forgets what it was told to rely on.
    pub fn set_watched(&self, watched: bool) {
        let mut round = self.changes.round.lock();
        *round += 1;
        if watched {
            self.changes.tell(Forget::Trust(*round));
        } else {
            self.watched.store(false, Ordering::Release);
            self.changes.tell(Forget::Everything);
        }
    }

    fn trust(&self, asked: u64) {
        let round = self.changes.round.lock();
        if *round == asked && self.can_be_watched() {
            self.watched.store(true, Ordering::Release);
        }
    }

    /// Is every change of `inode` in the source told of?
    pub(super) fn is_watched(&self, inode: &Inode) -> bool {
        self.watched.load(Ordering::Acquire)
            && inode.key.dev == self.source.root_key().dev
            // Without one no report would be known to concern it.
            && inode.has_handle()
    }

    /// How long the kernel may rely on what it is told of `inode`.
    pub(super) fn fresh(&self, inode: &Inode) -> Freshness {
        let time = if self.is_watched(inode) { WATCHED } else { self.timeout };
        Freshness { entry: time, attr: time }
    }

    /// As `fresh`, for an answer that tells a name too. When reports are lost, the name that is remembered is
    /// forgotten, and all names below it; other names of the same file are not found.
    pub(super) fn fresh_named(&self, inode: &Inode, attr: &Attr) -> Freshness {
        let Freshness { entry, attr: time } = self.fresh(inode);
        let linked = !inode.kind.is_dir() && attr.nlink > 1;
        Freshness { entry: if linked { entry.min(self.timeout) } else { entry }, attr: time }
    }

    /// Has the kernel forget content that it would go on to believe in, by the attributes it is about to be told.
    pub(super) fn tell_hidden(&self, inode: &Inode, attr: &Attr) {
        if inode.kind.is_file() && inode.tells(Version::from(attr)) && !self.watched.load(Ordering::Acquire) {
            self.changes.content(inode.nodeid);
        }
    }

    /// How long the kernel may believe that a name in `parent` leads nowhere. When reports are lost, such names
    /// are forgotten with the name of their directory, which the root has not.
    pub fn negative_freshness(&self, parent: u64) -> Freshness {
        match self.inodes.get(parent) {
            Some(dir) if dir.nodeid != ROOT => self.fresh(&dir),
            _ => Freshness { entry: self.timeout, attr: self.timeout },
        }
    }

    /// Something was changed in the source by somebody else.
    pub fn changed(&self, change: &Change) {
        match change {
            Change::Everything => {
                self.all_changed_below();
                self.changes.tell(Forget::Everything);
            }
            Change::One { dir, name, child, what } => {
                if let Some(dir) = dir {
                    self.changed_in(dir, name, child.is_some(), *what);
                }
                if let Some(child) = child {
                    self.changed_inode(child, *what);
                }
            }
        }
    }

    fn changed_in(&self, dir: &FileHandle, name: &[u8], has_child: bool, what: What) {
        let Some(dir) = self.inodes.by_handle(dir) else { return };
        if name == b"." || name.is_empty() {
            return self.changes.tell(Forget::Inode { nodeid: dir.nodeid, content: what.data });
        }
        if what.name {
            self.changes.content(dir.nodeid);
        }
        if what.name || !has_child {
            self.changes.tell(Forget::Entry { parent: dir.nodeid, name: OsString::from_vec(name.to_vec()) });
        }
    }

    fn changed_inode(&self, handle: &FileHandle, what: What) {
        let Some(inode) = self.inodes.by_handle(handle) else { return };
        if what.data {
            self.changed_below(inode.nodeid);
        }
        self.changes.tell(Forget::Inode { nodeid: inode.nodeid, content: what.data });
    }
}

impl Tree for Mirror {
    fn identify(&self, inode: u64) -> Option<FileId> {
        let nodeid = if inode == self.visible(ROOT) { ROOT } else { inode };
        let inode = self.inodes.get(nodeid)?;
        self.file_id(&inode)
    }

    fn closed_after_write(&self, inode: u64) {
        let closed = self.descriptors.closed_after_write(inode);
        // As soon as may be: a program that was just written is about to be executed. But this thread must not wait.
        let at_once = self.inodes.get(inode).is_some_and(|it| self.source.answers_from_memory(it.key.dev));
        if at_once { drop(closed) } else { close_elsewhere(closed) }
    }
}

/// The thread that tells the kernel.
#[derive(Debug)]
struct Teller {
    kernel: Arc<dyn Kernel>,
    mirror: std::sync::Weak<Mirror>,
    /// Told once, to be told again.
    again: HashSet<Forget>,
    /// Waits for the answers in this slot; then these are told again.
    waiting: Option<(usize, HashSet<Forget>)>,
}

impl Teller {
    fn run(mut self, from: &Receiver<Forget>) {
        loop {
            let idle = self.again.is_empty() && self.waiting.is_none();
            let next = if idle { from.recv().map_err(Into::into) } else { from.recv_timeout(GRACE) };
            match next {
                Ok(what) => self.tell_first(what),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(mirror) = self.mirror.upgrade() else { return };
            self.tell_again(&mirror);
        }
    }

    fn tell_first(&mut self, what: Forget) {
        if self.again.len() >= MOST {
            self.again.retain(|what| matches!(what, Forget::Trust(_)));
            self.again.insert(Forget::Everything);
        }
        if !matches!(what, Forget::Trust(_))
            && let Some(mirror) = self.mirror.upgrade()
        {
            self.tell(&mirror, &what);
        }
        if let Some(mirror) = self.mirror.upgrade() {
            mirror.changes.untold.fetch_sub(1, Ordering::SeqCst);
        }
        self.again.insert(what);
    }

    fn tell_again(&mut self, mirror: &Mirror) {
        if let Some((slot, told)) = self.waiting.take() {
            if !mirror.changes.answers.given(slot) {
                self.waiting = Some((slot, told));
                return;
            }
            for what in &told {
                self.tell(mirror, what);
            }
        }
        if !self.again.is_empty() {
            self.waiting = Some((mirror.changes.answers.turn(), std::mem::take(&mut self.again)));
        }
    }

    fn tell(&self, mirror: &Mirror, what: &Forget) {
        match what {
            Forget::Inode { nodeid, content } => self.kernel.forget_inode(*nodeid, *content),
            Forget::Entry { parent, name } => self.kernel.forget_entry(*parent, name),
            Forget::Trust(round) => mirror.trust(*round),
            Forget::Everything => {
                for inode in mirror.inodes.all() {
                    let place = inode.place();
                    self.kernel.forget_inode(inode.nodeid, true);
                    self.kernel.forget_entry(place.parent, OsStr::from_bytes(&place.name));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_given_when_all_its_answers_are() {
        let answers = Answers::default();
        let (a, b) = (answers.begin(), answers.begin());
        let slot = answers.turn();
        assert!(!answers.given(slot));
        let later = answers.begin();
        answers.end(a);
        assert!(!answers.given(slot));
        answers.end(b);
        assert!(answers.given(slot), "an answer begun later does not hold it up");
        answers.end(later);
    }
}
