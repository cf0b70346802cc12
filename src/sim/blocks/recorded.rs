//! Blocks out of the trace of a mount with a cache of its own, where every read is seen with its bytes.
//!
//! What must stay true: what is a reference to the mount's cache is one here: going on within the block that a program
//! referred to last is none. A file that is removed takes its blocks with it, and what has its name later is another one.

use super::{BLOCK_SIZE, BlockTrace, Reference};
use crate::engine::Step;
use crate::event::{AccessEvent, Op, Span};
use crate::id::{FileId, IdMap, ProgramId};
use crate::replace::Block;
use crate::trace::{Record, Teller, TraceError};

impl BlockTrace {
    /// Takes the reads out of a recording.
    ///
    /// # Errors
    /// The first record that cannot be read.
    pub fn recorded(
        name: &str,
        records: impl IntoIterator<Item = Result<Record, TraceError>>,
    ) -> Result<BlockTrace, TraceError> {
        let mut clerk = Clerk {
            trace: BlockTrace { name: name.to_owned(), ..BlockTrace::default() },
            ..Clerk::default()
        };
        for record in records {
            let record = record?;
            clerk.teller.tell(&record);
            if let Record::Step(Step::Access(event)) = record {
                clerk.hear(&event);
            }
        }
        Ok(clerk.trace)
    }
}

/// Writes down references.
#[derive(Default)]
struct Clerk {
    trace: BlockTrace,
    teller: Teller,
    /// The number in blocks of each file there is.
    numbers: IdMap<FileId, u32>,
    /// Numbers given so far.
    given: u32,
    last: IdMap<ProgramId, Block>,
}

impl Clerk {
    fn hear(&mut self, event: &AccessEvent) {
        match event.op {
            Op::Read(span) => self.read(event, span),
            Op::Remove => {
                let gone = self.numbers.remove(&event.file);
                self.trace.gone.extend(gone.map(|file| (self.trace.references.len(), file)));
            }
            _ => {}
        }
    }

    fn read(&mut self, event: &AccessEvent, span: Span) {
        let owner = self.program(event);
        let file = *self.numbers.entry(event.file).or_insert_with(|| {
            self.given += 1;
            self.given
        });
        let end = span.offset.saturating_add(span.len).div_ceil(BLOCK_SIZE);
        for index in span.offset / BLOCK_SIZE..end {
            let block = Block::of(file, index as u32);
            if self.last.insert(owner, block) != Some(block) {
                self.trace.references.push(Reference { owner, block });
            }
        }
    }

    fn program(&mut self, event: &AccessEvent) -> ProgramId {
        let path = self.teller.program_of(event.stream).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or(path);
        let known = self.trace.programs.iter().position(|program| program == name);
        let number = known.unwrap_or_else(|| {
            self.trace.programs.push(name.to_owned());
            self.trace.programs.len() - 1
        });
        ProgramId(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Micros;
    use crate::event::{Origin, Residency};
    use crate::id::{GroupId, SessionId, StreamId};

    fn access(file: u32, op: Op) -> Record {
        let (at, stream, file) = (Micros(0), StreamId(0), FileId(file));
        Record::Step(Step::Access(AccessEvent { at, stream, file, op, residency: Residency::Miss }))
    }

    fn read(file: u32, offset: u64, len: u64) -> Record {
        access(file, Op::Read(Span { offset, len }))
    }

    #[test]
    fn reads_become_blocks_and_removed_files_go() {
        let program = ProgramId(0);
        let origin = Origin { parent: None, program, group: GroupId(1), session: SessionId(1) };
        let records = [
            Record::Program { program, identity: "/usr/bin/sort".into() },
            Record::Step(Step::Begin(StreamId(0), origin)),
            access(5, Op::Open),
            read(5, 0, 4096),
            read(5, 4096, 4096),
            read(5, 8000, 8 << 10),
            read(5, 40 << 10, 0),
            access(5, Op::Remove),
            access(6, Op::Remove),
            read(5, 0, 1),
        ];
        let trace = BlockTrace::recorded("t", records.into_iter().map(Ok)).unwrap();
        assert_eq!(trace.programs, ["sort"]);
        let blocks: Vec<_> = trace.references.iter().map(|of| (of.block.file(), of.block.index())).collect();
        assert_eq!(blocks, [(1, 0), (1, 1), (2, 0)]);
        assert_eq!(trace.gone, [(2, 1)]);
        assert_eq!(trace.misses("lru".parse().unwrap(), 4), 3);
    }
}
