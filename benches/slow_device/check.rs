//! Is the device what it claims to be? One reader and 64 readers of random blocks on the loop device
//! itself: on `net` the 64 must be at least 40 times faster, else something in between queues them.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::Context;

use crate::stage::Stage;
use augurfs::device::SplitMix;

/// Readers at the same time, as many as `net` serves.
const READERS: usize = 64;
/// Blocks each of them reads.
const BLOCKS: usize = 50;
const BLOCK: usize = 4096;

/// The smallest buffer direct I/O accepts.
#[repr(align(4096))]
struct Page([u8; BLOCK]);

/// Reads at random, alone and in parallel; prints rates and what the device saw.
pub(crate) fn check(stage: &mut Stage<'_>, size: u64) -> anyhow::Result<()> {
    let device = stage.attach()?;
    let alone = rate(device.as_ref(), size, 1)?;
    let together = rate(device.as_ref(), size, READERS)?;
    let counts = stage.counts()?;
    println!("one reader        {alone:>10.0} blocks/s");
    println!("{READERS} readers        {together:>10.0} blocks/s");
    println!("ratio             {:>10.1}", together / alone);
    println!("most at one time  {:>10}", counts.peak);
    Ok(())
}

fn rate(node: &Path, size: u64, readers: usize) -> anyhow::Result<f64> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let hands: Vec<_> =
            (0..readers).map(|reader| scope.spawn(move || read(node, size, reader))).collect();
        for hand in hands {
            hand.join().ok().context("a reader panicked")??;
        }
        anyhow::Ok(())
    })?;
    Ok((readers * BLOCKS) as f64 / begun.elapsed().as_secs_f64())
}

fn read(node: &Path, size: u64, reader: usize) -> anyhow::Result<()> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(node)?;
    let mut page = Page([0; BLOCK]);
    let mut draws = SplitMix(reader as u64);
    for _ in 0..BLOCKS {
        let block = draws.next() % (size / BLOCK as u64);
        file.read_exact_at(&mut page.0, block * BLOCK as u64)?;
    }
    Ok(())
}
