//! Steps and effects into bodies and back.

use super::coder::{BYTES_MAX, Coder, TIME_MAX, tag};
use super::listings::{inode_window, window_number};
use crate::clock::Micros;
use crate::codec::{CodecError, Reader, put_varint};
use crate::engine::{Effect, Job, Outcome, Parts, Step, Target, Window};
use crate::event::{AccessEvent, Op, Origin, Residency, Span};
use crate::id::{FileId, GroupId, JobId, ProgramId, SessionId, StreamId};

/// Streams and groups have 32 bits.
const NUMBERS: u64 = 1 << 32;

impl Coder {
    pub(super) fn put_step(&mut self, step: &Step, out: &mut Vec<u8>) {
        match *step {
            Step::Begin(stream, Origin { parent, program, group, session }) => {
                self.put_stream(tag::BEGIN, stream, out);
                put_varint(out, parent.map_or(0, |parent| u64::from(parent.0) + 1));
                put_varint(out, u64::from(program.0));
                put_varint(out, u64::from(group.0));
                put_varint(out, u64::from(session.0));
            }
            Step::Exec(stream, program) => {
                self.put_stream(tag::EXEC, stream, out);
                put_varint(out, u64::from(program.0));
            }
            Step::End(stream) => self.put_stream(tag::ENDED, stream, out),
            Step::Access(event) => self.put_access(&event, out),
            Step::Judge(at, stream, file, found) => {
                self.put_stream(tag::JUDGE | residency_bits(found), stream, out);
                self.time.put(out, at.0);
                self.file.put(out, u64::from(file.0));
            }
            Step::Started(job) => self.put_job(tag::STARTED, job, out),
            Step::Settled(at, job, outcome) => self.put_settled(at, job, outcome, out),
            Step::Tick(at) => {
                out.push(tag::TICK);
                self.time.put(out, at.0);
            }
            Step::Window(window) => {
                out.push(tag::WINDOW);
                put_varint(out, window.files as u64);
                put_varint(out, window.bytes);
                out.push(u8::from(window.names_first));
            }
            Step::Budget(budget) => {
                out.push(tag::BUDGET);
                put_varint(out, budget);
            }
            Step::Forget(file) => {
                out.push(tag::FORGET);
                self.file.put(out, u64::from(file.0));
            }
            Step::Listed(ref listing) => self.put_listing(listing, out),
            Step::InodeWindow(window) => {
                out.push(tag::INODE_WINDOW);
                put_varint(out, window_number(window));
            }
        }
    }

    pub(super) fn put_effect(&mut self, effect: &Effect, out: &mut Vec<u8>) {
        match *effect {
            Effect::Prefetch(job) => {
                self.put_job(tag::PREFETCH | target_bits(job.target), job.id, out);
                self.file.put(out, u64::from(job.file.0));
                // "All of it", u64::MAX, is one byte this way.
                put_varint(out, job.bytes.wrapping_add(1));
                if !job.parts.are_none() {
                    let (shift, mask) = job.parts.to_numbers();
                    put_varint(out, shift);
                    put_varint(out, mask);
                }
            }
            Effect::Withdraw(job) => self.put_job(tag::WITHDRAW, job, out),
        }
    }

    fn put_stream(&mut self, tag: u8, stream: StreamId, out: &mut Vec<u8>) {
        out.push(tag);
        self.stream.put(out, u64::from(stream.0));
    }

    fn put_job(&mut self, tag: u8, job: JobId, out: &mut Vec<u8>) {
        out.push(tag);
        self.job.put(out, job.0);
    }

    fn put_access(&mut self, event: &AccessEvent, out: &mut Vec<u8>) {
        let tag = tag::ACCESS | op_number(event.op) << 2 | residency_bits(event.residency);
        self.put_stream(tag, event.stream, out);
        self.time.put(out, event.at.0);
        self.file.put(out, u64::from(event.file.0));
        if let Op::Read(span) = event.op {
            put_varint(out, span.offset);
            put_varint(out, span.len);
        }
    }

    fn put_settled(&mut self, at: Micros, job: JobId, outcome: Outcome, out: &mut Vec<u8>) {
        let kind = match outcome {
            Outcome::Warmed { .. } => 0,
            Outcome::Resident { .. } => 1,
            Outcome::Withdrawn => 2,
            Outcome::Failed => 3,
        };
        self.put_job(tag::SETTLED | kind, job, out);
        self.time.put(out, at.0);
        match outcome {
            Outcome::Warmed { bytes, facts } => {
                put_varint(out, bytes);
                self.put_facts(&facts, out);
            }
            Outcome::Resident { facts } => self.put_facts(&facts, out),
            Outcome::Withdrawn | Outcome::Failed => {}
        }
    }

    pub(super) fn get_step(&mut self, kind: u8, body: &mut Reader<'_>) -> Result<Step, CodecError> {
        Ok(match kind {
            tag::BEGIN => Step::Begin(self.get_stream(body)?, self.get_origin(body)?),
            tag::EXEC => Step::Exec(self.get_stream(body)?, self.get_program(body)?),
            tag::ENDED => Step::End(self.get_stream(body)?),
            tag::STARTED => Step::Started(self.get_job(body)?),
            tag::TICK => Step::Tick(self.get_time(body)?),
            tag::WINDOW => Step::Window(Window {
                files: body.varint("a number of files")? as usize,
                bytes: body.varint("a number of bytes")?,
                names_first: flag(body)?,
            }),
            tag::BUDGET => Step::Budget(body.varint("a budget")?),
            tag::FORGET => Step::Forget(self.get_file(body)?),
            tag::LISTED => Step::Listed(self.get_listing(body)?),
            tag::INODE_WINDOW => Step::InodeWindow(inode_window(body)?),
            _ if kind & !3 == tag::JUDGE => {
                let stream = self.get_stream(body)?;
                Step::Judge(self.get_time(body)?, stream, self.get_file(body)?, residency(kind))
            }
            _ if kind & !3 == tag::SETTLED => {
                let job = self.get_job(body)?;
                Step::Settled(self.get_time(body)?, job, self.get_outcome(kind, body)?)
            }
            _ => Step::Access(self.get_access(kind, body)?),
        })
    }

    pub(super) fn get_effect(&mut self, kind: u8, body: &mut Reader<'_>) -> Result<Effect, CodecError> {
        if kind == tag::WITHDRAW {
            return Ok(Effect::Withdraw(self.get_job(body)?));
        }
        let target = match kind & 3 {
            0 => Target::Attributes,
            1 => Target::Data,
            2 => Target::Facts,
            _ => Target::Siblings,
        };
        let (id, file) = (self.get_job(body)?, self.get_file(body)?);
        let bytes = body.varint("a number of bytes")?.wrapping_sub(1);
        let parts = if body.left() > 0 { self.get_parts(body)? } else { Parts::NONE };
        Ok(Effect::Prefetch(Job { id, file, target, bytes, parts }))
    }

    fn get_parts(&mut self, body: &mut Reader<'_>) -> Result<Parts, CodecError> {
        let wrong = body.error("parts of a file");
        let (shift, mask) = (body.varint("a length of parts")?, body.varint("parts")?);
        Parts::from_numbers(shift, mask).ok_or(wrong)
    }

    pub(super) fn get_file(&mut self, body: &mut Reader<'_>) -> Result<FileId, CodecError> {
        Ok(FileId(self.file.get(body, u64::from(self.files), "a file that was named before")? as u32))
    }

    fn get_stream(&mut self, body: &mut Reader<'_>) -> Result<StreamId, CodecError> {
        Ok(StreamId(self.stream.get(body, NUMBERS, "a stream")? as u32))
    }

    fn get_time(&mut self, body: &mut Reader<'_>) -> Result<Micros, CodecError> {
        Ok(Micros(self.time.get(body, TIME_MAX, "a time")?))
    }

    fn get_job(&mut self, body: &mut Reader<'_>) -> Result<JobId, CodecError> {
        Ok(JobId(self.job.get(body, TIME_MAX, "a job")?))
    }

    fn get_program(&mut self, body: &mut Reader<'_>) -> Result<ProgramId, CodecError> {
        let program = body.below(u64::from(self.programs), "a program that was named before")?;
        Ok(ProgramId(program as u32))
    }

    fn get_origin(&mut self, body: &mut Reader<'_>) -> Result<Origin, CodecError> {
        let parent = body.below(NUMBERS + 1, "a parent")?.checked_sub(1);
        let parent = parent.map(|parent| StreamId(parent as u32));
        let program = self.get_program(body)?;
        let group = GroupId(body.below(NUMBERS, "a group")? as u32);
        let session = SessionId(body.below(NUMBERS, "a session")? as u32);
        Ok(Origin { parent, program, group, session })
    }

    fn get_access(&mut self, kind: u8, body: &mut Reader<'_>) -> Result<AccessEvent, CodecError> {
        let unknown = body.error("a record of a known kind");
        let op = (kind & !3).checked_sub(tag::ACCESS).ok_or(unknown.clone())? >> 2;
        let stream = self.get_stream(body)?;
        let (at, file) = (self.get_time(body)?, self.get_file(body)?);
        let op = match op {
            0 => Op::Lookup,
            1 => Op::List,
            2 => Op::Open,
            3 => {
                let offset = body.below(1 << 63, "an offset")?;
                Op::Read(Span { offset, len: body.below(1 << 63, "a length")? })
            }
            4 => Op::Write,
            5 => Op::Close,
            6 => Op::Remove,
            _ => return Err(unknown),
        };
        Ok(AccessEvent { at, stream, file, op, residency: residency(kind) })
    }

    fn get_outcome(&mut self, kind: u8, body: &mut Reader<'_>) -> Result<Outcome, CodecError> {
        Ok(match kind & 3 {
            0 => {
                let bytes = body.below(BYTES_MAX, "a number of bytes")?;
                Outcome::Warmed { bytes, facts: self.get_facts(body)? }
            }
            1 => Outcome::Resident { facts: self.get_facts(body)? },
            2 => Outcome::Withdrawn,
            _ => Outcome::Failed,
        })
    }
}

pub(super) fn flag(body: &mut Reader<'_>) -> Result<bool, CodecError> {
    Ok(body.below(2, "yes or no")? == 1)
}

fn op_number(op: Op) -> u8 {
    match op {
        Op::Lookup => 0,
        Op::List => 1,
        Op::Open => 2,
        Op::Read(_) => 3,
        Op::Write => 4,
        Op::Close => 5,
        Op::Remove => 6,
    }
}

fn residency_bits(residency: Residency) -> u8 {
    match residency {
        Residency::Unknown => 0,
        Residency::Hit => 1,
        Residency::Partial => 2,
        Residency::Miss => 3,
    }
}

fn residency(bits: u8) -> Residency {
    match bits & 3 {
        0 => Residency::Unknown,
        1 => Residency::Hit,
        2 => Residency::Partial,
        _ => Residency::Miss,
    }
}

fn target_bits(target: Target) -> u8 {
    match target {
        Target::Attributes => 0,
        Target::Data => 1,
        Target::Facts => 2,
        Target::Siblings => 3,
    }
}
