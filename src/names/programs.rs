//! Programs by number: what a stream runs, as an identity string that outlives the mount.
//!
//! Must stay true: a number once given stands for the same identity for ever; there are at most
//! `PROGRAMS_MAX`, and all that come later (whoever builds programs runs each of them) share the last number.

use std::collections::HashMap;

use crate::codec::{CodecError, Reader, put_bytes, put_varint};
use crate::id::ProgramId;

/// Far more than a system has in use.
const PROGRAMS_MAX: usize = 4096;
/// What those beyond that are called.
const OTHERS: &str = "(others)";

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

    /// The number of this identity, new if it was not known and there is room.
    pub fn intern(&mut self, identity: &str) -> ProgramId {
        let full = self.identities.len() >= PROGRAMS_MAX - 1;
        let known = |identity| self.numbers.get(identity).copied();
        match known(identity) {
            Some(known) => known,
            None if full => known(OTHERS).unwrap_or_else(|| self.add(OTHERS)),
            None => self.add(identity),
        }
    }

    fn add(&mut self, identity: &str) -> ProgramId {
        let program = ProgramId(self.identities.len() as u32);
        self.identities.push(identity.to_owned());
        self.numbers.insert(identity.to_owned(), program);
        program
    }

    /// The number of this identity, if it has one.
    pub fn find(&self, identity: &str) -> Option<ProgramId> {
        self.numbers.get(identity).copied()
    }

    /// Forgets what the number stood for. The number is not given again.
    pub fn forget(&mut self, program: ProgramId) {
        if let Some(identity) = self.identities.get_mut(program.index()) {
            self.numbers.remove(identity);
            *identity = format!("(forgotten {})", program.0);
            self.numbers.insert(identity.clone(), program);
        }
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
            // A file from before there was a limit may have more.
            let within = expected < PROGRAMS_MAX - 1 || identity == OTHERS;
            if within && programs.intern(identity).index() != expected {
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
    fn those_beyond_the_limit_share_a_number() {
        let mut programs = Programs::new();
        let numbers: Vec<_> = (0..10_000).map(|n| programs.intern(&format!("/tmp/a{n}.out"))).collect();
        assert_eq!(programs.len(), PROGRAMS_MAX);
        assert_eq!(programs.identity(numbers[9_999]), Some(OTHERS));
        assert_eq!(programs.intern("/tmp/a7.out"), numbers[7]);
        let mut bytes = Vec::new();
        programs.save(&mut bytes);
        let mut again = Programs::load(&bytes).unwrap();
        assert_eq!(again.intern("/tmp/another"), numbers[9_999]);
        assert_eq!(again.len(), PROGRAMS_MAX);
    }

    #[test]
    fn a_file_with_more_than_the_limit_is_read() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 5_000);
        (0..5_000).for_each(|n| put_bytes(&mut bytes, format!("/bin/{n}").as_bytes()));
        let mut programs = Programs::load(&bytes).unwrap();
        assert_eq!(programs.len(), PROGRAMS_MAX - 1);
        assert_eq!(programs.intern("/bin/4999").index(), PROGRAMS_MAX - 1);
    }

    #[test]
    fn the_same_identity_twice_is_damage() {
        assert!(Programs::load(&[2, 1, b'a', 1, b'a']).is_err());
    }
}
