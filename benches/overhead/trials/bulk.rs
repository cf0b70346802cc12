//! Big files: mapped, read by many, written in pieces.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use augurfs::device::SplitMix;

use super::{Side, timed};
use crate::material::below;

/// Bytes written in one measurement.
const WRITTEN: usize = 64 << 20;
/// Random writes in one measurement.
const RANDOM_WRITES: usize = 4000;
const READERS: usize = 16;

/// MB/s of a program that maps the file and copies a MiB at a time out of it.
pub(super) fn mapped(side: &Side<'_>) -> anyhow::Result<f64> {
    let path = side.root.join("big");
    let size = fs::metadata(&path)?.len();
    let mut command = Command::new("python3");
    let script = "import mmap,sys\nwith open(sys.argv[1],'rb') as f:\n m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)\n \
                  n=0\n for i in range(0,len(m),1<<20): n+=len(m[i:i+(1<<20)])";
    command.args(["-c", script]).arg(path);
    Ok(size as f64 / 1e6 / timed(command, side, 0)?)
}

/// MB/s of sixteen readers together, each of a sixteenth.
pub(super) fn readers(side: &Side<'_>) -> anyhow::Result<f64> {
    let path = side.root.join("big");
    let size = fs::metadata(&path)?.len();
    let share = size / READERS as u64;
    let begun = Instant::now();
    thread::scope(|scope| {
        let hands: Vec<_> = (0..READERS as u64)
            .map(|reader| {
                let path = &path;
                scope.spawn(move || -> std::io::Result<()> {
                    let (file, mut buffer) = (File::open(path)?, vec![0; 128 << 10]);
                    for at in (reader * share..(reader + 1) * share).step_by(buffer.len()) {
                        file.read_at(&mut buffer, at)?;
                    }
                    Ok(())
                })
            })
            .collect();
        hands.into_iter().try_for_each(|hand| Ok(hand.join().ok().context("a reader panicked")??))
    })
    .map(|()| size as f64 / 1e6 / begun.elapsed().as_secs_f64())
}

pub(super) fn write_64k(side: &Side<'_>) -> anyhow::Result<f64> {
    write(side, 64 << 10)
}

pub(super) fn write_4k(side: &Side<'_>) -> anyhow::Result<f64> {
    write(side, 4 << 10)
}

fn own(side: &Side<'_>, name: &str) -> PathBuf {
    side.root.join(format!("{name}-{}", if side.mounted { "mounted" } else { "native" }))
}

/// A new file in pieces of this size, seconds; nothing is waited for that goes to a device later.
fn write(side: &Side<'_>, piece: usize) -> anyhow::Result<f64> {
    let path = own(side, "written");
    let buffer = vec![0x5a; piece];
    let begun = Instant::now();
    let file = File::create(&path)?;
    for at in (0..WRITTEN).step_by(piece) {
        file.write_all_at(&buffer, at as u64)?;
    }
    drop(file);
    let took = begun.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(took)
}

/// 4 KiB here and there in a file that is there, seconds.
pub(super) fn write_random(side: &Side<'_>) -> anyhow::Result<f64> {
    let path = own(side, "rewritten");
    if !path.exists() {
        fs::write(&path, vec![0x5a; WRITTEN])?;
        let _ = File::open(&path)?.read(&mut [0])?;
    }
    let file = File::options().write(true).open(&path)?;
    let (buffer, mut draws) = ([0x5b; 4096], SplitMix(1));
    let begun = Instant::now();
    for _ in 0..RANDOM_WRITES {
        file.write_all_at(&buffer, below(&mut draws, (WRITTEN / 4096) as u64) * 4096)?;
    }
    Ok(begun.elapsed().as_secs_f64())
}
