//! What became of prefetching, in figures.
//!
//! Must stay true: what came is in time, late, wasted or unused, each once; the four add up.

/// What became of prefetching, in bytes and files of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Jobs asked for, of all kinds.
    pub jobs: u64,
    /// Jobs withdrawn.
    pub withdrawn: u64,
    /// Files brought in.
    pub files: u64,
    /// Bytes brought in.
    pub bytes: u64,
    /// Bytes that were there before their first use.
    pub used_bytes: u64,
    /// Files of these.
    pub used_files: u64,
    /// Bytes that were still on their way at their first use.
    pub late_bytes: u64,
    /// Files of these.
    pub late_files: u64,
    /// Bytes nobody used.
    pub wasted_bytes: u64,
    /// Files of these.
    pub wasted_files: u64,
    /// Bytes reserved for data jobs under way.
    pub in_flight_bytes: u64,
    /// Bytes that came and wait for their use.
    pub unused_bytes: u64,
    /// Files of these.
    pub unused_files: u64,
    /// Files that were foreseen and held back, to compare with (see `control`).
    pub held_back_files: u64,
    /// Groups for which something was in time.
    pub runs: u64,
    /// Files that had come and were gone again at their first use: memory was short. They count as wasted.
    pub evicted_files: u64,
}

/// What became of something that came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// There before its first use.
    InTime,
    /// On its way at its first use.
    Late,
    /// Not used at all.
    Never,
}

impl Fate {
    /// Something came and waits for its use.
    pub(super) fn arrive(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        self.unused_files += 1;
        self.unused_bytes += bytes;
    }

    /// What was taken for in time had gone: its bytes, as far as they can be told, were wasted.
    pub(super) fn recant(&mut self, bytes: u64) {
        if self.used_files > 0 {
            let bytes = bytes.min(self.used_bytes);
            (self.used_bytes, self.wasted_bytes) = (self.used_bytes - bytes, self.wasted_bytes + bytes);
            (self.used_files, self.wasted_files) = (self.used_files - 1, self.wasted_files + 1);
            self.evicted_files += 1;
        }
    }

    /// What waited waits no more.
    pub(super) fn decide(&mut self, how: Use, bytes: u64, files: u64) {
        self.unused_bytes -= bytes;
        self.unused_files -= files;
        let (to_bytes, to_files) = match how {
            Use::InTime => (&mut self.used_bytes, &mut self.used_files),
            Use::Late => (&mut self.late_bytes, &mut self.late_files),
            Use::Never => (&mut self.wasted_bytes, &mut self.wasted_files),
        };
        *to_bytes += bytes;
        *to_files += files;
    }
}
