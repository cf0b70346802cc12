//! Bodies into records.

use super::coder::{COMPONENT_MAX, Coder, FILES_MAX, tag};
use super::record::{Ending, Part, Place, Record, Setting, Start};
use super::steps::flag;
use crate::codec::{CodecError, Reader};
use crate::event::Facts;
use crate::id::{FileId, ProgramId};

impl Coder {
    /// The record that the whole of `body` is.
    pub(super) fn get(&mut self, body: &mut Reader<'_>) -> Result<Record, CodecError> {
        let unknown = body.error("a record of a known kind");
        let record = match body.byte("a record")? {
            tag::SETTING => Record::Setting(setting(body)?),
            tag @ (tag::NAMED | tag::NAMELESS) => self.get_new_name(tag == tag::NAMED, body)?,
            tag @ (tag::RENAMED | tag::UNNAMED) => {
                let file = self.get_file(body)?;
                if file == FileId::ROOT {
                    return Err(body.error("a file that is not the root"));
                }
                Record::Name { file, place: if tag == tag::RENAMED { Some(place(body)?) } else { None } }
            }
            tag::PROGRAM => self.get_program_name(body)?,
            tag::LEARNED => {
                let part = if flag(body)? { Part::History } else { Part::Facts };
                Record::Learned { part, bytes: body.bytes("a piece of what was learned")?.to_vec() }
            }
            tag::FACTS => Record::Facts { file: self.get_file(body)?, facts: self.get_facts(body)? },
            tag::END => Record::End(if flag(body)? { Ending::Behind } else { Ending::Complete }),
            tag if (tag::PREFETCH..=tag::WITHDRAW).contains(&tag) => {
                Record::Effect(self.get_effect(tag, body)?)
            }
            tag if tag >= tag::BEGIN => Record::Step(self.get_step(tag, body)?),
            _ => return Err(unknown),
        };
        body.finish("the end of the record")?;
        Ok(record)
    }

    pub(super) fn get_facts(&mut self, body: &mut Reader<'_>) -> Result<Facts, CodecError> {
        let inode = self.inode.any(body, "an inode number")?;
        let size = body.below(1 << 63, "a size")?;
        let extent = self.extent.any(body, "an address")?;
        Ok(Facts { inode, size, extent, directory: flag(body)? })
    }

    fn get_new_name(&mut self, named: bool, body: &mut Reader<'_>) -> Result<Record, CodecError> {
        if u64::from(self.files) >= FILES_MAX {
            return Err(body.error("no more names than there are numbers"));
        }
        let place = if named { Some(place(body)?) } else { None };
        let file = FileId(self.files);
        self.files += 1;
        Ok(Record::Name { file, place })
    }

    fn get_program_name(&mut self, body: &mut Reader<'_>) -> Result<Record, CodecError> {
        let identity = text(body, "a program's name, in UTF-8")?;
        let program = ProgramId(self.programs);
        self.programs += 1;
        Ok(Record::Program { program, identity })
    }
}

fn text(body: &mut Reader<'_>, expected: &'static str) -> Result<String, CodecError> {
    let wrong = body.error(expected);
    std::str::from_utf8(body.bytes(expected)?).map(str::to_owned).map_err(|_| wrong)
}

fn setting(body: &mut Reader<'_>) -> Result<Setting, CodecError> {
    let start = match body.below(3, "where the trace begins")? {
        0 => Start::Birth,
        1 => Start::Midlife,
        _ => Start::Imported,
    };
    let budget = body.varint("a budget")?;
    let predictor = text(body, "a predictor, in UTF-8")?;
    Ok(Setting { predictor, scope: text(body, "a word for who is one stream, in UTF-8")?, budget, start })
}

fn place(body: &mut Reader<'_>) -> Result<Place, CodecError> {
    let parent = FileId(body.below(FILES_MAX, "the number of a directory")? as u32);
    let wrong = body.error("a name without a slash, of 1 to 1024 bytes");
    let component = body.bytes("a name")?;
    let impossible = |byte: &u8| matches!(byte, b'/' | 0);
    if component.is_empty() || component.len() > COMPONENT_MAX || component.iter().any(impossible) {
        return Err(wrong);
    }
    Ok(Place { parent, component: component.to_vec() })
}
