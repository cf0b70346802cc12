//! Jobs with names: what each of them works on, how it is prepared, and the command that is measured.
//!
//! What must stay true: a job finds the same tree every time (nothing random, no times of today that
//! matter); what is prepared depends on nothing but the name and `--tree`; all a job's programs are in
//! memory before it is measured, and nothing else of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;

use crate::common::mounts::utf8;
use crate::common::shell::Interruption;
use crate::stage::shell;

/// Written when all has been prepared.
const READY: &str = "ready";

/// A job that brings its own command, and mostly its own tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Named {
    /// An index of all words of --tree
    Glimpse,
    /// An archive of --tree
    Tar,
    /// A search through --tree
    Grep,
    /// Names and sizes in --tree
    Find,
    /// The space --tree takes
    Du,
    /// git status in a repository of 5,000 unchanged files
    Git,
    /// make -j2 of --tree, the unpacked source of OpenSSH
    Make,
    /// A program linked from 240 objects
    Link,
    /// Python importing all modules it comes with
    Python,
    /// 5,000 files, each opened once, in another order each time
    Random,
}

/// What is done when. In all commands `{tree}` is the tree on the device, or the mount over it; `{scratch}` an empty
/// directory in memory; `{draw}` a number that differs from run to run.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a> {
    /// Makes the tree in the empty directory $1, from --tree, which is $2.
    prepare: &'static str,
    /// Run on the device's copy, at full speed and before anything is measured.
    pub(crate) settle: &'static str,
    /// What is measured, a shell command.
    pub(crate) command: &'a str,
    /// Makes a tree on which the job has run as it was.
    pub(crate) again: &'static str,
    /// Loads the job's programs, with `{tree}` a copy that is not on the device; empty: the command on an empty tree.
    pub(crate) rehearsal: &'static str,
    /// Does it need --tree?
    given: bool,
}

/// What the others differ from: it only looks at what it is given.
const LOOK: Steps<'static> =
    Steps { prepare: "", settle: "", command: "", again: "", rehearsal: "", given: true };

const GIT: Steps<'static> = Steps {
    prepare: include_str!("jobs/git.sh"),
    // The copy's inodes are others: without this every file would be read again.
    settle: "git -C {tree} status",
    command: "git -C {tree} status",
    rehearsal: "git -C {tree} status",
    given: false,
    ..LOOK
};

const MAKE: Steps<'static> = Steps {
    prepare: include_str!("jobs/make.sh"),
    command: "make -C {tree} -j2",
    again: "make -C {tree} clean",
    // The compiler and all system headers, then the assembler and the linker.
    rehearsal: "cd {tree} && for file in *.c openbsd-compat/*.c; do gcc -M -I. -Iopenbsd-compat $file; done > /dev/null 2>&1; \
        make ssh-keyscan -j2 && make clean",
    ..LOOK
};

const LINK: Steps<'static> = Steps {
    prepare: include_str!("jobs/link.sh"),
    command: "cd {tree} && gcc -o {scratch}/program @objects",
    rehearsal: "cd {tree} && gcc -o {scratch}/program @objects",
    given: false,
    ..LOOK
};

const PYTHON: Steps<'static> = Steps {
    prepare: include_str!("jobs/python.sh"),
    command: "PYTHONPATH={tree}:{tree}/lib-dynload PYTHONDONTWRITEBYTECODE=1 python3 -S {tree}/main.py",
    rehearsal: "PYTHONPATH={tree}:{tree}/lib-dynload PYTHONDONTWRITEBYTECODE=1 python3 -S {tree}/main.py",
    given: false,
    ..LOOK
};

const RANDOM: Steps<'static> = Steps {
    prepare: include_str!("jobs/random.sh"),
    command: "cd {tree} && awk 'BEGIN { x = {draw} * 1000003 + 12345; n = 5000; for (i = 0; i < n; i++) a[i] = i; \
        for (i = n - 1; i > 0; i--) { x = (x * 16807) % 2147483647; j = x % (i + 1); t = a[i]; a[i] = a[j]; a[j] = t } \
        for (i = 0; i < n; i++) printf \"d%d/f%d\\n\", a[i] / 100, a[i] % 100 }' | xargs -n 500 cat > /dev/null",
    given: false,
    ..LOOK
};

impl<'a> Steps<'a> {
    /// A command that only looks at --tree.
    pub(crate) fn of_command(command: &'a str) -> Steps<'a> {
        Steps { command, ..LOOK }
    }
}

impl Named {
    pub(crate) fn steps(self) -> Steps<'static> {
        match self {
            Named::Glimpse => Steps { command: "glimpseindex -H {scratch} {tree}", ..LOOK },
            // Through cat: both programs look whether their output is /dev/null, and then read nothing.
            Named::Tar => Steps { command: "tar cf - {tree} | cat > /dev/null", ..LOOK },
            Named::Grep => Steps { command: "grep -r license {tree} | cat > /dev/null", ..LOOK },
            Named::Find => Steps { command: "find {tree} -size +1k", ..LOOK },
            Named::Du => Steps { command: "du -s {tree}", ..LOOK },
            Named::Git => GIT,
            Named::Make => MAKE,
            Named::Link => LINK,
            Named::Python => PYTHON,
            Named::Random => RANDOM,
        }
    }
}

/// The tree of a job, made in `at`, or found there from an earlier time. `given` is --tree.
///
/// # Errors
/// A tool is missing or fails, or --tree is missing.
pub(crate) fn prepare(
    steps: &Steps<'_>,
    at: &Path,
    given: Option<&Path>,
    interruption: &Interruption,
) -> anyhow::Result<PathBuf> {
    let source = match given {
        Some(source) => source,
        None if steps.given => bail!("this job needs --tree"),
        None => at,
    };
    if steps.prepare.is_empty() {
        return Ok(source.to_owned());
    }
    let (tree, ready) = (at.join("tree"), at.join(READY));
    if !ready.exists() {
        fs::create_dir_all(&tree).with_context(|| tree.display().to_string())?;
        shell(&["-ec", steps.prepare, "prepare", utf8(&tree)?, utf8(source)?], interruption)?;
        fs::write(ready, "")?;
    }
    Ok(tree)
}
