//! Programs by number: what a stream runs, as an identity string that outlives the mount.
//!
//! Must stay true: a number once given stands for the same identity for ever.

use std::collections::HashMap;

use crate::codec::{CodecError, Reader, put_bytes, put_varint};
use crate::id::ProgramId;

/// Identity strings (a path, or whatever the driver finds telling) and their numbers.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    identities: Vec<String>,
    numbers: HashMap<String, ProgramId>,
}

impl Programs {
    /// No programs.
    pub fn new() -> Self {
        Programs::default()
    }

    /// The number of this identity, new if it was not known.
    pub fn intern(&mut self, identity: &str) -> ProgramId {
        if let Some(&known) = self.numbers.get(identity) {
            return known;
        }
        let program = ProgramId(self.identities.len() as u32);
        self.identities.push(identity.to_owned());
        self.numbers.insert(identity.to_owned(), program);
        program
    }

    /// What the number stands for.
    pub fn identity(&self, program: ProgramId) -> Option<&str> {
        self.identities.get(program.index()).map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// Appends all identities in the order of their numbers.
    pub fn save(&self, out: &mut Vec<u8>) {
        put_varint(out, self.identities.len() as u64);
        self.identities.iter().for_each(|identity| put_bytes(out, identity.as_bytes()));
    }

    /// Reads what [`Programs::save`] wrote.
    ///
    /// # Errors
    /// Where the bytes are not that.
    pub fn load(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let mut programs = Programs::new();
        for expected in 0..reader.count("the number of programs")? {
            let at = reader.error("a program's identity, unlike the others");
            let identity =
                std::str::from_utf8(reader.bytes("a program's identity")?).map_err(|_| at.clone())?;
            if programs.intern(identity).index() != expected {
                return Err(at);
            }
        }
        reader.finish("the end of the programs")?;
        Ok(programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_saving() {
        let mut programs = Programs::new();
        let tar = programs.intern("/usr/bin/tar");
        let make = programs.intern("/usr/bin/make");
        assert_eq!(programs.intern("/usr/bin/tar"), tar);
        let mut bytes = Vec::new();
        programs.save(&mut bytes);
        let again = Programs::load(&bytes).unwrap();
        assert_eq!(again.identity(make), Some("/usr/bin/make"));
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn the_same_identity_twice_is_damage() {
        assert!(Programs::load(&[2, 1, b'a', 1, b'a']).is_err());
    }
}
