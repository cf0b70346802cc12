//! What the numbers of a trace stand for, at the point that has been read.

use super::record::{Place, Record};
use crate::id::{FileId, ProgramId};

/// Deepest path that is put together: PATH_MAX has room for no more components. Damaged names may run in circles.
const DEPTH_MAX: usize = 2048;

/// Names by number, as the records so far gave them.
#[derive(Clone, Debug)]
pub struct KnownNames {
    /// The root is the first, without a place.
    files: Vec<Option<Place>>,
    programs: Vec<String>,
}

impl Default for KnownNames {
    fn default() -> Self {
        KnownNames { files: vec![None], programs: Vec::new() }
    }
}

impl KnownNames {
    /// Takes in a record; those that name nothing are passed over.
    pub fn hear(&mut self, record: &Record) {
        match record {
            Record::Name { file, place } => {
                if file.index() == self.files.len() {
                    self.files.push(place.clone());
                } else if let Some(known) = self.files.get_mut(file.index()) {
                    known.clone_from(place);
                }
            }
            Record::Program { identity, .. } => self.programs.push(identity.clone()),
            _ => {}
        }
    }

    /// Files introduced, the root included: all numbers are below this.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Where a file is, if it has a name.
    pub fn place(&self, file: FileId) -> Option<&Place> {
        self.files.get(file.index())?.as_ref()
    }

    /// The directory a file is in; `None` for the root and for what has no name.
    pub fn parent(&self, file: FileId) -> Option<FileId> {
        // A number that nothing stands for yet must not reach an engine, which keeps tables by number.
        self.place(file).map(|place| place.parent).filter(|parent| parent.index() < self.files.len())
    }

    /// The path below the source, empty for the root; `None` when a part of it has no name.
    pub fn path(&self, file: FileId) -> Option<Vec<u8>> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut at = file;
        while at != FileId::ROOT {
            if parts.len() == DEPTH_MAX {
                return None;
            }
            let place = self.place(at)?;
            parts.push(&place.component);
            at = place.parent;
        }
        parts.reverse();
        Some(parts.join(&b'/'))
    }

    /// What a program number stands for.
    pub fn program(&self, program: ProgramId) -> Option<&str> {
        self.programs.get(program.index()).map(String::as_str)
    }
}
