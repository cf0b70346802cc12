//! The history as bytes: a mark, the form's version, then each entry.
//!
//! What must stay true: loading gives the same predictions as before saving; runs are renumbered, and
//! links and contexts are found again from the entries. A history without the mark is of the first form,
//! which does not say who did what: it is left aside, and learning starts anew.

use super::super::Kind;
use super::entry::{By, Item};
use super::log::Log;
use crate::codec::{CodecError, Reader, put_varint, unzigzag, zigzag};
use crate::id::{FileId, IdMap};

/// No history of the first form begins like this: it would have more entries than bytes.
const MARK: u64 = u64::MAX;
/// The second form.
const FORM: u64 = 2;

/// Appends the log from its oldest entry on.
pub(super) fn save(log: &Log, out: &mut Vec<u8>) {
    put_varint(out, MARK);
    put_varint(out, FORM);
    put_varint(out, log.end());
    let (mut last_file, mut last_run, mut last_by) = (0i64, 0i64, 0i64);
    for entry in log.entries() {
        let (file, run) = (i64::from(entry.item.file().0), i64::from(entry.run));
        let by = i64::from(entry.by.bits());
        put_varint(out, zigzag(file - last_file) << 2 | entry.item.kind() as u64);
        put_varint(out, zigzag(run - last_run));
        put_varint(out, zigzag(by - last_by));
        put_varint(out, u64::from(entry.back));
        (last_file, last_run, last_by) = (file, run, by);
    }
}

/// Reads what [`save`] wrote, about files below `files`, into a log without limit.
pub(super) fn load(bytes: &[u8], files: usize) -> Result<Log, CodecError> {
    let mut log = Log::new(usize::MAX);
    let mut reader = Reader::new(bytes);
    if bytes.is_empty() || reader.varint("a history")? != MARK {
        return Ok(log);
    }
    let wrong = reader.error("a history of the second form");
    if reader.varint("the form of a history")? != FORM {
        return Err(wrong);
    }
    let count = reader.count("the number of entries")?;
    let mut runs: IdMap<u32, (u32, u64)> = IdMap::default();
    let (mut last_file, mut last_run, mut last_by) = (0i64, 0i64, 0i64);
    for _ in 0..count {
        let item = read_item(&mut reader, &mut last_file, files)?;
        last_run = read_number(&mut reader, last_run, u32::MAX.into(), "the number of a run")?;
        last_by = read_number(&mut reader, last_by, u16::MAX.into(), "who used a file")?;
        let back = reader.below(log.end() + 1, "the distance to an earlier entry")?;
        let fresh = runs.len() as u32 + 1;
        let known = runs.get(&(last_run as u32));
        let (run, tail) = known.map_or((fresh, None), |&(run, tail)| (run, Some(tail)));
        let back = (back != 0).then(|| log.end() - back);
        let at = log.push(item, run, By::from_bits(last_by as u16), tail, back);
        runs.insert(last_run as u32, (run, at));
    }
    reader.finish("the end of the history")?;
    Ok(log)
}

fn read_item(reader: &mut Reader<'_>, last: &mut i64, files: usize) -> Result<Item, CodecError> {
    let wrong = reader.error("a file of the names and its use");
    let number = reader.varint("a file and its use")?;
    let kind = match number & 3 {
        0 => Kind::Open,
        1 => Kind::List,
        2 => Kind::Lookup,
        _ => return Err(wrong),
    };
    let file = last.checked_add(unzigzag(number >> 2)).and_then(|file| u32::try_from(file).ok());
    let file = file.ok_or_else(|| wrong.clone())?;
    *last = i64::from(file);
    let item = Item::new(FileId(file), kind);
    if (file as usize) < files || item.forgotten() { Ok(item) } else { Err(wrong) }
}

fn read_number(
    reader: &mut Reader<'_>,
    last: i64,
    most: i64,
    expected: &'static str,
) -> Result<i64, CodecError> {
    let wrong = reader.error(expected);
    let number = last.checked_add(unzigzag(reader.varint(expected)?));
    number.filter(|number| (0..=most).contains(number)).ok_or(wrong)
}
