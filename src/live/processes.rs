//! Who asks: from thread and process numbers to streams, one for each process life.
//!
//! What must stay true: a number alone identifies nobody, for the kernel uses it again; number and
//! start time together do. A stream is announced before its number is handed out, so that whoever
//! drains the announcements after receiving an event knows the event's stream. No lock is held while
//! /proc is read.

mod lives;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use rustix::time::{ClockId, clock_gettime};

use crate::event::Origin;
use crate::id::{GroupId, ProgramId, SessionId, StreamId};
use crate::sys::credentials::Credentials;
use crate::sys::proc::{self, Stat};
pub(crate) use lives::Announcement;
use lives::{Life, Lives, Runs};

/// The stream of everybody whom we cannot see: number 0, which other process-number namespaces and
/// the kernel's own write-back have.
pub const OUTSIDE: StreamId = StreamId(0);

/// A first check after this many milliseconds: a shell's child runs what it was made for within a
/// few, and until then it passes for the shell.
const FIRST_PATIENCE: u32 = 2;
/// Between later checks: a process number comes round again after 32,768 births at the earliest,
/// which takes longer than a second.
const LAST_PATIENCE: u32 = 1000;
/// Ancestors looked at when none is known: make, shell, compiler driver and compiler are four.
const ANCESTORS: u32 = 8;
/// A thread not heard of for this long, in milliseconds, is looked up again when it comes back.
const FORGOTTEN: u32 = 30_000;

/// Who made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// One of our own threads: such requests are served, but neither learned from nor made to wait.
    pub own: bool,
    /// The process life.
    pub stream: StreamId,
}

/// Gives a program's path its number.
pub(crate) type Intern = Box<dyn Fn(&[u8]) -> ProgramId + Send + Sync>;

/// The table of processes and their threads.
pub(crate) struct Processes {
    own: u32,
    intern: Intern,
    threads: RwLock<HashMap<u32, Thread>>,
    lives: Mutex<Lives>,
}

/// A thread number as last looked up.
struct Thread {
    caller: Caller,
    process: u32,
    start: u64,
    /// When it was last checked and how long that holds, in milliseconds of the coarse clock.
    checked: AtomicU32,
    patience: AtomicU32,
}

impl Processes {
    pub(crate) fn new(intern: Intern) -> Self {
        let (group, session) = (GroupId(0), SessionId(0));
        let outside = Origin { parent: None, program: intern(b""), group, session };
        let mut lives = Lives::new(outside);
        lives.begin(outside);
        Processes {
            own: std::process::id(),
            intern,
            threads: RwLock::new(HashMap::new()),
            lives: Mutex::new(lives),
        }
    }

    /// The stream that thread `id` belongs to. Meant to be asked while the thread waits for our
    /// answer; when it has gone all the same, it gets a stream that nothing is known of.
    pub(crate) fn caller(&self, id: u32) -> Caller {
        self.known(id).unwrap_or_else(|| self.look_up(id, None))
    }

    /// As [`Processes::caller`], for the number of a process.
    pub(crate) fn process(&self, id: u32) -> Caller {
        self.known(id).unwrap_or_else(|| self.look_up(id, Some(id)))
    }

    /// The program that thread `id` runs; the outsiders' where it is not known.
    pub(crate) fn program_of(&self, id: u32) -> ProgramId {
        self.caller(id);
        let process = self.threads.read().get(&id).map(|thread| thread.process);
        let lives = self.lives.lock();
        let life = process.and_then(|process| lives.by_process.get(&process));
        life.map_or(lives.outside.program, |life| life.origin.program)
    }

    /// Is `id` one of the threads enlisted? Never looks anything up.
    pub(crate) fn is_own(&self, id: u32) -> bool {
        self.threads.read().get(&id).is_some_and(|thread| thread.caller.own)
    }

    fn known(&self, id: u32) -> Option<Caller> {
        if id == 0 {
            return Some(Caller { own: false, stream: OUTSIDE });
        }
        let threads = self.threads.read();
        let thread = threads.get(&id)?;
        (thread.caller.own || thread.is_fresh()).then_some(thread.caller)
    }

    /// Makes the calling thread known as one of ours until [`Processes::dismiss`].
    pub(crate) fn enlist(&self) -> u32 {
        let id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let caller = Caller { own: true, stream: OUTSIDE };
        self.threads.write().insert(id, Thread::new(caller, self.own, 0));
        id
    }

    /// Forgets one of our threads: its number may be another's soon.
    pub(crate) fn dismiss(&self, id: u32) {
        self.threads.write().remove(&id);
    }

    /// Process `id` is about to run another program: look again at its next access.
    pub(crate) fn expect_exec(&self, id: u32) {
        if let Some(thread) = self.threads.read().get(&id) {
            thread.patience.store(0, Ordering::Relaxed);
        }
    }

    /// What happened to streams since the last call.
    pub(crate) fn announcements(&self, out: &mut Vec<Announcement>) {
        out.append(&mut self.lives.lock().announcements);
    }

    /// Announces the end of processes that are no more; called now and then while there is activity.
    pub(crate) fn sweep(&self) {
        let lives: Vec<(u32, u64)> =
            self.lives.lock().by_process.iter().map(|(&id, life)| (id, life.start)).collect();
        let dead: Vec<(u32, u64)> = lives.into_iter().filter(|&(id, start)| !is_alive(id, start)).collect();
        let mut gone = Vec::new();
        {
            let mut lives = self.lives.lock();
            for (id, start) in dead {
                gone.extend(lives.end(id, start));
            }
        }
        let now = coarse_millis();
        self.threads.write().retain(|_, thread| {
            let stale = now.wrapping_sub(thread.checked.load(Ordering::Relaxed)) > FORGOTTEN;
            thread.caller.own || !(stale || gone.contains(&thread.caller.stream))
        });
    }

    /// Where a living stream comes from and what it runs now.
    pub(crate) fn origin(&self, stream: StreamId) -> Option<Origin> {
        let lives = self.lives.lock();
        if stream == OUTSIDE {
            return Some(lives.outside);
        }
        lives.by_process.values().find(|life| life.stream == stream).map(|life| life.origin)
    }

    /// For whom a living stream acts; whom nobody can see has no more rights than everybody has.
    pub(crate) fn user(&self, stream: StreamId) -> Arc<Credentials> {
        let lives = self.lives.lock();
        let life = lives.by_process.values().find(|life| life.stream == stream);
        life.map_or_else(|| Arc::new(Credentials::NOBODY), |life| life.user.clone())
    }

    /// All living streams and where they come from, parents before their children.
    pub(crate) fn origins(&self) -> Vec<(StreamId, Origin)> {
        let lives = self.lives.lock();
        let known = lives.by_process.values().map(|life| (life.stream, life.origin));
        let mut all: Vec<_> = known.chain([(OUTSIDE, lives.outside)]).collect();
        all.sort_unstable_by_key(|&(stream, _)| stream);
        all
    }

    /// Streams alive, the one of the outsiders not counted.
    pub(crate) fn len(&self) -> usize {
        self.lives.lock().by_process.len()
    }

    fn look_up(&self, id: u32, process: Option<u32>) -> Caller {
        let known = self.threads.read().get(&id).map(|thread| (thread.process, thread.start));
        let stat = proc::stat(id).ok();
        let start = stat.as_ref().map_or(0, |stat| stat.start);
        let process = match known {
            Some((process, before)) if before == start => process,
            _ => process.or_else(|| proc::process_of(id).ok()).unwrap_or(id),
        };
        if process == self.own {
            // A thread of ours that is no worker; it is not kept, for it will not say when it ends.
            return Caller { own: true, stream: OUTSIDE };
        }
        let stat = if process == id { stat } else { proc::stat(process).ok() };
        let stream = stat.map_or_else(|| self.ghost(process), |stat| self.life(process, &stat, ANCESTORS));
        let caller = Caller { own: false, stream };
        self.remember(id, Thread::new(caller, process, start));
        caller
    }

    fn remember(&self, id: u32, thread: Thread) {
        let mut threads = self.threads.write();
        if let Some(before) = threads.get(&id)
            && before.caller == thread.caller
            && before.start == thread.start
        {
            let patience = before.patience.load(Ordering::Relaxed);
            let longer = (patience * 2).clamp(FIRST_PATIENCE, LAST_PATIENCE);
            thread.patience.store(longer, Ordering::Relaxed);
        }
        threads.insert(id, thread);
    }

    /// The stream of a process, begun with its ancestors if it is new.
    fn life(&self, process: u32, stat: &Stat, ancestors: u32) -> StreamId {
        let user = Credentials::of(process).unwrap_or(Credentials::NOBODY);
        let runs = Runs { program: self.program(process, stat), user };
        let known = self.lives.lock().refresh(process, stat.start, &runs);
        known.unwrap_or_else(|| {
            let parent = self.parent(stat, ancestors);
            let leader = self.leader_start(process, stat);
            self.lives.lock().add(process, stat, leader, parent, &runs)
        })
    }

    /// An ancestor that has gone meanwhile is no parent: its children are process 1's by now.
    fn parent(&self, stat: &Stat, ancestors: u32) -> Option<StreamId> {
        // Process 1 adopts orphans: being its child says nothing.
        if stat.parent <= 1 || stat.parent == self.own || ancestors == 0 {
            return None;
        }
        let above = proc::stat(stat.parent).ok()?;
        let known = self.lives.lock().known(stat.parent, above.start);
        known.or_else(|| Some(self.life(stat.parent, &above, ancestors - 1)))
    }

    fn leader_start(&self, process: u32, stat: &Stat) -> Option<u64> {
        if stat.group == process {
            return Some(stat.start);
        }
        proc::stat(stat.group).ok().map(|leader| leader.start)
    }

    fn program(&self, process: u32, stat: &Stat) -> ProgramId {
        match proc::executable(process) {
            Ok(path) => {
                let program = (self.intern)(path.strip_suffix(b" (deleted)").unwrap_or(&path));
                self.lives.lock().by_comm.insert(stat.comm.clone(), program);
                program
            }
            Err(_) => {
                let seen = self.lives.lock().by_comm.get(&stat.comm).copied();
                seen.unwrap_or_else(|| (self.intern)(&stat.comm))
            }
        }
    }

    /// A stream for a process that ended before anybody looked.
    fn ghost(&self, process: u32) -> StreamId {
        let unknown = (self.intern)(b"");
        let mut lives = self.lives.lock();
        if let Some(life) = lives.by_process.get(&process) {
            return life.stream;
        }
        let (group, session) = (lives.new_group(), lives.outside.session);
        let origin = Origin { parent: None, program: unknown, group, session };
        let stream = lives.begin(origin);
        let user = Arc::new(Credentials::NOBODY);
        lives.by_process.insert(process, Life { stream, start: 0, origin, user });
        stream
    }
}

impl Thread {
    fn new(caller: Caller, process: u32, start: u64) -> Self {
        let (checked, patience) = (AtomicU32::new(coarse_millis()), AtomicU32::new(FIRST_PATIENCE));
        Thread { caller, process, start, checked, patience }
    }

    fn is_fresh(&self) -> bool {
        let age = coarse_millis().wrapping_sub(self.checked.load(Ordering::Relaxed));
        age < self.patience.load(Ordering::Relaxed)
    }
}

/// A zombie has closed its files, so its life is over.
fn is_alive(process: u32, start: u64) -> bool {
    proc::stat(process).is_ok_and(|stat| stat.start == start && !matches!(stat.state, b'Z' | b'X'))
}

/// Milliseconds of a clock that costs a few nanoseconds and moves every few milliseconds; it wraps
/// after 49 days, which differences survive.
fn coarse_millis() -> u32 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    (now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000) as u32
}

#[cfg(test)]
mod tests;
