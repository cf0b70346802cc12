//! A FUSE mount made by hand, with nobody behind it: the test holds the device, and never answers.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Requests to it wait for ever while it lives, and fail at once when it is dead. Unmounted when dropped.
pub(crate) struct HandMount {
    point: PathBuf,
    device: Option<File>,
}

impl HandMount {
    /// Mounts it as if it were one of ours.
    pub(crate) fn new(point: &Path) -> Self {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let device = device.expect("these tests need root and /dev/fuse");
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", device.as_raw_fd());
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("hand", point, "fuse.augurfs", flags, options).expect("these tests need root");
        HandMount { point: point.to_owned(), device: Some(device) }
    }

    /// The device, for a daemon that is started with it.
    #[allow(dead_code)] // as below
    pub(crate) fn give(&mut self) -> File {
        self.device.take().unwrap()
    }

    /// As if the daemon had been killed.
    #[allow(dead_code)] // not every test that uses this file kills its mount
    pub(crate) fn die(&mut self) {
        self.device = None;
    }
}

impl Drop for HandMount {
    fn drop(&mut self) {
        self.device = None;
        // It may have been unmounted by what is tested.
        let _ = rustix::mount::unmount(&self.point, rustix::mount::UnmountFlags::DETACH);
    }
}
