//! Who asks: the identity the kernel sent with a request, and acting under it.

use rustix::fs::Mode;

use super::Result;
use super::source::errno;
use crate::sys::thread::Impersonation;

/// The caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Thread id in our pid namespace; 0 when it cannot be seen from here.
    pub tid: u32,
    /// File-system user id.
    pub uid: u32,
    /// File-system group id.
    pub gid: u32,
}

/// While this lives, the calling thread makes files as the requester would have.
#[derive(Debug)]
pub struct Acting {
    umask: Mode,
    _identity: Option<Impersonation>,
}

impl Requester {
    /// Takes on the identity and the umask of the requester, in this thread, which must have a
    /// umask of its own (see `sys::thread::own_umask`).
    ///
    /// # Errors
    /// What setgroups gives.
    pub fn act(&self, umask: u32) -> Result<Acting> {
        let root = rustix::process::geteuid().is_root();
        let identity = if root && (self.uid, self.gid) != (0, 0) {
            Some(Impersonation::begin(self.uid, self.gid, &groups_of(self.tid)).map_err(errno)?)
        } else {
            None
        };
        Ok(Acting { umask: rustix::process::umask(Mode::from_raw_mode(umask)), _identity: identity })
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        rustix::process::umask(self.umask);
    }
}

/// What decides whether a change of content takes set-ID bits away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// May this caller keep set-ID bits (`CAP_FSETID`)?
    pub keeps: bool,
    gid: u32,
    groups: Vec<u32>,
}

impl Standing {
    /// Of the caller of a request, who waits for us. One that cannot be seen is taken for what its user id is.
    pub(super) fn of(who: Requester) -> Self {
        let status = status_of(who.tid);
        let keeps = parse_capabilities(&status).map_or(who.uid == 0, |held| held & FSETID != 0);
        Standing { keeps, gid: who.gid, groups: parse_groups(&status) }
    }

    /// Is the caller in this group?
    pub(super) fn is_in(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }
}

/// `CAP_FSETID`, number 4 in capabilities(7).
const FSETID: u64 = 1 << 4;

/// The supplementary groups of a thread that waits for us; none when it cannot be seen.
fn groups_of(tid: u32) -> Vec<u32> {
    parse_groups(&status_of(tid))
}

fn status_of(tid: u32) -> String {
    // The name in it may be any bytes.
    let status = std::fs::read(format!("/proc/{tid}/status")).unwrap_or_default();
    String::from_utf8_lossy(&status).into_owned()
}

fn parse_groups(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|l| l.strip_prefix("Groups:")).unwrap_or("");
    line.split_ascii_whitespace().filter_map(|g| g.parse().ok()).collect()
}

fn parse_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_from_the_status_page() {
        assert_eq!(parse_groups("Name:\tcat\nGroups:\t4 24 1000 \nNgid:\t0\n"), [4, 24, 1000]);
        assert!(parse_groups("Groups:\t\n").is_empty());
        assert!(parse_groups("").is_empty());
    }

    #[test]
    fn capabilities_come_from_the_status_page() {
        assert_eq!(parse_capabilities("Name:\tx\nCapEff:\t0000000000000010\n"), Some(FSETID));
        assert_eq!(parse_capabilities("CapEff:\tnonsense\n"), None);
        assert_eq!(parse_capabilities(""), None);
    }

    #[test]
    fn a_caller_who_cannot_be_seen_is_taken_for_what_the_user_id_says() {
        let of = |uid| Standing::of(Requester { tid: 0, uid, gid: 7 });
        assert!(of(0).keeps && !of(1000).keeps);
        assert!(of(0).is_in(7) && !of(0).is_in(0));
    }
}
