//! A table with a header: `time,pid,ppid,program,path,op,size` in any order, `path` at least; fields may be quoted as in
//! RFC 4180. `time` is in seconds, from whatever moment; `op` is what the operations are called in `trace show`.

use std::io::BufRead;

use super::Lines;
use super::book::{Book, Seen};
use crate::clock::Micros;
use crate::event::{Op, Span};
use crate::trace::TraceError;

const COLUMNS: [&str; 7] = ["time", "pid", "ppid", "program", "path", "op", "size"];
const TIME: usize = 0;
const PID: usize = 1;
const PPID: usize = 2;
const PROGRAM: usize = 3;
const PATH: usize = 4;
const OP: usize = 5;
const SIZE: usize = 6;
/// A field may go over lines, but a row is no longer than this.
const ROW_MAX: usize = 256 << 10;
/// Times stay far from what 56 bits of microseconds hold.
const SECONDS_MAX: f64 = 3e10;
const SIZE_MAX: u64 = 1 << 50;

/// A field and where it begins.
struct Field {
    text: Vec<u8>,
    line: u64,
    at: usize,
}

/// Where the columns stand in a row.
type Header = [Option<usize>; COLUMNS.len()];

pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, book: &mut Book<'_>) -> Result<(), TraceError> {
    let Some(row) = row(lines)? else { return Err(lines.error_at(1, 0, "a header")) };
    let header = header(lines, &row)?;
    let mut start = None;
    while let Some(fields) = self::row(lines)? {
        if fields.len() == 1 && fields[0].text.is_empty() {
            continue;
        }
        let row = Row { lines, header: &header, fields: &fields };
        row.write_down(book, &mut start)?;
    }
    Ok(())
}

fn header<R: BufRead>(lines: &Lines<R>, row: &[Field]) -> Result<Header, TraceError> {
    let mut header = Header::default();
    for (number, field) in row.iter().enumerate() {
        let name = String::from_utf8_lossy(&field.text).trim().to_ascii_lowercase();
        let place = COLUMNS.iter().position(|column| *column == name);
        match place.map(|place| &mut header[place]) {
            Some(free @ None) => *free = Some(number),
            _ => {
                let expected = format!("one of {}, each once", COLUMNS.join(", "));
                return Err(lines.error_at(field.line, field.at, expected));
            }
        }
    }
    match header[PATH] {
        Some(_) => Ok(header),
        None => Err(lines.error_at(1, 0, "a column named path")),
    }
}

struct Row<'a, R> {
    lines: &'a Lines<R>,
    header: &'a Header,
    fields: &'a [Field],
}

impl<R: BufRead> Row<'_, R> {
    fn write_down(&self, book: &mut Book<'_>, start: &mut Option<Micros>) -> Result<(), TraceError> {
        let path = self.field(PATH)?.filter(|field| !field.text.is_empty());
        let path = path.ok_or_else(|| self.error(PATH, "a path"))?;
        let process = self.number(PID, "the number of a process")?.unwrap_or(0);
        let parent = self.number(PPID, "the number of a process")?;
        let program = self.field(PROGRAM)?.map(|field| String::from_utf8_lossy(&field.text));
        let op = self.op()?;
        let size = self.number(SIZE, "a size in bytes")?;
        if size.is_some_and(|size: u64| size >= SIZE_MAX) {
            return Err(self.error(SIZE, "a size below 2^50 bytes"));
        }
        let at = self.time()?.map(|time| Micros(time.0.saturating_sub(start.get_or_insert(time).0)));
        if !book.knows(process) {
            book.begin(process, parent, program.as_deref().unwrap_or_default());
        } else if let Some(program) = program {
            book.runs(process, &program);
        }
        let op = if let Op::Read(_) = op { Op::Read(Span { offset: 0, len: size.unwrap_or(0) }) } else { op };
        book.access(&Seen { at, process, path: &path.text, op, size })
    }

    /// The field of a column; `None` when there is no such column. A row that is too short is an error.
    fn field(&self, column: usize) -> Result<Option<&Field>, TraceError> {
        let Some(number) = self.header[column] else { return Ok(None) };
        match self.fields.get(number) {
            Some(field) => Ok(Some(field)),
            None => Err(self.error(column, &format!("a field for the column {}", COLUMNS[column]))),
        }
    }

    fn number<T: std::str::FromStr>(&self, column: usize, expected: &str) -> Result<Option<T>, TraceError> {
        let Some(field) = self.field(column)?.filter(|field| !field.text.is_empty()) else { return Ok(None) };
        let number = std::str::from_utf8(&field.text).ok().and_then(|text| text.trim().parse().ok());
        number.map(Some).ok_or_else(|| self.error(column, expected))
    }

    fn time(&self) -> Result<Option<Micros>, TraceError> {
        let seconds: Option<f64> = self.number(TIME, "a time in seconds")?;
        match seconds {
            Some(seconds) if !(0.0..SECONDS_MAX).contains(&seconds) => {
                Err(self.error(TIME, "a time in seconds, not negative"))
            }
            seconds => Ok(seconds.map(|seconds| Micros((seconds * 1e6).round() as u64))),
        }
    }

    fn op(&self) -> Result<Op, TraceError> {
        let Some(field) = self.field(OP)? else { return Ok(Op::Open) };
        Ok(match field.text.trim_ascii() {
            b"" | b"open" => Op::Open,
            b"lookup" => Op::Lookup,
            b"list" => Op::List,
            b"read" => Op::Read(Span { offset: 0, len: 0 }),
            b"write" => Op::Write,
            b"close" => Op::Close,
            b"remove" => Op::Remove,
            _ => return Err(self.error(OP, "one of open, lookup, list, read, write, close, remove")),
        })
    }

    /// The error in the field of a column, or behind the last field.
    fn error(&self, column: usize, expected: &str) -> TraceError {
        let field = self.header[column].and_then(|number| self.fields.get(number)).or(self.fields.last());
        let (line, at) = field.map_or((self.lines.number(), 0), |field| (field.line, field.at));
        self.lines.error_at(line, at, expected)
    }
}

/// The next row; `None` after the last.
fn row<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Vec<Field>>, TraceError> {
    let Some(line) = lines.next()? else { return Ok(None) };
    let mut cursor = Cursor { size: line.len(), line, at: 0 };
    let mut fields = Vec::new();
    loop {
        fields.push(cursor.field(lines)?);
        match cursor.line.get(cursor.at) {
            None => return Ok(Some(fields)),
            Some(b',') => cursor.at += 1,
            Some(_) => return Err(lines.error(cursor.at, "a comma or the end of the line")),
        }
    }
}

/// A place in a row.
struct Cursor {
    line: Vec<u8>,
    at: usize,
    /// Bytes of the row so far.
    size: usize,
}

impl Cursor {
    /// The field that begins here; stops behind it.
    fn field<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<Field, TraceError> {
        let (line, at) = (lines.number(), self.at);
        if self.line.get(at) == Some(&b'"') {
            return self.quoted(lines);
        }
        let end = self.line[at..].iter().position(|&byte| byte == b',');
        self.at = end.map_or(self.line.len(), |end| at + end);
        Ok(Field { text: self.line[at..self.at].to_vec(), line, at })
    }

    fn quoted<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<Field, TraceError> {
        let mut field = Field { text: Vec::new(), line: lines.number(), at: self.at };
        self.at += 1;
        loop {
            match (self.line.get(self.at), self.line.get(self.at + 1)) {
                (Some(b'"'), Some(b'"')) => {
                    field.text.push(b'"');
                    self.at += 2;
                }
                (Some(b'"'), _) => {
                    self.at += 1;
                    return Ok(field);
                }
                (Some(&byte), _) => {
                    field.text.push(byte);
                    self.at += 1;
                }
                (None, _) => self.go_on(lines, &mut field)?,
            }
        }
    }

    /// A quoted field goes on in the next line.
    fn go_on<R: BufRead>(&mut self, lines: &mut Lines<R>, field: &mut Field) -> Result<(), TraceError> {
        let unclosed = lines.error_at(field.line, field.at, "a quotation mark that is closed");
        field.text.push(b'\n');
        self.line = lines.next()?.ok_or(unclosed)?;
        self.at = 0;
        self.size += self.line.len() + 1;
        if self.size > ROW_MAX {
            return Err(lines.error_at(field.line, field.at, "a shorter row"));
        }
        Ok(())
    }
}
