//! The output of `strace -f`, best with `-tt` or `-ttt`, `-o FILE`, and `-e trace=%file,%process,%desc`.
//!
//! Where a path begins in a directory nobody told of, it is taken to begin where the first process was started. A call counts when
//! it has returned and not failed. What stands between the lines of strace, from the program itself, is passed over and counted.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::rc::Rc;

use super::Lines;
use super::book::{Book, Seen};
use super::call::{self, Call, Head};
use super::paths::resolve;
use crate::clock::Micros;
use crate::event::Op;
use crate::trace::TraceError;

/// Directories remembered for a process; one rarely holds more of them open, and children inherit them all.
const DESCRIPTORS: usize = 64;
/// Longest path put together: four times PATH_MAX, as steps into directories can lead further down than one path.
const PATH_LEN: usize = 16 << 10;

pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, book: &mut Book<'_>) -> Result<(), TraceError> {
    let mut log = Log::default();
    let mut understood = false;
    while let Some(line) = lines.next()? {
        match log.line(&line, book) {
            Some(done) => {
                done?;
                understood = true;
            }
            None => book.misread(lines),
        }
    }
    match book.imported.first_unreadable {
        Some(line) if !understood => Err(lines.error_at(line, 0, "a line of strace")),
        _ => Ok(()),
    }
}

/// What the lines so far say.
#[derive(Default)]
struct Log {
    /// The process each thread belongs to.
    threads: HashMap<u32, u32>,
    processes: HashMap<u32, Process>,
    /// What was begun and not finished, by thread.
    pending: BTreeMap<u32, Vec<u8>>,
    start: Option<Micros>,
    last: Micros,
    days: u64,
}

/// What paths are relative to.
#[derive(Clone, Default)]
struct Process {
    directory: Rc<[u8]>,
    /// Directories it holds open.
    descriptors: BTreeMap<i64, Rc<[u8]>>,
}

impl Log {
    /// `None` when the line means nothing.
    fn line(&mut self, line: &[u8], book: &mut Book<'_>) -> Option<Result<(), TraceError>> {
        let (Head { thread, at }, rest) = call::head(line);
        let thread = thread.unwrap_or(0);
        let at = at.map(|at| self.moment(at));
        if rest.is_empty() || rest.starts_with(b"---") || rest.starts_with(b"strace: ") {
            return Some(Ok(()));
        }
        if rest.starts_with(b"+++ ") {
            self.over(thread, book);
            return Some(Ok(()));
        }
        if let Some(begun) = rest.strip_suffix(b"<unfinished ...>") {
            // Known before what it begins: it may be a fork.
            self.process(thread, book);
            self.pending.insert(thread, begun.trim_ascii_end().to_vec());
            return Some(Ok(()));
        }
        let resumed = rest.strip_prefix(b"<... ").map(|rest| {
            let mut whole = self.pending.remove(&thread).unwrap_or_default();
            let at = rest.windows(8).position(|word| word == b"resumed>").map_or(rest.len(), |at| at + 8);
            whole.extend_from_slice(&rest[at..]);
            whole
        });
        let call = call::call(resumed.as_deref().unwrap_or(rest))?;
        let process = self.process(thread, book);
        Some(self.call(&call, thread, process, at, book))
    }

    /// Counted from the first.
    fn moment(&mut self, at: Micros) -> Micros {
        let at = call::after_midnight(at, self.last, &mut self.days);
        self.last = at;
        Micros(at.0.saturating_sub(self.start.get_or_insert(at).0))
    }

    /// The process of a thread. An unknown one is the child of whoever is just having one, or the first.
    fn process(&mut self, thread: u32, book: &mut Book<'_>) -> u32 {
        if let Some(&process) = self.threads.get(&thread) {
            return process;
        }
        let forking = self.pending.iter().find(|(_, call)| is_fork(call));
        match forking.map(|(&parent, call)| (parent, is_thread(call))) {
            Some((parent, is_thread)) => self.child(thread, parent, is_thread, book),
            None => {
                let process = Process { directory: book.base().into(), ..Process::default() };
                self.processes.insert(thread, process);
                self.threads.insert(thread, thread);
                book.begin(thread, None, "");
            }
        }
        self.threads.get(&thread).copied().unwrap_or(thread)
    }

    fn child(&mut self, child: u32, parent: u32, is_thread: bool, book: &mut Book<'_>) {
        let parent = self.threads.get(&parent).copied().unwrap_or(parent);
        if is_thread {
            self.threads.insert(child, parent);
            return;
        }
        let process = self.processes.get(&parent).cloned().unwrap_or_default();
        self.processes.insert(child, process);
        self.threads.insert(child, child);
        book.fork(child, parent);
    }

    fn over(&mut self, thread: u32, book: &mut Book<'_>) {
        self.pending.remove(&thread);
        if self.threads.remove(&thread) == Some(thread) {
            self.processes.remove(&thread);
            book.end(thread);
        }
    }

    fn call(
        &mut self,
        call: &Call<'_>,
        thread: u32,
        process: u32,
        at: Option<Micros>,
        book: &mut Book<'_>,
    ) -> Result<(), TraceError> {
        let (result, told) = call::descriptor(call.result);
        let Some(result) = result.filter(|&result| result >= 0) else {
            if is_open(call.name) || call.name.starts_with(b"execve") {
                book.left_out();
            }
            return Ok(());
        };
        match call.name {
            name if is_open(name) => {
                let Some(path) = self.path(call, process) else { return Ok(()) };
                let path = told.map_or(path, |told| resolve(b"", told));
                let list = call.arguments.iter().any(|argument| contains(argument, b"O_DIRECTORY"));
                let op = if list { Op::List } else { Op::Open };
                book.access(&Seen { at, process, path: &path, op, size: None })?;
                if list || call.arguments.iter().any(|argument| contains(argument, b"O_PATH")) {
                    self.remember(process, result, path.into());
                }
            }
            b"execve" | b"execveat" => {
                let Some(path) = self.path(call, process) else { return Ok(()) };
                book.access(&Seen { at, process, path: &path, op: Op::Open, size: None })?;
                book.runs(process, &format!("/{}", String::from_utf8_lossy(&path)));
            }
            b"unlink" | b"unlinkat" | b"rmdir" => {
                let Some(path) = self.path(call, process) else { return Ok(()) };
                book.access(&Seen { at, process, path: &path, op: Op::Remove, size: None })?;
            }
            name if is_fork(name) => self.forked(call, thread, result, book),
            b"chdir" => {
                if let Some(path) = self.path(call, process)
                    && let Some(process) = self.processes.get_mut(&process)
                {
                    process.directory = path.into();
                }
            }
            name => self.descriptors(name, call, process, result),
        }
        Ok(())
    }

    /// The child may have been heard of before.
    fn forked(&mut self, call: &Call<'_>, parent: u32, result: i64, book: &mut Book<'_>) {
        let Some(child) = u32::try_from(result).ok().filter(|&child| child != 0) else { return };
        if !self.threads.contains_key(&child) {
            let is_thread = call.arguments.iter().any(|argument| is_thread(argument));
            self.child(child, parent, is_thread, book);
        }
    }

    /// Calls that move descriptors about.
    fn descriptors(&mut self, name: &[u8], call: &Call<'_>, process: u32, result: i64) {
        let Some(number) = call.arguments.first().and_then(|first| call::descriptor(first).0) else { return };
        let Some(known) = self.processes.get_mut(&process) else { return };
        match name {
            b"close" => {
                known.descriptors.remove(&number);
            }
            b"fchdir" => {
                if let Some(path) = known.descriptors.get(&number) {
                    known.directory.clone_from(path);
                }
            }
            _ if is_copy(name, call) => {
                if let Some(path) = known.descriptors.get(&number).cloned() {
                    self.remember(process, result, path);
                }
            }
            _ => {}
        }
    }

    fn remember(&mut self, process: u32, number: i64, path: Rc<[u8]>) {
        if let Some(known) = self.processes.get_mut(&process)
            && known.descriptors.len() < DESCRIPTORS
        {
            known.descriptors.insert(number, path);
        }
    }

    /// The path a call names, plain: its first argument, or its second from the directory that the first is.
    fn path(&self, call: &Call<'_>, process: u32) -> Option<Vec<u8>> {
        let known = self.processes.get(&process);
        let here = known.map_or(&[][..], |process| &process.directory);
        let from_directory = matches!(call.name, b"openat" | b"openat2" | b"execveat" | b"unlinkat");
        if !from_directory {
            let path = call::string(call.arguments.first()?)?;
            return Some(resolve(here, &path)).filter(|path| path.len() <= PATH_LEN);
        }
        let (directory, path) = (call.arguments.first()?, call::string(call.arguments.get(1)?)?);
        let base = match call::descriptor(directory) {
            (_, Some(told)) => resolve(b"", told),
            (Some(number), None) if path.first() != Some(&b'/') => {
                known.and_then(|process| process.descriptors.get(&number))?.to_vec()
            }
            _ => here.to_vec(),
        };
        Some(resolve(&base, &path)).filter(|path| path.len() <= PATH_LEN)
    }
}

/// Does the result stand for the same as the first argument?
fn is_copy(name: &[u8], call: &Call<'_>) -> bool {
    match name {
        b"dup" | b"dup2" | b"dup3" => true,
        b"fcntl" => call.arguments.get(1).is_some_and(|what| what.starts_with(b"F_DUPFD")),
        _ => false,
    }
}

fn is_open(name: &[u8]) -> bool {
    matches!(name, b"open" | b"openat" | b"openat2" | b"creat")
}

/// Of a call's name, or of what was begun.
fn is_fork(call: &[u8]) -> bool {
    let name = call.split(|&byte| byte == b'(').next().unwrap_or_default();
    matches!(name, b"clone" | b"clone2" | b"clone3" | b"fork" | b"vfork")
}

fn is_thread(call: &[u8]) -> bool {
    contains(call, b"CLONE_THREAD")
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}
