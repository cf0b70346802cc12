//! `augurfs doctor`: what this machine and this user have, and what to do about what is missing.
//!
//! What must stay true: nothing is changed, nothing is mounted, and each finding is one line.

use super::{FAILURE, paint, say};
use crate::config::{Config, Defaults, Surroundings, show_bytes};
use crate::live::control::{self, ControlError, Request};
use crate::run::check;
use crate::sys::fanotify::Reports;
use crate::sys::mountinfo;
use rustix::process::{Resource, geteuid, getrlimit};
use std::fs;
use std::path::Path;

/// Kernel passthrough for FUSE came with 6.9, cachestat(2) with 6.5; older than 5.9 nobody has tried.
const PASSTHROUGH: (u32, u32) = (6, 9);
const CACHESTAT: (u32, u32) = (6, 5);
const OLDEST: (u32, u32) = (5, 9);
/// capabilities(7): the number of CAP_SYS_ADMIN.
const SYS_ADMIN: u32 = 21;
/// Each file that is in use on the passthrough path takes a descriptor.
const DESCRIPTORS: u64 = 4096;
/// With less there is little to bring files into.
const MEMORY: u64 = 256 << 20;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Less than there could be.
    Odd,
    /// Nothing can be mounted.
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    state: State,
    what: &'static str,
    told: String,
}

fn found(state: State, what: &'static str, told: impl Into<String>) -> Finding {
    Finding { state, what, told: told.into() }
}

/// The exit code is 1 when something keeps every mount from coming about.
pub(super) fn run() -> anyhow::Result<u8> {
    let mut findings = vec![
        kernel(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()),
        device(),
        privileges(),
        fusermount(),
        allow_other(&fs::read_to_string("/etc/fuse.conf").unwrap_or_default()),
        fanotify(),
        helper(),
        cgroup(),
        pressure(),
        descriptors(getrlimit(Resource::Nofile).maximum),
        defaults(),
    ];
    findings.extend(mounts());
    say(&findings.iter().map(Finding::line).collect::<String>())?;
    Ok(if findings.iter().any(|finding| finding.state == State::Bad) { FAILURE } else { 0 })
}

impl Finding {
    fn line(&self) -> String {
        let mark = match self.state {
            State::Good => paint::good("ok   "),
            State::Odd => paint::odd("less "),
            State::Bad => paint::bad("bad  "),
        };
        format!("{mark} {:<13} {}\n", self.what, self.told)
    }
}

fn kernel(release: &str) -> Finding {
    let release = release.trim();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version {
        v if v >= PASSTHROUGH => found(State::Good, "kernel", format!("{release} has all that is used")),
        v if v >= CACHESTAT => found(
            State::Odd,
            "kernel",
            format!("{release} has no FUSE passthrough: path=passthrough needs 6.9"),
        ),
        v if v >= OLDEST => found(
            State::Odd,
            "kernel",
            format!("{release} cannot say what is in memory: hits are guessed; 6.5 and newer can"),
        ),
        _ => found(State::Bad, "kernel", format!("{release} is too old: take 5.9 or newer, best 6.9")),
    }
}

fn device() -> Finding {
    match check::fuse() {
        Ok(()) => found(State::Good, "/dev/fuse", "can be opened"),
        Err(error) => found(State::Bad, "/dev/fuse", error.to_string()),
    }
}

fn privileges() -> Finding {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match (geteuid().is_root(), has_sys_admin(&status)) {
        (true, true) => {
            found(State::Good, "privileges", "root with CAP_SYS_ADMIN: every data path can be had")
        }
        (true, false) => found(
            State::Bad,
            "privileges",
            "root without CAP_SYS_ADMIN may not mount: in a container, add --cap-add SYS_ADMIN",
        ),
        _ => found(
            State::Odd,
            "privileges",
            "a user gets the plain path, and the mount alone; root gets the resident path, for everybody",
        ),
    }
}

fn has_sys_admin(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> SYS_ADMIN & 1 == 1)
}

fn fusermount() -> Finding {
    match check::fusermount() {
        Some(path) => found(State::Good, "fusermount3", path.display().to_string()),
        None if geteuid().is_root() => {
            found(State::Good, "fusermount3", "is not there; root needs none, users do (package fuse3)")
        }
        None => found(State::Bad, "fusermount3", "is not in PATH: install the package fuse3"),
    }
}

fn allow_other(fuse_conf: &str) -> Finding {
    let allowed = fuse_conf.lines().any(|line| line.trim() == "user_allow_other");
    if geteuid().is_root() || allowed {
        return found(State::Good, "allow_other", "can be given");
    }
    let remedy = "is root's to allow: write the line user_allow_other into /etc/fuse.conf";
    found(State::Odd, "allow_other", remedy)
}

fn fanotify() -> Finding {
    match Reports::of_opens(Path::new("/")) {
        Ok(_) => {
            found(State::Good, "fanotify", "opens and changes can be watched: path=resident, watch=auto")
        }
        Err(error) => found(
            State::Odd,
            "fanotify",
            format!(
                "opens cannot be watched ({error}): it needs root, and CONFIG_FANOTIFY; opens are requests instead"
            ),
        ),
    }
}

fn helper() -> Finding {
    if Path::new("/sbin/mount.augurfs").exists() {
        return found(State::Good, "mount(8)", "knows augurfs: /sbin/mount.augurfs is there");
    }
    let remedy =
        "does not know augurfs: run mount-helpers/install.sh as root to use fstab and mount -t augurfs";
    found(State::Odd, "mount(8)", remedy)
}

/// The smallest limit from here up to the root of the tree of groups.
fn cgroup() -> Finding {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let directory = Path::new("/sys/fs/cgroup").join(own);
    let limits = directory
        .ancestors()
        .take_while(|it| it.starts_with("/sys/fs/cgroup"))
        .filter_map(|it| fs::read_to_string(it.join("memory.max")).ok()?.trim().parse::<u64>().ok());
    match limits.min() {
        None => found(State::Good, "cgroup", "sets no limit to memory"),
        Some(limit) if limit < MEMORY => {
            let told = format!(
                "leaves {} of memory: what is warmed is soon gone; raise memory.max",
                show_bytes(limit)
            );
            found(State::Odd, "cgroup", told)
        }
        Some(limit) => found(
            State::Good,
            "cgroup",
            format!("leaves {} of memory; set budget= well below", show_bytes(limit)),
        ),
    }
}

fn pressure() -> Finding {
    match fs::read_to_string("/proc/pressure/io") {
        Ok(text) => {
            let now = text.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or("avg10=?");
            found(
                State::Good,
                "pressure",
                format!(
                    "can be read; programs wait for devices {} % of the time",
                    now.trim_start_matches("avg10=")
                ),
            )
        }
        Err(_) => found(
            State::Odd,
            "pressure",
            "cannot be read: the kernel was started without psi=1; there is nothing to see in /proc/pressure",
        ),
    }
}

fn descriptors(limit: Option<u64>) -> Finding {
    match limit {
        Some(limit) if limit < DESCRIPTORS => {
            let told = format!(
                "{limit} open files: a busy mount can need more; ulimit -Hn {DESCRIPTORS}, or LimitNOFILE="
            );
            found(State::Odd, "limits", told)
        }
        Some(limit) => found(State::Good, "limits", format!("{limit} open files")),
        None => found(State::Good, "limits", "any number of open files"),
    }
}

fn defaults() -> Finding {
    let surroundings = Surroundings::of_process();
    let trial = Config::new("/".into(), "/".into(), &surroundings);
    let files = Defaults::all(None, &surroundings);
    match files.and_then(|files| files.iter().try_for_each(|file| file.check(&trial))) {
        Ok(()) => found(State::Good, "augurfs.conf", "is sound, or not there"),
        Err(error) => found(State::Bad, "augurfs.conf", error.to_string()),
    }
}

/// One line for each mount of ours.
fn mounts() -> Vec<Finding> {
    let mounts = mountinfo::read().unwrap_or_default();
    let ours = mounts.iter().filter(|mount| control::is_ours(mount));
    ours.filter_map(|mount| {
        let place = mount.point.display();
        match control::ask(&mount.point, Request::Glance) {
            Ok(_) | Err(ControlError::Refused(_)) => {
                Some(found(State::Good, "mount", format!("{place} answers")))
            }
            // Another user's.
            Err(ControlError::Denied { .. }) => None,
            Err(error) => {
                Some(found(State::Odd, "mount", format!("{error}; augurfs unmount {place} takes it away")))
            }
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_apart() {
        let states =
            ["6.18.4-generic\n", "6.9", "6.5.0-41", "6.1.0", "5.4.0-1", "odd", ""].map(|it| kernel(it).state);
        use State::{Bad, Good, Odd};
        assert_eq!(states, [Good, Good, Odd, Odd, Bad, Bad, Bad]);
    }

    #[test]
    fn capabilities_are_read() {
        assert!(has_sys_admin("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        assert!(!has_sys_admin("CapEff:\t00000000a80425fb\n") && !has_sys_admin(""));
    }

    #[test]
    fn few_descriptors_have_a_remedy() {
        let finding = descriptors(Some(1024));
        assert!(finding.state == State::Odd && finding.told.contains("ulimit -Hn 4096"));
        assert_eq!(descriptors(None).state, State::Good);
    }

    #[test]
    fn each_finding_is_one_line() {
        for finding in [
            device(),
            privileges(),
            fusermount(),
            allow_other(""),
            fanotify(),
            helper(),
            cgroup(),
            pressure(),
            defaults(),
        ] {
            assert_eq!(finding.line().matches('\n').count(), 1, "{finding:?}");
        }
    }
}
