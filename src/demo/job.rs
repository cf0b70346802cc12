//! The job that is timed: a real program that reads the whole tree.

use super::DemoError;
use crate::run::signals::Wish;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A word the tree does not contain, so that every file is read to its end.
const ABSENT: &str = "Quetzalcoatlus";

/// Something that reads every file below a directory, once.
pub(super) struct Job {
    kind: Kind,
    /// Where Ctrl-C is heard.
    wishes: Receiver<Wish>,
}

#[derive(Clone, Copy)]
enum Kind {
    Grep,
    Tar,
    Walk,
}

impl Display for Job {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Grep => write!(f, "grep -r {ABSENT}"),
            Kind::Tar => write!(f, "tar cf -"),
            Kind::Walk => write!(f, "reading every file in turn (neither grep nor tar is installed)"),
        }
    }
}

impl Job {
    /// The most familiar program that is installed.
    pub(super) fn best_here(wishes: Receiver<Wish>) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let kind = match () {
            () if installed("grep", &path) => Kind::Grep,
            () if installed("tar", &path) => Kind::Tar,
            () => Kind::Walk,
        };
        Job { kind, wishes }
    }

    /// Does the job below `directory` and says how long it took.
    ///
    /// # Errors
    /// The job failed, or the user broke it off.
    pub(super) fn run(&self, directory: &Path) -> Result<Duration, DemoError> {
        if !self.wishes.is_empty() {
            return Err(DemoError::Interrupted);
        }
        let start = Instant::now();
        match self.command(directory) {
            Some(mut command) => self.attend(command.spawn()?)?,
            None => walk(directory)?,
        }
        Ok(start.elapsed())
    }

    fn command(&self, directory: &Path) -> Option<Command> {
        let mut command = match self.kind {
            Kind::Grep => Command::new("grep"),
            Kind::Tar => Command::new("tar"),
            Kind::Walk => return None,
        };
        match self.kind {
            Kind::Grep => command.arg("-r").arg(ABSENT).arg(directory),
            // tar reads nothing if it sees that its output goes to /dev/null, hence the pipe.
            _ => command.args(["cf", "-", "-C"]).arg(directory).arg("."),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        Some(command)
    }

    /// Waits for the program, or ends it when the user wishes so.
    fn attend(&self, child: Child) -> Result<(), DemoError> {
        let pid = Pid::from_child(&child);
        let (tell, told) = bounded(1);
        thread::Builder::new().name("job".into()).spawn(move || drain(child, &tell))?;
        select! {
            recv(told) -> status => self.judge(status.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?),
            recv(self.wishes) -> _ => {
                // It cannot have been waited for yet, unless it has just ended by itself.
                let _ = kill_process(pid, Signal::KILL);
                let _ = told.recv();
                Err(DemoError::Interrupted)
            }
        }
    }

    /// grep says 1 when it found nothing, which is what it should say.
    fn judge(&self, status: ExitStatus) -> Result<(), DemoError> {
        match (self.kind, status.code()) {
            (_, Some(0)) | (Kind::Grep, Some(1)) => Ok(()),
            _ => Err(DemoError::Job(status.to_string())),
        }
    }
}

fn drain(mut child: Child, tell: &Sender<io::Result<ExitStatus>>) {
    if let Some(mut out) = child.stdout.take() {
        // Its output is of no interest, nor is a failure to read it: the exit status says how it went.
        let _ = io::copy(&mut out, &mut io::sink());
    }
    // Nobody listens any more only if the demonstration is over.
    let _ = tell.send(child.wait());
}

fn walk(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path())?;
        } else {
            fs::read(entry.path())?;
        }
    }
    Ok(())
}

fn installed(program: &str, path: &OsStr) -> bool {
    std::env::split_paths(path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(kind: Kind) -> (Job, Sender<Wish>) {
        let (tell, wishes) = bounded(1);
        (Job { kind, wishes }, tell)
    }

    #[test]
    fn every_kind_of_job_reads_a_tree() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/file"), "text").unwrap();
        for kind in [Kind::Grep, Kind::Tar, Kind::Walk] {
            let (job, _tell) = job(kind);
            assert!(job.run(dir.path()).unwrap() > Duration::ZERO, "{job}");
        }
    }

    #[test]
    fn a_job_that_fails_is_an_error() {
        for kind in [Kind::Grep, Kind::Tar, Kind::Walk] {
            let (job, _tell) = job(kind);
            assert!(job.run(Path::new("/no/such/directory")).is_err(), "{job}");
        }
    }

    #[test]
    fn a_wish_ends_it() {
        let (job, tell) = job(Kind::Grep);
        let child = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        tell.send(Wish::Stop).unwrap();
        assert!(matches!(job.attend(child), Err(DemoError::Interrupted)));
    }
}
