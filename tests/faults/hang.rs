//! A source that hangs: who asks for what hangs waits; everybody else goes on, and so do statistics and unmounting.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::Signal;

use crate::brittle::{Brittle, DIRECTORY, Fault, Op};
use crate::errors::{attempt, on_each_way};
use crate::mount::process::sh;
use crate::mount::{Mount, PATIENCE, wait_for};

/// Does it on a thread of its own; what came of it can be waited for.
pub(crate) fn begin(op: Op, file: PathBuf) -> Receiver<Result<(), Option<i32>>> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let _ = tell.send(attempt(op, &file));
    });
    told
}

/// As `attempt`, but a hang is a failed test.
pub(crate) fn at_once(what: &str, op: Op, file: PathBuf) {
    let told = begin(op, file).recv_timeout(PATIENCE);
    assert_eq!(told, Ok(Ok(())), "{what}: {op:?} beside what hangs");
}

pub(crate) fn others_go_on(what: &str, mount: &Mount) {
    for op in [Op::Lookup, Op::Read, Op::Write, Op::Truncate, Op::Fsync] {
        at_once(what, op, mount.join("good"));
    }
    assert!(mount.stats()["pid"].is_u64(), "{what}");
}

pub(crate) fn the_directory_too(what: &str, mount: &Mount) {
    at_once(what, Op::Create, mount.join("new"));
    at_once(what, Op::Rename, mount.join("new"));
    at_once(what, Op::Unlink, mount.join("new.moved"));
    at_once(what, Op::List, mount.point().to_owned());
}

/// Has the daemon ended? Nobody may have collected it yet.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with(['Z', 'X']))
}

pub(crate) fn answered(told: &Receiver<Result<(), Option<i32>>>) -> Result<(), Option<i32>> {
    told.recv_timeout(PATIENCE).expect("an answer")
}

/// The daemon has ended, or the mount has gone: who waited for it gets an error, and does not wait for the source any more. On
/// `passthrough` who reads waits for the source itself, as below: there is nothing between them that could end.
fn released(way: &str, source: &Brittle, caller: &Receiver<Result<(), Option<i32>>>) {
    if way == "path=passthrough" {
        source.mend();
        assert_eq!(answered(caller), Ok(()), "{way}");
    } else {
        assert!(answered(caller).is_err(), "{way}");
    }
}

/// More callers than there are threads that read requests.
const CALLERS: usize = 12;

#[test]
fn only_who_asks_for_what_hangs_waits() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        // Not opening: on `resident` nobody is asked.
        for op in [Op::Lookup, Op::Read, Op::Write, Op::Truncate, Op::Fsync] {
            let what = format!("{way}: {op:?}");
            source.put("bad", b"bad content");
            source.put("good", b"good content");
            source.break_down("bad", op, Fault::Hang);
            let callers: Vec<_> = (0..CALLERS).map(|_| begin(op, mount.join("bad"))).collect();
            wait_for(&what, || (source.waiting() > 0).then_some(()));
            others_go_on(&what, mount);
            // While a name is looked up, the kernel lets nobody change its directory, as on any file system.
            if op != Op::Lookup {
                the_directory_too(&what, mount);
            }
            assert_eq!(callers[0].try_recv().ok(), None, "{what}: it hangs, so nobody has an answer");
            source.mend();
            for caller in &callers {
                assert_eq!(answered(caller), Ok(()), "{what}, mended");
            }
        }
    });
}

/// Closing is a request too, of which nobody above hears.
#[test]
fn a_close_that_hangs_holds_up_nobody() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        source.break_down("bad", Op::Flush, Fault::Hang);
        let callers: Vec<_> = (0..CALLERS).map(|_| begin(Op::Write, mount.join("bad"))).collect();
        wait_for(way, || (source.waiting() > 0).then_some(()));
        others_go_on(way, mount);
        mount.signal(Signal::HUP);
        others_go_on(way, mount);
        source.mend();
        for caller in &callers {
            assert_eq!(answered(caller), Ok(()), "{way}, mended");
        }
    });
}

#[test]
fn a_signal_ends_a_mount_whose_source_hangs() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        for op in [Op::Read, Op::Flush] {
            source.break_down("bad", op, Fault::Hang);
        }
        let held = File::options().read(true).write(true).open(mount.join("good")).unwrap();
        let caller = begin(Op::Read, mount.join("bad"));
        wait_for(way, || (source.waiting() > 0).then_some(()));
        mount.signal(Signal::TERM);
        wait_for(&format!("{way}: the mount to go"), || (!mount.is_mounted()).then_some(()));
        // Who waits is granted a moment.
        released(way, source, &caller);
        // What the daemon itself has open in the source is closed at its end, which may hang as well.
        source.mend();
        wait_for(&format!("{way}: the daemon's end"), || has_ended(mount.pid()).then_some(()));
        // There, a file that is open is the source's own.
        assert_eq!(held.write_at(b"x", 0).is_ok(), way == "path=passthrough", "{way}");
    });
}

#[test]
fn a_mount_whose_source_hangs_can_be_unmounted() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        source.break_down("bad", Op::Read, Fault::Hang);
        let caller = begin(Op::Read, mount.join("bad"));
        wait_for(way, || (source.waiting() > 0).then_some(()));
        // From here on all of it hangs.
        for op in [Op::Lookup, Op::Getattr, Op::Open, Op::Flush, Op::List, Op::Statfs] {
            ["bad", "good", DIRECTORY].iter().for_each(|name| source.break_down(name, op, Fault::Hang));
        }
        let busy = mount.try_unmount();
        let said = String::from_utf8_lossy(&busy.stderr).into_owned();
        assert!(
            said.contains("busy") && said.contains(&format!("({})", std::process::id())),
            "{way}: {said}"
        );
        sh(
            Path::new("/"),
            &format!("{} unmount --lazy {}", env!("CARGO_BIN_EXE_augurfs"), mount.point().display()),
        );
        assert!(!mount.is_mounted(), "{way}");
        // Out of sight; who still uses it goes on as long as it takes, as with any lazy unmount.
        source.mend();
        assert_eq!(answered(&caller), Ok(()), "{way}");
        wait_for(&format!("{way}: the daemon's end"), || has_ended(mount.pid()).then_some(()));
    });
}

#[test]
fn a_killed_daemon_frees_the_path_though_its_source_hangs() {
    on_each_way(&["bad", "good"], |way, source, mount| {
        source.break_down("bad", Op::Read, Fault::Hang);
        let callers: Vec<_> = (0..CALLERS).map(|_| begin(Op::Read, mount.join("bad"))).collect();
        wait_for(way, || (source.waiting() > 0).then_some(()));
        mount.signal(Signal::KILL);
        wait_for(&format!("{way}: the mount to go"), || (!mount.is_mounted()).then_some(()));
        for caller in &callers {
            released(way, source, caller);
        }
    });
}
