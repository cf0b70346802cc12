//! What the control groups that this process is in leave it of memory. Version 1 and 2, nested ones, and such as show only a part
//! of their tree (as in containers).
//!
//! What must stay true: the narrowest group on the way to the root counts; what cannot be read sets no limit.

use std::path::{Path, PathBuf};

use super::mountinfo::{self, Mount};

/// Limits of version 1 that stand for none: the largest number of whole pages.
const UNLIMITED: u64 = 1 << 62;

/// Memory as a group sees it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Most that its processes may use, page cache included.
    pub limit: u64,
    /// Of that, what is not in use.
    pub free: u64,
    /// Of that, what is not in use, or holds file data that nobody has used more than once.
    pub available: u64,
}

/// The groups that this process is in, as far as memory goes.
#[derive(Debug, Default)]
pub struct Groups {
    /// What /proc told of them when they were looked for.
    told: String,
    directories: Vec<(Version, PathBuf)>,
}

impl Groups {
    /// What the narrowest group leaves now; `None` where no group sets a limit. Processes are moved between groups: that is
    /// looked at each time, and where the groups are found only when it has changed.
    pub fn memory(&mut self) -> Option<Allowance> {
        let told = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        if told != self.told {
            self.directories = directories(&told, &mountinfo::read().ok()?);
            self.told = told;
        }
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let all = self.directories.iter();
        all.filter_map(|(version, directory)| allowance(*version, directory, read))
            .min_by_key(|allowance| allowance.available)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The directories of the groups that a process is in (as in /proc/ID/cgroup), from its own up to the topmost that can be seen.
fn directories(groups: &str, mounts: &[Mount]) -> Vec<(Version, PathBuf)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let version = match controllers {
            "" => Version::Two,
            list if list.split(',').any(|one| one == "memory") => Version::One,
            _ => continue,
        };
        if let Some(mount) = mounts.iter().find(|mount| version.is_at(mount)) {
            // Of a tree that is mounted from its middle only what is below can be seen.
            let below = Path::new(group).strip_prefix(&mount.root).unwrap_or(Path::new(""));
            let own: PathBuf = mount.point.components().chain(below.components()).collect();
            let up = own.ancestors().take_while(|directory| directory.starts_with(&mount.point));
            found.extend(up.map(|directory| (version, directory.to_owned())));
        }
    }
    found
}

impl Version {
    fn is_at(self, mount: &Mount) -> bool {
        match self {
            Version::One => mount.kind == "cgroup" && mount.options.split(',').any(|one| one == "memory"),
            Version::Two => mount.kind == "cgroup2",
        }
    }

    /// Files: limits, usage; fields of `memory.stat`: file data used once and more than once.
    fn files(self) -> (&'static [&'static str], &'static str, [&'static str; 2]) {
        match self {
            Version::One => (
                &["memory.limit_in_bytes"],
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            // Above "high" a group is slowed down until it is below again.
            Version::Two => {
                (&["memory.max", "memory.high"], "memory.current", ["inactive_file", "active_file"])
            }
        }
    }
}

fn allowance(
    version: Version,
    directory: &Path,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<Allowance> {
    let (limits, usage, [inactive, active]) = version.files();
    let number = |file: &str| read(&directory.join(file))?.trim().parse::<u64>().ok();
    let limit = limits.iter().filter_map(|file| number(file)).filter(|&limit| limit < UNLIMITED).min()?;
    let stat = read(&directory.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    // As MemAvailable: half of what is in use by somebody could go as well.
    let free_to_take = field(inactive) + field(active) / 2;
    let used = number(usage).unwrap_or(0);
    let bound = used.saturating_sub(free_to_take);
    Some(Allowance { limit, free: limit.saturating_sub(used), available: limit.saturating_sub(bound) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn mount(root: &str, point: &str, kind: &str, options: &str) -> Mount {
        Mount {
            device: (0, 1),
            root: root.into(),
            point: point.into(),
            kind: kind.into(),
            source: "cgroup".into(),
            options: options.into(),
        }
    }

    fn paths(groups: &str, mounts: &[Mount]) -> Vec<String> {
        directories(groups, mounts).iter().map(|(_, path)| path.display().to_string()).collect()
    }

    #[test]
    fn groups_are_found_in_both_versions_from_the_own_one_up() {
        let both = [
            mount("/", "/cg/cpu", "cgroup", "rw,cpu"),
            mount("/", "/cg/memory", "cgroup", "rw,memory"),
            mount("/", "/cg/unified", "cgroup2", "rw"),
        ];
        let groups = "4:memory:/a/b\n1:cpu:/z\n0::/u\nnonsense\n";
        assert_eq!(
            paths(groups, &both),
            ["/cg/memory/a/b", "/cg/memory/a", "/cg/memory", "/cg/unified/u", "/cg/unified"]
        );
        assert!(paths("0::/u\n", &both[..2]).is_empty());
    }

    #[test]
    fn a_part_of_a_tree_is_what_can_be_seen() {
        let part = [mount("/docker/x", "/sys/fs/cgroup", "cgroup2", "rw")];
        assert_eq!(paths("0::/docker/x/app\n", &part), ["/sys/fs/cgroup/app", "/sys/fs/cgroup"]);
        assert_eq!(paths("0::/../other\n", &part), ["/sys/fs/cgroup"]);
    }

    fn in_files(version: Version, files: &[(&str, &str)]) -> Option<Allowance> {
        let files: HashMap<PathBuf, String> =
            files.iter().map(|(name, text)| (Path::new("/g").join(name), (*text).to_owned())).collect();
        allowance(version, Path::new("/g"), |path| files.get(path).cloned())
    }

    #[test]
    fn what_is_left_counts_file_data_that_could_go() {
        let stat = (
            "memory.stat",
            "inactive_file 100\nactive_file 40\ntotal_inactive_file 300\ntotal_active_file 0\n",
        );
        let two = [("memory.max", "max\n"), ("memory.high", "1000\n"), ("memory.current", "700\n"), stat];
        assert_eq!(in_files(Version::Two, &two), Some(Allowance { limit: 1000, free: 300, available: 420 }));
        let one = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "900\n"), stat];
        assert_eq!(in_files(Version::One, &one), Some(Allowance { limit: 1000, free: 100, available: 400 }));
    }

    #[test]
    fn no_limit_is_none_and_a_full_group_has_nothing_left() {
        assert_eq!(in_files(Version::Two, &[("memory.max", "max\n"), ("memory.high", "max\n")]), None);
        assert_eq!(in_files(Version::One, &[("memory.limit_in_bytes", "9223372036854771712\n")]), None);
        assert_eq!(in_files(Version::Two, &[]), None);
        let full = [("memory.max", "1000\n"), ("memory.current", "1000\n")];
        assert_eq!(in_files(Version::Two, &full), Some(Allowance { limit: 1000, free: 0, available: 0 }));
    }
}
