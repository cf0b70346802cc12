//! A source that gives errors: each reaches exactly the caller whom it concerns, under its own number, and nothing of it is
//! kept.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::io::Errno;

use crate::brittle::{Brittle, DIRECTORY, Fault, Op};
use crate::mount::Mount;
use crate::mount::scratch::Scratch;

/// The data paths, and the cache of our own.
const WAYS: [&str; 4] = ["path=resident", "path=passthrough", "path=plain", "cache=own"];

/// What sources are known to answer.
const ERRORS: [Errno; 5] = [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::STALE];

/// Runs a test on each of them, with a source of these files.
pub(crate) fn on_each_way(names: &[&str], test: impl Fn(&str, &Brittle, &Mount)) {
    for way in WAYS {
        let scratch = Scratch::new();
        let source = Brittle::mount(&scratch.source(), names);
        let mount = scratch.mount("auto").option(way).option("timeout=0s").start();
        // A daemon cannot end while a thread of its own waits for the source.
        let _mended = Mended(&source);
        test(way, &source, &mount);
    }
}

/// Mends the source when it goes, also when a test fails.
struct Mended<'a>(&'a Brittle);

impl Drop for Mended<'_> {
    fn drop(&mut self) {
        self.0.mend();
    }
}

/// Does `op` on a file; the number of the error comes back.
pub(crate) fn attempt(op: Op, file: &Path) -> Result<(), Option<i32>> {
    let open = || File::options().read(true).write(true).open(file);
    let done = match op {
        Op::Lookup | Op::Getattr => fs::metadata(file).map(drop),
        Op::Open => open().map(drop),
        Op::Read => fs::read(file).map(drop),
        Op::Write => open().and_then(|file| file.write_all_at(b"xy", 0)),
        Op::Truncate => open().and_then(|file| file.set_len(3)),
        Op::Fsync => open().and_then(|file| file.sync_all()),
        Op::Create => File::create_new(file).map(drop),
        Op::Unlink => fs::remove_file(file),
        Op::Rename => fs::rename(file, file.with_extension("moved")),
        Op::List => fs::read_dir(file).and_then(|mut list| list.try_for_each(|entry| entry.map(drop))),
        Op::Statfs => rustix::fs::statfs(file).map(drop).map_err(Into::into),
        Op::Flush => open().and_then(|file| augurfs::sys::close(file.into()).map_err(Into::into)),
    };
    done.map_err(|error| error.raw_os_error())
}

#[test]
fn every_error_reaches_its_caller_and_nobody_else() {
    let ops = [Op::Lookup, Op::Read, Op::Write, Op::Truncate, Op::Fsync, Op::Create, Op::Unlink, Op::Rename];
    let names = ["bad", "good", "spare"];
    on_each_way(&names, |way, source, mount| {
        for error in ERRORS {
            for op in ops {
                let name = if op == Op::Create { "new" } else { "bad" };
                source.put("bad", b"bad content");
                source.put("good", b"good content");
                assert_eq!(fs::read(mount.join("good")).unwrap(), b"good content", "{way}");
                source.break_down(name, op, Fault::Error(error.raw_os_error()));
                let told = attempt(op, &mount.join(name));
                assert_eq!(told, Err(Some(error.raw_os_error())), "{way}: {op:?}");
                if op != Op::Create {
                    assert_eq!(attempt(Op::Read, &mount.join("good")), Ok(()), "{way}: beside {op:?}");
                    assert_eq!(attempt(Op::Write, &mount.join("good")), Ok(()), "{way}: beside {op:?}");
                }
                source.mend();
                assert_eq!(attempt(op, &mount.join(name)), Ok(()), "{way}: {op:?} after {error}");
                let _ = fs::remove_file(mount.join("new"));
            }
        }
    });
}

#[test]
fn errors_of_the_whole_directory_are_told_too() {
    on_each_way(&["a", "b"], |way, source, mount| {
        for op in [Op::List, Op::Statfs] {
            source.break_down(DIRECTORY, op, Fault::Error(libc::EIO));
            assert_eq!(attempt(op, mount.point()), Err(Some(libc::EIO)), "{way}: {op:?}");
            assert_eq!(attempt(Op::Read, &mount.join("a")), Ok(()), "{way}: beside {op:?}");
            source.mend();
            assert_eq!(attempt(op, mount.point()), Ok(()), "{way}: {op:?}");
        }
    });
}

/// What could not be read once is asked for again, and what came of it is not mixed up with what is there.
#[test]
fn a_part_that_cannot_be_read_is_not_kept_as_zeros() {
    on_each_way(&["bad"], |way, source, mount| {
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8 + 1).collect();
        source.put("bad", &content);
        let file = File::open(mount.join("bad")).unwrap();
        source.break_down("bad", Op::Read, Fault::Error(libc::EIO));
        for at in [0, 50_000, 99_999] {
            let mut byte = [0];
            assert_eq!(file.read_at(&mut byte, at).unwrap_err().raw_os_error(), Some(libc::EIO), "{way}");
        }
        source.mend();
        assert_eq!(fs::read(mount.join("bad")).unwrap(), content, "{way}");
        let mut room = vec![0; content.len()];
        file.read_exact_at(&mut room, 0).unwrap();
        assert!(room == content, "{way}: by what was open all the time");
    });
}

/// A program reads the same files again and again, in order, so that they are fetched ahead; then none can be read any more.
/// The source is asked as often as the program asks, and little more.
#[test]
fn prefetching_leaves_a_source_in_trouble_alone() {
    const FILES: usize = 40;
    let names: Vec<String> = (0..FILES).map(|number| format!("f{number}")).collect();
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    on_each_way(&list, |way, source, mount| {
        let run = || {
            let script = "for n in $(seq 0 39); do cat f$n > /dev/null 2>&1 || true; done";
            crate::mount::process::sh(mount.point(), script);
        };
        (0..3).for_each(|_| run());
        for name in &list {
            source.break_down(name, Op::Read, Fault::Error(libc::EIO));
        }
        let asked = || list.iter().map(|name| source.asked(name, Op::Read)).sum::<usize>();
        let failed = |mount: &Mount| mount.count("/prefetch/failed");
        let (before, failed_before) = (asked(), failed(mount));
        (0..5).for_each(|_| run());
        let failures = failed(mount) - failed_before;
        assert!(failures <= FILES as u64, "{way}: {failures} jobs went to a source that fails");
        assert!(asked() - before <= 6 * 5 * FILES, "{way}: {} requests", asked() - before);
    });
}
