//! Many readers of cold files against one, natively and through augurfs: files a second.
//!
//! What must stay true: no file is read twice and none was in memory before; the lone reader and the
//! many take theirs from the same shuffled list.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::arms::{collect_files, drop_caches};
use crate::common::daemon::{Daemon, Program};
use crate::common::shell::Interruption;
use crate::stage::Stage;
use augurfs::device::SplitMix;

/// Files the lone reader gets: a tenth of the list at most.
const ALONE: usize = 200;

/// Prints the rates of one and of `readers` readers.
pub(crate) fn compare(
    stage: &mut Stage<'_>,
    readers: usize,
    program: Option<&Program<'_>>,
    interruption: &Interruption,
) -> anyhow::Result<()> {
    println!("{:<10} {:>14} {:>14} {:>8} {:>6}", "", "one, files/s", "many, files/s", "ratio", "peak");
    let slow = stage.mount()?;
    let tree = slow.path().join("tree");
    let native = ratio(&tree, &tree, readers)?;
    print("native", native, stage.counts()?.peak);
    drop(slow);
    let Some(program) = program else { return Ok(()) };

    let slow = stage.mount()?;
    let source = slow.path().join("tree");
    let mountpoint = stage.scratch().directory("mirror")?;
    let model = stage.scratch().directory("model")?.join("model");
    let options = [format!("model={}", model.display())];
    let daemon = Daemon::start(program, &source, &mountpoint, &options, interruption)?;
    let mirrored = ratio(&source, &mountpoint, readers)?;
    print("augurfs", mirrored, stage.counts()?.peak);
    daemon.end()
}

fn print(title: &str, (alone, together): (f64, f64), peak: u64) {
    println!("{title:<10} {alone:>14.1} {together:>14.1} {:>8.1} {peak:>6}", together / alone);
}

fn ratio(source: &Path, tree: &Path, readers: usize) -> anyhow::Result<(f64, f64)> {
    let files = shuffled(source)?;
    drop_caches(source)?;
    let files: Vec<PathBuf> = files.into_iter().map(|file| tree.join(file)).collect();
    let (few, many) = files.split_at(ALONE.min(files.len() / 10));
    if few.is_empty() {
        bail!("too few files to compare readers");
    }
    Ok((rate(few, 1)?, rate(many, readers)?))
}

/// All files below a tree, by relative path, in an order that has nothing to do with where they are.
fn shuffled(tree: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect_files(tree, usize::MAX, &mut files)?;
    files.sort();
    let mut draws = SplitMix(1);
    for last in (1..files.len()).rev() {
        files.swap(last, (draws.next() % (last as u64 + 1)) as usize);
    }
    files.iter().map(|file| Ok(file.strip_prefix(tree)?.to_owned())).collect()
}

fn rate(files: &[PathBuf], readers: usize) -> anyhow::Result<f64> {
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    thread::scope(|scope| {
        let hands: Vec<_> = (0..readers).map(|_| scope.spawn(|| read_all(files, &next))).collect();
        for hand in hands {
            hand.join().ok().context("a reader panicked")??;
        }
        anyhow::Ok(())
    })?;
    Ok(files.len() as f64 / begun.elapsed().as_secs_f64())
}

fn read_all(files: &[PathBuf], next: &AtomicUsize) -> anyhow::Result<()> {
    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        fs::read(file).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
