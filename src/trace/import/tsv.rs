//! `process<TAB>program<TAB>path`, one line an open.

use std::io::BufRead;

use super::Lines;
use super::book::{Book, Seen};
use crate::event::Op;
use crate::trace::TraceError;

pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, book: &mut Book<'_>) -> Result<(), TraceError> {
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        let tab = |from: usize| line[from..].iter().position(|&byte| byte == b'\t').map(|at| from + at);
        let first = tab(0).ok_or_else(|| lines.error(line.len(), "a tab behind the process"))?;
        let second = tab(first + 1).ok_or_else(|| lines.error(line.len(), "a tab behind the program"))?;
        let number = std::str::from_utf8(&line[..first]).ok().and_then(|number| number.parse().ok());
        let process: u32 = number.ok_or_else(|| lines.error(0, "the number of a process"))?;
        let path = &line[second + 1..];
        if path.is_empty() {
            return Err(lines.error(second + 1, "a path"));
        }
        let program = String::from_utf8_lossy(&line[first + 1..second]);
        if book.knows(process) {
            book.runs(process, &program);
        } else {
            book.begin(process, None, &program);
        }
        book.access(&Seen { at: None, process, path, op: Op::Open, size: None })?;
    }
    Ok(())
}
