//! Records into bodies.

use super::coder::{Coder, tag};
use super::record::{Ending, Part, Place, Record, Start};
use crate::codec::{put_bytes, put_varint};
use crate::event::Facts;
use crate::id::FileId;

impl Coder {
    /// Appends the record's body. Numbers must have been introduced in order; see `Record`.
    pub(super) fn put(&mut self, record: &Record, out: &mut Vec<u8>) {
        match record {
            Record::Setting(setting) => {
                let start = match setting.start {
                    Start::Birth => 0,
                    Start::Midlife => 1,
                    Start::Imported => 2,
                };
                out.extend([tag::SETTING, start]);
                put_varint(out, setting.budget);
                put_bytes(out, setting.predictor.as_bytes());
                put_bytes(out, setting.scope.as_bytes());
            }
            Record::Name { file, place } => self.put_name(*file, place.as_ref(), out),
            Record::Program { identity, .. } => {
                self.programs += 1;
                out.push(tag::PROGRAM);
                put_bytes(out, identity.as_bytes());
            }
            Record::Learned { part, bytes } => {
                out.extend([tag::LEARNED, u8::from(*part == Part::History)]);
                put_bytes(out, bytes);
            }
            Record::Facts { file, facts } => {
                out.push(tag::FACTS);
                self.file.put(out, u64::from(file.0));
                self.put_facts(facts, out);
            }
            Record::Step(step) => self.put_step(step, out),
            Record::Effect(effect) => self.put_effect(effect, out),
            Record::End(ending) => out.extend([tag::END, u8::from(*ending == Ending::Behind)]),
        }
    }

    fn put_name(&mut self, file: FileId, place: Option<&Place>, out: &mut Vec<u8>) {
        let new = file.0 >= self.files;
        out.push(match (new, place.is_some()) {
            (true, true) => tag::NAMED,
            (true, false) => tag::NAMELESS,
            (false, true) => tag::RENAMED,
            (false, false) => tag::UNNAMED,
        });
        if new {
            self.files += 1;
        } else {
            self.file.put(out, u64::from(file.0));
        }
        if let Some(place) = place {
            put_varint(out, u64::from(place.parent.0));
            put_bytes(out, &place.component);
        }
    }

    pub(super) fn put_facts(&mut self, facts: &Facts, out: &mut Vec<u8>) {
        self.inode.put(out, facts.inode);
        put_varint(out, facts.size);
        self.extent.put(out, facts.extent);
        out.push(u8::from(facts.directory));
    }
}
