//! How much memory the machine has to spare.

use std::fs;

/// What is assumed where /proc cannot say: enough to be of use, too little to do harm.
const UNKNOWN: u64 = 256 << 20;

/// A quarter of the memory that is available now, in bytes.
pub fn default_budget() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available(&text).map_or(UNKNOWN, |bytes| bytes / 4)
}

/// `MemAvailable:   12345 kB` in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
        assert!(default_budget() > 0);
    }
}
