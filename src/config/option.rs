//! The mount options, each defined once: name, form of its value, range, default, help, and what it sets.
//!
//! The list is the only place to add one. Names and spelling are the same in `-o`, in the help and in the README.

use super::{Config, DataPath, OptionError, Scope, Seed, spelling};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

mod form;

/// An open may wait this long for a fetch that is under way: long enough for a batch on a disk (some hundreds of
/// milliseconds), short enough not to be taken for a hang.
pub(super) const JOIN_WAIT: Duration = Duration::from_millis(300);
/// What other FUSE file systems allow the kernel to keep, and what a user who changes the source directly will bear.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);
/// A crash loses at most this much learning.
pub(super) const SAVE_INTERVAL: Duration = Duration::from_secs(300);

/// A million files with names of usual length, and one pass over them.
pub(super) const MODEL_SIZE: u64 = 128 << 20;
/// Enough for the working sets of ordinary programs, little beside today's memories.
pub(super) const CACHE_SIZE: u64 = 64 << 20;
/// The blocks of the published measurements of DEAR.
pub(super) const BLOCK_SIZE: u64 = 8 << 10;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Below this a budget does not hold one usual file.
const LEAST_BUDGET: u64 = 64 << 10;
const MOST_BUDGET: u64 = 1 << 40;
/// Some thousands of files.
const LEAST_MODEL: u64 = 1 << 20;
/// Thirty million.
const MOST_MODEL: u64 = 4 << 30;

/// The predictors' names, and the form of their parameters where they take some.
pub const PREDICTORS: &[(&str, &str)] = &[
    ("default", ""),
    ("match", ""),
    ("last", ""),
    ("noah", "s"),
    ("recent", "j/k"),
    ("graph", "window/threshold"),
    ("pcm", "ps/mo/threshold"),
    ("epcm", "ps/mo/threshold/paper"),
    ("popular", "n"),
    ("none", ""),
];

/// What may change while mounted.
pub(super) const TUNABLE: &[&str] = &["budget", "join_wait", "prefetch", "save_interval"];

/// The names of the own cache's replacement policies.
const CACHE_POLICIES: &[&str] = &["default", "lru", "lru-seq", "dear", "arc", "s3fifo", "sieve", "fifo"];

/// One mount option.
pub struct MountOption {
    /// Its name; one that ends in `*` stands for all names that begin so.
    pub name: &'static str,
    /// The default, in words.
    pub default: &'static str,
    /// What it does: one sentence without a full stop.
    pub help: &'static str,
    kind: Kind,
}

/// The form of the value, and where it goes.
enum Kind {
    Flag(fn(&mut Config)),
    Word(&'static [&'static str], fn(&mut Config, &str)),
    Bytes(RangeInclusive<u64>, fn(&mut Config, u64)),
    /// Bytes, a power of two.
    Block(RangeInclusive<u64>, fn(&mut Config, u64)),
    Duration(RangeInclusive<Duration>, fn(&mut Config, Duration)),
    Path(fn(&mut Config, PathBuf)),
    /// Free text: what it is called, how it should look, and what sets it and says whether it is well formed.
    Text(&'static str, &'static str, fn(&mut Config, &str) -> bool),
    /// Meant for `mount` and `fstab`, not for us. With or without a value.
    Ignored,
}

const SELINUX: &str = "passed on to the kernel where it has SELinux";
const CONTEXT_FORM: &str = "a context, between double quotes if it has commas";

const fn option(name: &'static str, default: &'static str, help: &'static str, kind: Kind) -> MountOption {
    MountOption { name, default, help, kind }
}

const fn ignored(name: &'static str) -> MountOption {
    option(name, "", "accepted for fstab, without effect", Kind::Ignored)
}

/// Every option there is.
pub static OPTIONS: &[MountOption] = &[
    option(
        "config",
        "/etc/augurfs.conf and $XDG_CONFIG_HOME/augurfs/augurfs.conf",
        "the file of defaults that these options come after, or none",
        Kind::Path(|c, path| c.config = Some(path)),
    ),
    option(
        "path",
        "auto",
        "how data reaches the application; auto picks by privilege and kernel",
        Kind::Word(&["auto", "resident", "passthrough", "plain"], |c, word| c.path = data_path(word)),
    ),
    option(
        "predictor",
        "default",
        "what learns: default, match, last, noah, recent, graph, pcm, epcm, popular or none, some with parameters (pcm:32/2/0.3)",
        Kind::Text("NAME", "a predictor's name, or name:parameters where it takes some", set_predictor),
    ),
    option(
        "stream",
        "job",
        "whose accesses form one sequence: those of a job (process group), process, program, session, or all",
        Kind::Word(&["job", "process", "program", "session", "global"], |c, word| {
            c.stream = Scope::from_word(word).unwrap_or_default();
        }),
    ),
    option(
        "model",
        "by source, below /var/lib/augurfs or $XDG_STATE_HOME/augurfs",
        "the file what was learned is kept in, or none",
        Kind::Path(|c, path| c.model = Some(path).filter(|p| p.as_os_str() != "none")),
    ),
    option(
        "seed",
        "nothing",
        "a model that others have learned, which lies below the mount's own; it is only read, and may be given several times",
        Kind::Path(|c, path| c.seeds.push(Seed { path, map: None })),
    ),
    option(
        "seed_map",
        "all of it",
        "what of the seed before it is taken, and where that lies here: doc: takes what was learned below doc; :share/doc puts all below share/doc",
        Kind::Text("FROM:TO", "FROM:TO, behind the seed it is for", set_seed_map),
    ),
    option(
        "model_size",
        "128M",
        "most memory for what is learned, names included",
        Kind::Bytes(LEAST_MODEL..=MOST_MODEL, |c, bytes| c.model_size = bytes),
    ),
    option(
        "budget",
        "a quarter of the available memory",
        "most bytes warmed ahead and not yet used",
        Kind::Bytes(LEAST_BUDGET..=MOST_BUDGET, |c, bytes| c.budget = Some(bytes)),
    ),
    option(
        "rate",
        "no limit",
        "most bytes a second that are fetched ahead",
        Kind::Bytes(LEAST_BUDGET..=MOST_BUDGET, |c, bytes| c.rate = Some(bytes)),
    ),
    option(
        "prefetch",
        "on",
        "fetch files ahead; off only learns, and can be changed while mounted",
        Kind::Word(&["on", "off"], |c, word| c.prefetch = word == "on"),
    ),
    option(
        "join_wait",
        "300ms",
        "how long an open may wait for a fetch of its file that is under way",
        Kind::Duration(Duration::ZERO..=Duration::from_secs(10), |c, wait| c.join_wait = wait),
    ),
    option(
        "cache",
        "kernel",
        "whose page cache holds the data: the kernel's, or one of our own",
        Kind::Word(&["kernel", "own"], |c, word| c.own_cache = word == "own"),
    ),
    option(
        "cache_size",
        "64M",
        "most bytes of data in the own cache",
        Kind::Bytes(1 << 20..=1 << 40, |c, bytes| c.cache_size = bytes),
    ),
    option(
        "block_size",
        "8K",
        "bytes of a block of the own cache, a power of two",
        Kind::Block(4 << 10..=1 << 20, |c, bytes| c.block_size = bytes),
    ),
    option(
        "policy",
        "default",
        "who leaves the own cache: default, lru, lru-seq, dear, arc, s3fifo, sieve or fifo, some with parameters (dear:rank/500/5)",
        Kind::Text("NAME", "a policy's name, or name:parameters where it takes some", |c, text| {
            c.policy = text.to_owned();
            CACHE_POLICIES.contains(&text.split(':').next().unwrap_or(text))
        }),
    ),
    option(
        "inode_window",
        "auto",
        "entries of a directory that are looked at around one that had to be fetched; 0 also leaves walks alone",
        Kind::Text("0|2^n|auto", "0, auto, or a power of two up to 4096", |c, word| {
            word.parse().map(|window| c.inode_window = window).is_ok()
        }),
    ),
    option(
        "watch",
        "auto",
        "notice changes made directly in the source, where the kernel and our rights allow",
        Kind::Word(&["auto", "off"], |c, word| c.watch = word == "auto"),
    ),
    option(
        "timeout",
        "1s",
        "how long the kernel may keep names and attributes of a source that is not watched",
        Kind::Duration(Duration::ZERO..=DAY, |c, time| c.timeout = time),
    ),
    option(
        "save_interval",
        "5min",
        "time between two saves of the model",
        Kind::Duration(Duration::from_secs(1)..=DAY, |c, time| c.save_interval = time),
    ),
    option(
        "record",
        "nothing is recorded",
        "a file into which a trace of the whole mount is written (see augurfs trace --help)",
        Kind::Path(|c, path| c.record = Some(path)),
    ),
    option("ro", "rw", "refuse every change", Kind::Flag(|c| c.read_only = true)),
    option("rw", "rw", "allow changes", Kind::Flag(|c| c.read_only = false)),
    option("dev", "as root", "let device nodes work", Kind::Flag(|c| c.dev = true)),
    option("nodev", "as a user", "device nodes do not work", Kind::Flag(|c| c.dev = false)),
    option("suid", "as root", "honour set-ID bits of programs", Kind::Flag(|c| c.suid = true)),
    option("nosuid", "as a user", "ignore set-ID bits of programs", Kind::Flag(|c| c.suid = false)),
    option("exec", "exec", "let programs run from the mount", Kind::Flag(|c| c.exec = true)),
    option("noexec", "exec", "no program runs from the mount", Kind::Flag(|c| c.exec = false)),
    option("atime", "atime", "keep access times as the source does", Kind::Flag(|c| c.atime = true)),
    option("noatime", "atime", "do not keep access times", Kind::Flag(|c| c.atime = false)),
    option("sync", "async", "every write is synchronous", Kind::Flag(|c| c.sync = true)),
    option("async", "async", "writes are synchronous on request only", Kind::Flag(|c| c.sync = false)),
    option("dirsync", "", "every change of a directory is synchronous", Kind::Flag(|c| c.dirsync = true)),
    option("allow_other", "as root", "all users may use the mount", Kind::Flag(|c| c.allow_other = true)),
    option("default_permissions", "always on", "the kernel checks permissions", Kind::Flag(|_| ())),
    option(
        "fsname",
        "the source's path",
        "what mount and df show as the source",
        Kind::Text("TEXT", "some text", |c, text| {
            c.fsname = Some(text.to_owned());
            !text.is_empty()
        }),
    ),
    option(
        "subtype",
        "augurfs",
        "the mount's type after 'fuse.'",
        Kind::Text("WORD", "a word of letters, digits, _ and -", |c, text| {
            c.subtype = text.to_owned();
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        }),
    ),
    option("context", "", SELINUX, Kind::Text("CONTEXT", CONTEXT_FORM, |c, t| c.context("context", t))),
    option("fscontext", "", SELINUX, Kind::Text("CONTEXT", CONTEXT_FORM, |c, t| c.context("fscontext", t))),
    option("defcontext", "", SELINUX, Kind::Text("CONTEXT", CONTEXT_FORM, |c, t| c.context("defcontext", t))),
    option(
        "rootcontext",
        "",
        SELINUX,
        Kind::Text("CONTEXT", CONTEXT_FORM, |c, t| c.context("rootcontext", t)),
    ),
    ignored("defaults"),
    ignored("auto"),
    ignored("noauto"),
    ignored("user"),
    ignored("users"),
    ignored("nouser"),
    ignored("nousers"),
    ignored("owner"),
    ignored("noowner"),
    ignored("group"),
    ignored("nogroup"),
    ignored("nofail"),
    ignored("_netdev"),
    ignored("comment"),
    ignored("x-*"),
    ignored("X-*"),
    ignored("relatime"),
    ignored("norelatime"),
    ignored("strictatime"),
    ignored("nostrictatime"),
    ignored("lazytime"),
    ignored("nolazytime"),
    ignored("diratime"),
    ignored("nodiratime"),
    ignored("iversion"),
    ignored("noiversion"),
    ignored("mand"),
    ignored("nomand"),
    ignored("silent"),
    ignored("loud"),
    ignored("nosymfollow"),
    ignored("symfollow"),
    ignored("nonempty"),
    ignored("auto_unmount"),
    ignored("helper"),
    ignored("uhelper"),
];

/// The option of that name.
pub(super) fn find(name: impl AsRef<str>) -> Result<&'static MountOption, OptionError> {
    let name = name.as_ref();
    OPTIONS.iter().find(|option| option.is_called(name)).ok_or_else(|| OptionError::Unknown {
        name: name.to_owned(),
        suggestion: spelling::nearest(name, OPTIONS.iter().map(|option| option.name)),
    })
}

fn data_path(word: &str) -> DataPath {
    match word {
        "resident" => DataPath::Resident,
        "passthrough" => DataPath::Passthrough,
        "plain" => DataPath::Plain,
        _ => DataPath::Auto,
    }
}

impl Config {
    /// Keeps a context in the form the kernel wants it in. The last of a name holds.
    fn context(&mut self, name: &str, value: &str) -> bool {
        self.contexts.retain(|context| !context.starts_with(&format!("{name}=")));
        self.contexts.push(format!("{name}=\"{value}\""));
        !value.contains('"')
    }
}

fn set_seed_map(config: &mut Config, text: &str) -> bool {
    let (Some(seed), Ok(map)) = (config.seeds.last_mut(), text.parse()) else { return false };
    seed.map = Some(map);
    true
}

/// Looks at the outer form only; the predictors know what their parameters mean.
fn set_predictor(config: &mut Config, text: &str) -> bool {
    config.predictor = text.to_owned();
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let known = PREDICTORS.iter().find(|known| known.0 == name);
    known.is_some_and(|(_, form)| name == text || !form.is_empty() && !parameters.is_empty())
}
