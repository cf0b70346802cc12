//! On a real mount (a tmpfs, which takes fanotify marks as our own mount does). Needs root.

use super::*;
use crate::event::AccessEvent;
use crate::id::{ProgramId, StreamId};
use crate::live::desk::Input;
use crate::live::processes::Processes;
use crossbeam_channel::Receiver;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(30);
/// Higher than any number that names get here.
const KNOWN: FileId = FileId(1_000_000);

struct Mounted(TempDir);

impl Mounted {
    fn new() -> Self {
        assert!(rustix::process::geteuid().is_root(), "this test needs root, to mount");
        let dir = tempfile::tempdir().unwrap();
        mount("none", dir.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        Mounted(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Not lazily: a descriptor left open would show here.
        let busy = unmount(self.path(), UnmountFlags::empty()).is_err();
        if busy {
            let _ = unmount(self.path(), UnmountFlags::DETACH);
            assert!(std::thread::panicking(), "the mount was kept busy");
        }
    }
}

/// Knows one inode, and remembers which were closed after writing.
#[derive(Default)]
struct OneFile {
    inode: u64,
    closed: Mutex<Vec<u64>>,
}

impl Tree for OneFile {
    fn identify(&self, inode: u64) -> Option<FileId> {
        (inode == self.inode).then_some(KNOWN)
    }

    fn closed_after_write(&self, inode: u64) {
        self.closed.lock().push(inode);
    }
}

struct Watched {
    mounted: Mounted,
    tree: Arc<OneFile>,
    names: Arc<Mutex<Names>>,
    desk: Arc<Desk>,
    inputs: Receiver<Input>,
    seen: Vec<AccessEvent>,
    follower: Option<Follower>,
}

fn watched() -> Watched {
    let mounted = Mounted::new();
    for name in ["known", "other"] {
        fs::write(mounted.path().join(name), b"text\n").unwrap();
    }
    fs::create_dir(mounted.path().join("dir")).unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(mounted.path().join("known")).unwrap());
    let tree = Arc::new(OneFile { inode, ..OneFile::default() });
    let names = Arc::new(Mutex::new(Names::new()));
    let (desk, inputs) = Desk::new(Processes::new(Box::new(|_| ProgramId(0))), Arc::default());
    let desk = Arc::new(desk);
    let follower = watch(mounted.path(), tree.clone(), names.clone(), desk.clone()).unwrap();
    Watched { mounted, tree, names, desk, inputs, seen: Vec::new(), follower: Some(follower) }
}

impl Watched {
    /// A shell that does something in the mount for each line it is told, and says when it is done.
    fn shell(&self, script: &str) -> Child {
        let mut shell = Command::new("sh");
        shell.current_dir("/").args(["-c", script, "sh"]).arg(self.mounted.path());
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// Waits until an access like this one has been handed in.
    fn wait(&mut self, stream: StreamId, file: FileId, op: Op) {
        let deadline = Instant::now() + LONG;
        let there = |event: &AccessEvent| (event.stream, event.file, event.op) == (stream, file, op);
        while !self.seen.iter().any(there) {
            match self.inputs.recv_deadline(deadline) {
                Ok(Input::Access(event)) => self.seen.push(event),
                Ok(Input::Accesses(events)) => self.seen.extend(events),
                Ok(_) => {}
                Err(_) => panic!("{file:?} {op:?} by {stream:?} was not seen: {:?}", self.seen),
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Before the mount goes.
        self.follower = None;
    }
}

fn end(mut shell: Child) {
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn opens_are_seen_with_their_process() {
    let mut watched = watched();
    let shell = watched.shell(r#"read a < "$1/known"; read a < "$1/other"; read wait"#);
    let stream = watched.desk.processes.process(shell.id()).stream;
    let other = watched.names.lock().intern_path(b"other");
    watched.wait(stream, KNOWN, Op::Open);
    watched.wait(stream, other, Op::Open);
    end(shell);
}

#[test]
fn listings_and_closes_after_writing_are_seen() {
    let mut watched = watched();
    let mut shell = watched.shell(r#"cd "$1/dir"; ls >/dev/null; cd /; echo x > "$1/known"; read wait"#);
    shell.stdin.as_mut().unwrap().flush().unwrap();
    let dir = watched.names.lock().intern_path(b"dir");
    let stream = watched.desk.processes.process(shell.id()).stream;
    watched.wait(stream, KNOWN, Op::Close);
    assert!(watched.tree.closed.lock().contains(&watched.tree.inode));
    assert!(watched.seen.iter().any(|event| event.file == dir && event.op == Op::List), "{:?}", watched.seen);
    end(shell);
}

#[test]
fn our_own_opens_are_not_ours_to_learn() {
    let mut watched = watched();
    fs::read(watched.mounted.path().join("known")).unwrap();
    let shell = watched.shell(r#"read a < "$1/other"; read wait"#);
    let stream = watched.desk.processes.process(shell.id()).stream;
    let other = watched.names.lock().intern_path(b"other");
    watched.wait(stream, other, Op::Open);
    assert!(watched.seen.iter().all(|event| event.file == other), "{:?}", watched.seen);
    end(shell);
}

#[test]
fn a_clone_of_the_mount_is_not_watched_and_does_not_keep_it_busy() {
    use crate::live::attachment::Attachment;
    let mut watched = watched();
    let clone = Attachment::clone_of(watched.mounted.path()).unwrap();
    // Another process opens a file through the clone, which it inherits as its directory.
    let through = format!("/proc/self/fd/{}/known", clone.as_raw_fd());
    fs::read(&through).unwrap();
    let root = format!("/proc/{}/fd/{}", std::process::id(), clone.as_raw_fd());
    let status = Command::new("cat").arg(format!("{root}/known")).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    let shell = watched.shell(r#"read a < "$1/other"; read wait"#);
    let stream = watched.desk.processes.process(shell.id()).stream;
    let other = watched.names.lock().intern_path(b"other");
    watched.wait(stream, other, Op::Open);
    assert!(watched.seen.iter().all(|event| event.file == other), "{:?}", watched.seen);
    end(shell);
    watched.follower = None;
    // The clone still lives when the mount goes: `Mounted` checks that it can.
    drop(watched);
    drop(clone);
}

#[test]
fn a_storm_is_seen_whole() {
    const FILES: usize = 3000;
    let mut watched = watched();
    fs::create_dir(watched.mounted.path().join("many")).unwrap();
    // Each file once: reports of the same file by the same process may be merged while they wait.
    for number in 0..FILES {
        fs::write(watched.mounted.path().join(format!("many/{number}")), b"text\n").unwrap();
    }
    let shell =
        watched.shell(r#"for f in "$1"/many/*; do read a < "$f"; done; read a < "$1/known"; read wait"#);
    let stream = watched.desk.processes.process(shell.id()).stream;
    watched.wait(stream, KNOWN, Op::Open);
    let opens = watched.seen.iter().filter(|event| event.stream == stream && event.op == Op::Open);
    assert_eq!((opens.count(), watched.desk.counters.events.lost.get()), (FILES + 1, 0));
    end(shell);
}

/// The kernel opens what it reports for us when we read the report; a fifo whose other end has gone by then must
/// not make it wait.
#[test]
fn a_fifo_does_not_stop_the_reader() {
    let mounted = Mounted::new();
    let mut reports = Reports::of_opens(mounted.path()).unwrap();
    let script = r#"mkfifo "$1/fifo"; exec 3<> "$1/fifo"; exec 3>&-; : > "$1/file""#;
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(mounted.path()).status().unwrap();
    assert!(status.success());
    let (to, from) = crossbeam_channel::bounded(1);
    let reader = std::thread::spawn(move || {
        let mut batch = Vec::new();
        reports.read_opens(&mut batch).unwrap();
        to.send(batch.iter().filter(|opened| opened.open).count()).unwrap();
    });
    let opens = from.recv_timeout(LONG).expect("the reader waits for the fifo's other end");
    assert!(opens >= 1, "the file after the fifo was not reported");
    reader.join().unwrap();
}
