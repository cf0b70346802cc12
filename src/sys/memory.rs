//! How much memory there is to spare: of the machine, and of the control groups this process is in.
//!
//! What must stay true: the page cache that our workers fill is charged to our own group, so the narrower of the two counts.

use std::fs;

use super::cgroup::Groups;

/// What is assumed where /proc cannot say: enough to be of use, too little to do harm.
const UNKNOWN: u64 = 256 << 20;

/// Memory to spare, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All there is.
    pub total: u64,
    /// What nobody uses for anything.
    pub free: u64,
    /// What could be had without taking anything from anybody.
    pub available: u64,
}

/// Memory now, as far as these groups leave it.
pub fn now(groups: &mut Groups) -> Memory {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = Memory {
        total: field(&text, "MemTotal:").unwrap_or(UNKNOWN * 4),
        free: field(&text, "MemFree:").unwrap_or(UNKNOWN),
        available: field(&text, "MemAvailable:").unwrap_or(UNKNOWN * 4),
    };
    match groups.memory() {
        Some(group) if group.available < machine.available => Memory {
            total: machine.total.min(group.limit),
            free: machine.free.min(group.free),
            available: group.available,
        },
        _ => machine,
    }
}

/// A quarter of the memory that is available now, in bytes.
pub fn default_budget() -> u64 {
    now(&mut Groups::default()).available / 4
}

/// Gives memory that was freed back to the machine: the C library keeps most of it for later. Takes some milliseconds for
/// each hundred megabytes, in which other threads may have to wait for memory.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number, touches nothing but the C library's own free memory, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Share of the last ten seconds in which some process waited for memory, in percent; `None` where the kernel does not tell.
pub fn stalls() -> Option<f64> {
    share(&fs::read_to_string("/proc/pressure/memory").ok()?)
}

/// `MemAvailable:   12345 kB` in bytes.
fn field(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// `some avg10=1.23 avg60=...`.
fn share(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let available = |text| field(text, "MemAvailable:");
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
        assert!(default_budget() > 0);
        let now = now(&mut Groups::default());
        assert!(now.available <= now.total);
    }

    #[test]
    fn stalls_are_read_in_percent() {
        let text = "some avg10=12.50 avg60=0.00 avg300=0.00 total=463340\nfull avg10=9.00 avg60=0.00\n";
        assert_eq!(share(text), Some(12.5));
        assert_eq!(share("full avg10=9.00\n"), None);
        assert_eq!(share(""), None);
    }
}
