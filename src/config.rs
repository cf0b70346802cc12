//! What the user asked for, as plain data.
//!
//! Every mount option is defined once, in `option`: its name, its unit and range, its default and its
//! help text. The parser, the help page and the table in the README all come from that one list. Nothing here looks at
//! the file system; `Surroundings` carries in what depends on who we are.

mod error;
mod file;
mod inode_window;
mod option;
mod place;
mod seed;
mod spelling;
mod unit;
mod words;

pub use error::OptionError;
pub use file::{Defaults, FileError};
pub use inode_window::InodeWindow;
pub use option::{MountOption, OPTIONS, PREDICTORS};
pub use place::Surroundings;
pub use seed::{PathMap, Seed};
pub use unit::{BYTES_FORM, DURATION_FORM, bytes, duration, show_bytes, show_count, show_duration};

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// How a file's bytes reach the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPath {
    /// Chosen at mount time from privilege and kernel.
    #[default]
    Auto,
    /// Opens never reach the daemon; names, attributes and data stay in the mount's own caches.
    Resident,
    /// Opens are requests, data goes straight to the file in the source.
    Passthrough,
    /// Opens and first reads are requests, data stays in the mount's page cache.
    Plain,
}

impl DataPath {
    /// The word for it in options and statistics.
    pub fn as_str(self) -> &'static str {
        match self {
            DataPath::Auto => "auto",
            DataPath::Resident => "resident",
            DataPath::Passthrough => "passthrough",
            DataPath::Plain => "plain",
        }
    }
}

/// Whose accesses form one stream, in which order means something.
///
/// A build is thousands of short processes and one predictable sequence: one stream per process or per program
/// would cut it to pieces, one for everybody would shuffle it with whatever else runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// A job in the shell's sense (a process group): the process tree of one command line.
    #[default]
    Job,
    /// Each process on its own, from where its parent stood when it was forked.
    Process,
    /// All processes that run one program.
    Program,
    /// A session: everything started from one login or terminal.
    Session,
    /// Everybody together.
    Global,
}

impl Scope {
    /// All there are, the default first.
    pub const ALL: [Scope; 5] = [Scope::Job, Scope::Process, Scope::Program, Scope::Session, Scope::Global];

    /// The word for it in options and statistics.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Job => "job",
            Scope::Process => "process",
            Scope::Program => "program",
            Scope::Session => "session",
            Scope::Global => "global",
        }
    }

    /// The inverse of [`Scope::as_str`].
    pub fn from_word(word: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Everything a mount needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory to mirror.
    pub source: PathBuf,
    /// Where to mount; may be the source itself.
    pub mountpoint: PathBuf,
    /// What was given with `-o`, to be read again after the files of defaults.
    pub given: Vec<OsString>,
    /// The file of defaults to read instead of the usual ones.
    pub config: Option<PathBuf>,
    /// An open /dev/fuse whose file system is mounted already; mounting is somebody else's then.
    pub descriptor: Option<RawFd>,
    /// Which data path to take.
    pub path: DataPath,
    /// The predictor as the user wrote it, checked for its form: `default`, `none`, `pcm[:ps/mo/threshold]`....
    pub predictor: String,
    /// Whose accesses form one stream.
    pub stream: Scope,
    /// Where the model is kept; `None` keeps it in memory only.
    pub model: Option<PathBuf>,
    /// Models of others, below the mount's own. Never written; those that come later win.
    pub seeds: Vec<Seed>,
    /// Most memory for what is learned, in bytes, names included.
    pub model_size: u64,
    /// Most bytes warmed and not yet used; `None` leaves it to the daemon (a quarter of what is available).
    pub budget: Option<u64>,
    /// Most bytes a second to fetch ahead; `None` is no limit.
    pub rate: Option<u64>,
    /// Fetch files ahead; without, only learn.
    pub prefetch: bool,
    /// How long an open whose file is being fetched may wait for the fetch.
    pub join_wait: Duration,
    /// How many entries of a directory are looked at around one that had to be fetched.
    pub inode_window: InodeWindow,
    /// Notice changes made directly in the source, where the kernel and our rights allow.
    pub watch: bool,
    /// How long the kernel may keep names and attributes of a source that is not watched.
    pub timeout: Duration,
    /// Time between two saves of the model.
    pub save_interval: Duration,
    /// Where everything the engine is told is recorded from the start.
    pub record: Option<PathBuf>,
    /// Serve reads from a cache of our own instead of the kernel's.
    pub own_cache: bool,
    /// Most bytes of blocks in the own cache.
    pub cache_size: u64,
    /// Bytes of a block of the own cache.
    pub block_size: u64,
    /// The own cache's replacement policy as the user wrote it, checked in its outer form.
    pub policy: String,
    /// Refuse every change.
    pub read_only: bool,
    /// Let device nodes work.
    pub dev: bool,
    /// Honour set-ID bits and capabilities of executables.
    pub suid: bool,
    /// Let programs run from the mount.
    pub exec: bool,
    /// Keep access times.
    pub atime: bool,
    /// Every write is synchronous.
    pub sync: bool,
    /// Every change of a directory is synchronous.
    pub dirsync: bool,
    /// Users other than the one who mounts may use the mount.
    pub allow_other: bool,
    /// SELinux contexts for the kernel, as `name="value"`.
    pub contexts: Vec<String>,
    /// What `mount` and `df` show as the source; `None` shows the source's path.
    pub fsname: Option<String>,
    /// The part after `fuse.` in the mount's type.
    pub subtype: String,
}

impl Config {
    /// The defaults for mirroring `source` at `mountpoint`.
    ///
    /// Both should be absolute and free of symbolic links: the model's name is made from the source's path. Root gets a mirror that hides nothing
    /// (devices, set-ID, all users); what a user may have is what `fusermount3` grants.
    pub fn new(source: PathBuf, mountpoint: PathBuf, surroundings: &Surroundings) -> Self {
        Config {
            model: surroundings.model_for(&source),
            source,
            mountpoint,
            given: Vec::new(),
            config: None,
            descriptor: None,
            path: DataPath::Auto,
            predictor: String::from("default"),
            stream: Scope::default(),
            seeds: Vec::new(),
            model_size: option::MODEL_SIZE,
            budget: None,
            rate: None,
            prefetch: true,
            join_wait: option::JOIN_WAIT,
            inode_window: InodeWindow::Auto,
            watch: true,
            timeout: option::TIMEOUT,
            save_interval: option::SAVE_INTERVAL,
            record: None,
            own_cache: false,
            cache_size: option::CACHE_SIZE,
            block_size: option::BLOCK_SIZE,
            policy: String::from("default"),
            read_only: false,
            dev: surroundings.root,
            suid: surroundings.root,
            exec: true,
            atime: true,
            sync: false,
            dirsync: false,
            allow_other: surroundings.root,
            contexts: Vec::new(),
            fsname: None,
            subtype: String::from("augurfs"),
        }
    }

    /// Apply one `-o` argument: options separated by commas; a comma or backslash inside a value is written
    /// `\,` or `\\`, or the whole value stands between double quotes. Where options contradict each other, the later one holds.
    ///
    /// # Errors
    /// The first option that is unknown, lacks its value, or has one out of its range.
    pub fn apply(&mut self, list: &OsStr) -> Result<(), OptionError> {
        for word in words::split(list.as_bytes()) {
            let (name, value) = words::assignment(&word);
            let option = option::find(name)?;
            option.apply(self, value)?;
        }
        Ok(())
    }

    /// The same for a mount that is up: at least one option, and none that is for a mount's whole life.
    ///
    /// # Errors
    /// Those of [`Config::apply`], and the first option that cannot be changed.
    pub fn change(&mut self, list: &OsStr) -> Result<(), OptionError> {
        let words = words::split(list.as_bytes());
        if words.is_empty() {
            return Err(OptionError::Nothing { choices: option::TUNABLE.join(", ") });
        }
        for word in &words {
            let name = option::find(words::assignment(word).0)?.name;
            if !option::TUNABLE.contains(&name) {
                return Err(OptionError::Fixed { name, choices: option::TUNABLE.join(", ") });
            }
        }
        self.apply(list)
    }
}

#[cfg(test)]
mod tests;
