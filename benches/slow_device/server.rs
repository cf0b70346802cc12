//! The device itself: a process that serves one file, `image`, through FUSE, and answers each read
//! and write when the model says it is done.
//!
//! What must stay true: nothing between the loop device and the model keeps data (the file is opened
//! for direct I/O) or holds requests back (asynchronous direct I/O, a queue longer than the loop
//! driver's); the model is asked in arrival order.
//!
//! Its owner talks to it in lines on standard input: `counts` is answered with a line of JSON,
//! `reset SEED` with `ok` after the model is at rest and the counts are zero, and `quit` ends it. When
//! the input ends without that, the owner was killed: it clears up behind it, and never outlives it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Context;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, Session, WriteFlags,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use augurfs::device::{Device, Kind, Span};

/// Requests the kernel may have under way: the loop driver's queue is 128 deep.
const QUEUE: u16 = 256;
const IMAGE: INodeNo = INodeNo(2);
/// Nothing about the one file ever changes.
const TTL: Duration = Duration::from_secs(24 * 3600);

/// What the device was asked since the last reset.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Read requests and the bytes they asked for.
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// Write requests and the bytes they brought.
    pub(crate) writes: u64,
    pub(crate) write_bytes: u64,
    /// The most requests in service at one moment.
    pub(crate) peak: u64,
}

type Answer = Box<dyn FnOnce() + Send>;

enum Message {
    Arrival { at: Instant, span: Span, answer: Answer },
    Reset { seed: u64, done: Sender<()> },
}

/// Serves `image` below `mountpoint` until standard input ends.
pub(crate) fn serve(kind: Kind, image: &Path, mountpoint: &Path) -> anyhow::Result<()> {
    let file = File::options().read(true).write(true).open(image).context("the image")?;
    let size = file.metadata()?.len();
    let counts = Arc::new(Mutex::new(Counts::default()));
    let (queue, arrivals) = unbounded();
    let clock = Clock { kind, size, counts: Arc::clone(&counts) };
    thread::Builder::new().name("model".into()).spawn(move || clock.run(&arrivals))?;

    let served = Image { file, size, queue: queue.clone(), counts: Arc::clone(&counts) };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("slow_device".into()), MountOption::DefaultPermissions];
    let session = Session::new(served, mountpoint, &config)?.spawn()?;
    if obey(&queue, &counts)? == Last::Quit {
        return session.umount_and_join().context("unmounting the device");
    }
    abandon(mountpoint.parent().unwrap_or(mountpoint));
    // Ending the process ends the connection, and with it whoever still waits for the device.
    Ok(())
}

/// How the owner took its leave.
#[derive(PartialEq, Eq)]
enum Last {
    /// It has unmounted what it had on the device.
    Quit,
    /// It is gone.
    Silence,
}

fn obey(queue: &Sender<Message>, counts: &Mutex<Counts>) -> anyhow::Result<Last> {
    tell("ok")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ') {
            Some(("reset", seed)) => {
                let (done, wait) = unbounded();
                let order = Message::Reset { seed: seed.parse()?, done };
                queue.send(order).ok().context("the model's thread has died")?;
                wait.recv()?;
                tell("ok")?;
            }
            _ if line == "quit" => return Ok(Last::Quit),
            _ if line == "counts" => tell(&serde_json::to_string(&*counts.lock())?)?,
            _ => tell("unknown")?,
        }
    }
    Ok(Last::Silence)
}

fn tell(line: &str) -> io::Result<()> {
    use io::Write;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Undoes what an owner that was killed could not: detaches everything at and below its scratch
/// directory, and removes that.
fn abandon(scratch: &Path) {
    for mounted in crate::stage::mounts_below(scratch).unwrap_or_default() {
        let _ = rustix::mount::unmount(&mounted, rustix::mount::UnmountFlags::DETACH);
    }
    let _ = std::fs::remove_dir(scratch);
}

/// The thread that waits for the model.
struct Clock {
    kind: Kind,
    size: u64,
    counts: Arc<Mutex<Counts>>,
}

impl Clock {
    fn run(&self, arrivals: &Receiver<Message>) {
        // The default slack of 50 us would be added to every service time.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let origin = Instant::now();
        let mut device = Device::new(self.kind, self.size, 0);
        let mut answers = std::collections::HashMap::new();
        let mut number = 0;
        loop {
            match next_message(arrivals, device.next_done().map(|done| origin + Duration::from_nanos(done))) {
                Ok(Message::Arrival { at, span, answer }) => {
                    number += 1;
                    answers.insert(number, answer);
                    device.arrive(since(origin, at), number, span);
                    let mut counts = self.counts.lock();
                    counts.peak = counts.peak.max(device.in_service() as u64);
                }
                Ok(Message::Reset { seed, done }) => {
                    device = Device::new(self.kind, self.size, seed);
                    *self.counts.lock() = Counts::default();
                    // Whatever was under way is answered at once: nobody measures it.
                    answers.drain().for_each(|(_, answer): (u64, Answer)| answer());
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(done) = device.finish(since(origin, Instant::now())) {
                if let Some(answer) = answers.remove(&done) {
                    answer();
                }
            }
        }
    }
}

fn next_message(arrivals: &Receiver<Message>, until: Option<Instant>) -> Result<Message, RecvTimeoutError> {
    match until {
        Some(until) => arrivals.recv_deadline(until),
        None => arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

fn since(origin: Instant, at: Instant) -> u64 {
    at.saturating_duration_since(origin).as_nanos() as u64
}

/// The file system: a root with one file in it.
struct Image {
    file: File,
    size: u64,
    queue: Sender<Message>,
    counts: Arc<Mutex<Counts>>,
}

impl Image {
    fn when_done(&self, at: Instant, span: Span, answer: impl FnOnce() + Send + 'static) {
        // Fails only when the model's thread died; the dropped reply then says EIO.
        let _ = self.queue.send(Message::Arrival { at, span, answer: Box::new(answer) });
    }

    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let file = ino == IMAGE;
        FileAttr {
            ino,
            size: if file { self.size } else { 0 },
            blocks: self.size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if file { FileType::RegularFile } else { FileType::Directory },
            perm: if file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Image {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let missing = |_| io::Error::other("this kernel has no asynchronous direct I/O on FUSE");
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(missing)?;
        let refused = |_| io::Error::other("the kernel refuses the queue length");
        config.set_max_background(QUEUE).map_err(refused)?;
        config.set_congestion_threshold(QUEUE).map_err(refused)?;
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "image" {
            reply.entry(&TTL, &self.attributes(IMAGE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags | FopenFlags::FOPEN_NOFLUSH);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let at = Instant::now();
        let mut counts = self.counts.lock();
        counts.reads += 1;
        counts.read_bytes += u64::from(size);
        drop(counts);
        let mut data = vec![0; size as usize];
        match self.file.read_exact_at(&mut data, offset) {
            Ok(()) => self.when_done(at, Span { offset, len: u64::from(size) }, move || reply.data(&data)),
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let at = Instant::now();
        let len = data.len() as u64;
        let mut counts = self.counts.lock();
        counts.writes += 1;
        counts.write_bytes += len;
        drop(counts);
        match self.file.write_all_at(data, offset) {
            Ok(()) => self.when_done(at, Span { offset, len }, move || reply.written(len as u32)),
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    // A flush costs nothing: the models know no write cache.
    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}

impl Counts {
    /// What came after `earlier`; the peak stays what it is.
    pub(crate) fn since(self, earlier: Counts) -> Counts {
        Counts {
            reads: self.reads - earlier.reads,
            read_bytes: self.read_bytes - earlier.read_bytes,
            writes: self.writes - earlier.writes,
            write_bytes: self.write_bytes - earlier.write_bytes,
            peak: self.peak,
        }
    }
}
