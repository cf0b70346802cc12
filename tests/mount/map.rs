//! Files mapped into memory: the one thing about files that safe Rust cannot do.
#![allow(unsafe_code, reason = "mapping a file is not safe as such; see each block")]

use std::fs::File;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};

/// A file, mapped shared.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    len: usize,
}

impl Map {
    /// Maps the first `len` bytes of `file`, to be written to if `write`.
    pub fn of(file: &File, len: usize, write: bool) -> Self {
        let way = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at a place the kernel chooses takes no memory away from anybody.
        let start = unsafe { mmap(std::ptr::null_mut(), len, way, MapFlags::SHARED, file.as_fd(), 0) };
        let start = start.expect("a file can be mapped");
        Map { start: NonNull::new(start.cast()).expect("not at zero"), len }
    }

    /// The byte at `at` now.
    pub fn get(&self, at: usize) -> u8 {
        assert!(at < self.len);
        // SAFETY: inside the mapping, and the tests cut no file that they have mapped. Others may write at the same time:
        // volatile, and a byte cannot be half written.
        unsafe { self.start.add(at).read_volatile() }
    }

    /// Sets the byte at `at`.
    pub fn set(&mut self, at: usize, byte: u8) {
        assert!(at < self.len);
        // SAFETY: as in `get`; only writable mappings are written to.
        unsafe { self.start.add(at).write_volatile(byte) }
    }

    /// Waits until what was set has reached the file.
    pub fn sync(&self) {
        // SAFETY: the whole mapping, which is ours.
        unsafe { msync(self.start.as_ptr().cast(), self.len, MsyncFlags::SYNC) }.expect("it can be written");
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody can use it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
