//! The machine's own device: an ext4 in a file below the place of work, on a loop device that keeps nothing itself.
//!
//! What must stay true: the file is read past the page cache, so that what the loop device is asked for comes from the device.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;

use crate::common::mounts::{Loop, Mounted, make_ext4, utf8};
use crate::common::shell::tool;
use crate::server::Counts;

/// Read to find out how fast the device is.
const PROBE: usize = 64 << 20;
const CHUNK: usize = 1 << 20;

/// Such a device; its images go when it is dropped.
pub(crate) struct OwnDevice {
    directory: PathBuf,
    node: Option<String>,
    raw_rate: f64,
}

impl OwnDevice {
    /// With `tree` on it.
    pub(crate) fn build(work: &Path, scratch: &Path, tree: &Path, size: u64) -> anyhow::Result<OwnDevice> {
        let directory = work.join(format!("images-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let mut device = OwnDevice { directory, node: None, raw_rate: 0.0 };
        let golden = device.directory.join("golden");
        make_ext4(&golden, size)?;
        let at = scratch.join("build");
        fs::create_dir_all(&at)?;
        let mounted = Loop::attach(&golden, false)?.mount(&at, "nodelalloc")?;
        tool("cp", &["-a", utf8(tree)?, utf8(&at.join("tree"))?])?;
        drop(mounted);
        device.raw_rate = raw_rate(&device.directory.join("probe"))?;
        Ok(device)
    }

    pub(crate) fn mount(&mut self, at: &Path) -> anyhow::Result<Mounted> {
        let image = self.directory.join("image");
        tool("cp", &["--sparse=always", utf8(&self.directory.join("golden"))?, utf8(&image)?])?;
        rustix::fs::sync();
        let device = Loop::attach(&image, true)?;
        self.node = device.as_ref().file_name().and_then(|name| name.to_str()).map(str::to_owned);
        device.mount(at, "")
    }

    /// What the loop device was asked since it was made.
    pub(crate) fn counts(&self) -> anyhow::Result<Counts> {
        let node = self.node.as_ref().context("no device yet")?;
        let text = fs::read_to_string(format!("/sys/block/{node}/stat"))?;
        let field: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let get = |index: usize| field.get(index).copied().unwrap_or(0);
        Ok(Counts {
            reads: get(0),
            read_bytes: get(2) * 512,
            writes: get(4),
            write_bytes: get(6) * 512,
            peak: 0,
        })
    }

    pub(crate) fn raw_rate(&self) -> f64 {
        self.raw_rate
    }
}

impl Drop for OwnDevice {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The smallest alignment direct I/O accepts everywhere.
#[repr(align(4096))]
struct Chunk([u8; CHUNK]);

/// Bytes a second, read in one piece: the best of three, for it is a limit.
fn raw_rate(probe: &Path) -> anyhow::Result<f64> {
    fs::write(probe, vec![0x5a; PROBE])?;
    File::open(probe)?.sync_all()?;
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(probe)?;
    let mut chunk = Box::new(Chunk([0; CHUNK]));
    let mut best = 0.0f64;
    for _ in 0..3 {
        let begun = Instant::now();
        for at in (0..PROBE).step_by(CHUNK) {
            file.read_exact_at(&mut chunk.0, at as u64)?;
        }
        best = best.max(PROBE as f64 / begun.elapsed().as_secs_f64());
    }
    fs::remove_file(probe)?;
    Ok(best)
}
