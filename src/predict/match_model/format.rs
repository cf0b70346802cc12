//! The history as bytes: each entry with the contexts that stood there last.
//!
//! What must stay true: loading gives the same predictions as before saving; runs are renumbered, and
//! links are found again from them.

use super::super::Kind;
use super::contexts::Contexts;
use super::log::{Item, Log};
use crate::codec::{CodecError, Reader, put_varint, unzigzag, zigzag};
use crate::id::{FileId, IdMap};

/// Most contexts that can stand at one entry: last three, last two, start. Re-uses of a position by
/// different streams cannot add more, as an entry belongs to one access.
const KEYS_MAX: u64 = 8;

/// What was read.
pub(super) struct Loaded {
    pub(super) log: Log,
    pub(super) contexts: Contexts,
    /// The highest run number.
    pub(super) runs: u32,
    /// All files are below this.
    pub(super) files: u32,
}

/// Appends the log from its oldest entry on.
pub(super) fn save(log: &Log, contexts: &Contexts, out: &mut Vec<u8>) {
    put_varint(out, log.end() - log.start());
    let listed = contexts.list(log.end());
    let first = listed.partition_point(|&(position, _)| position < log.start());
    let mut keys = listed[first..].iter().peekable();
    let (mut last_file, mut last_run) = (0i64, 0i64);
    for position in log.start()..log.end() {
        let Some(entry) = log.get(position) else { continue };
        let (file, run) = (i64::from(entry.item.file().0), i64::from(entry.run));
        put_varint(out, zigzag(file - last_file) << 2 | entry.item.kind() as u64);
        put_varint(out, zigzag(run - last_run));
        (last_file, last_run) = (file, run);
        let mut here = Vec::new();
        while let Some(&(_, key)) = keys.next_if(|&&(at, _)| at == position) {
            here.push(key);
        }
        put_varint(out, here.len() as u64);
        here.iter().for_each(|key| out.extend_from_slice(&key.to_le_bytes()));
    }
}

/// Reads what [`save`] wrote into a log of the given capacity.
pub(super) fn load(bytes: &[u8], files: usize, capacity: usize) -> Result<Loaded, CodecError> {
    let mut reader = Reader::new(bytes);
    let count = reader.count("the number of entries")?;
    let (mut log, mut contexts) = (Log::new(capacity), Contexts::new(capacity));
    let mut runs: IdMap<u32, (u32, u64)> = IdMap::default();
    let (mut last_file, mut last_run, mut top) = (0i64, 0i64, 0u32);
    for _ in 0..count {
        let item = read_item(&mut reader, &mut last_file, files)?;
        last_run = read_run(&mut reader, last_run)?;
        if !item.forgotten() {
            top = top.max(item.file().0 + 1);
        }
        let fresh = runs.len() as u32 + 1;
        let (run, tail) =
            runs.get(&(last_run as u32)).map_or((fresh, None), |&(run, tail)| (run, Some(tail)));
        let at = log.push(item, run, tail);
        runs.insert(last_run as u32, (run, at));
        for _ in 0..reader.below(KEYS_MAX, "the number of contexts of an entry")? {
            contexts.set(reader.u32("the key of a context")?.max(1), at);
        }
    }
    reader.finish("the end of the history")?;
    Ok(Loaded { log, contexts, runs: runs.len() as u32, files: top })
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

fn read_run(reader: &mut Reader<'_>, last: i64) -> Result<i64, CodecError> {
    let wrong = reader.error("the number of a run");
    let run = last.checked_add(unzigzag(reader.varint("a run")?));
    run.filter(|run| u32::try_from(*run).is_ok()).ok_or(wrong)
}
