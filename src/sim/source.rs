//! Recordings as a workload: traces (`records`), and lines of text.
//!
//! A line is one open, in three columns: process number, program, path (below the tree, or absolute), with tabs between
//! them. Nothing is known of times, sizes and parents: the think time is given, files of unknown
//! size have `UNKNOWN_SIZE`, and all processes are the children of one. A process lives from its
//! first line to its last, so that as many run side by side as did when it was recorded.
//!
//! What must stay true: two recordings of one job name the same file by the same number.

use std::collections::HashMap;
use std::time::Duration;

use thiserror::Error;

mod records;
mod retelling;

use super::draft::{Draft, Story};
use super::workload::Workload;
use crate::id::StreamId;

/// Bytes of a file nobody has looked at: about the mean of source and documentation trees.
const UNKNOWN_SIZE: u64 = 16 << 10;

/// A line is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: expected a process number, a program and a path, with tabs between them")]
pub struct LineError {
    /// Which, from 1.
    pub line: usize,
}

/// Makes a workload of recordings of one job, a pass each.
#[derive(Debug)]
pub struct Recordings {
    draft: Draft,
    think: Duration,
}

impl Recordings {
    /// None yet. Between two opens a process thinks for `think`.
    pub fn new(name: &str, think: Duration) -> Recordings {
        Recordings { draft: Draft::new(name), think }
    }

    /// Takes in a recording.
    ///
    /// # Errors
    /// At the first line that is none of the form.
    pub fn add(&mut self, text: &str) -> Result<(), LineError> {
        let lines: Vec<[&str; 3]> = text
            .lines()
            .enumerate()
            .map(|(number, line)| columns(number + 1, line))
            .collect::<Result<_, _>>()?;
        let last: HashMap<&str, usize> = lines.iter().enumerate().map(|(at, line)| (line[0], at)).collect();
        let mut story = Story::default();
        let shell = self.draft.program("sh");
        let job = story.begin(None, shell, Duration::ZERO);
        let mut streams: HashMap<&str, (StreamId, &str)> = HashMap::new();
        for (at, &[process, program, path]) in lines.iter().enumerate() {
            let id = self.draft.program(program);
            let file = self.draft.file(plain(path), UNKNOWN_SIZE);
            let begin = || (story.begin(Some(job), id, Duration::ZERO), program);
            let (stream, runs) = *streams.entry(process).or_insert_with(begin);
            if runs != program {
                story.exec(stream, id);
                streams.insert(process, (stream, program));
            }
            story.open(stream, file, self.think);
            if last.get(process) == Some(&at) {
                story.end(stream);
                streams.remove(process);
            }
        }
        story.end(job);
        self.draft.pass(story);
        Ok(())
    }

    /// The workload.
    pub fn finish(self) -> Workload {
        self.draft.finish()
    }
}

fn columns(line: usize, text: &str) -> Result<[&str; 3], LineError> {
    let columns: Vec<&str> = text.split('\t').collect();
    match columns[..] {
        [process, program, path] if is_path(path) && process.parse::<u32>().is_ok() => {
            Ok([process, program, path])
        }
        _ => Err(LineError { line }),
    }
}

/// Without the slash in front: the tree is taken to be the root.
fn plain(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// A path below the tree, or an absolute one, each component a name.
fn is_path(path: &str) -> bool {
    plain(path).split('/').all(|name| !matches!(name, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Op;
    use crate::id::FileId;
    use crate::sim::workload::Deed;

    #[test]
    fn processes_live_from_their_first_line_to_their_last() {
        let mut recordings = Recordings::new("job", Duration::from_micros(7));
        recordings.add("1\tmake\tMakefile\n2\tcc\tsrc/a.c\n2\tas\tsrc/a.s\n1\tmake\tsrc/a.c\n").unwrap();
        recordings.add("9\tmake\tsrc/a.c\n").unwrap();
        let workload = recordings.finish();
        assert_eq!(workload.programs, ["sh", "make", "cc", "as"]);
        let paths: Vec<_> = (0..workload.files.len() as u32).map(|n| workload.path(FileId(n))).collect();
        assert_eq!(paths, ["", "Makefile", "src", "src/a.c", "src/a.s"]);
        let deeds: Vec<_> = workload.passes[0].steps.iter().map(|step| (step.stream.0, step.deed)).collect();
        let open = |file| Deed::Access(FileId(file), Op::Open);
        assert!(matches!(deeds[0], (0, Deed::Begin(origin)) if origin.parent.is_none()));
        assert!(matches!(deeds[1], (1, Deed::Begin(origin)) if origin.parent == Some(StreamId(0))));
        assert_eq!(deeds[2], (1, open(1)));
        assert_eq!(deeds[4], (2, open(3)));
        assert!(matches!(deeds[5], (2, Deed::Exec(program)) if program.0 == 3));
        assert_eq!(deeds[6..], [(2, open(4)), (2, Deed::End), (1, open(3)), (1, Deed::End), (0, Deed::End)]);
        assert_eq!(workload.passes[1].opens(), 1);
        assert_eq!(workload.passes[0].steps[2].think, Duration::from_micros(7));
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        for (text, line) in
            [("x", 1), ("1\ta\tb\n1\ta\n", 2), ("x\ta\tb\n", 1), ("1\ta\t/\n", 1), ("1\ta\tb/../c\n", 1)]
        {
            let error = Recordings::new("", Duration::ZERO).add(text).unwrap_err();
            assert_eq!(error, LineError { line }, "{text}");
        }
    }
}
