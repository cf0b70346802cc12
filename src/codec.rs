//! Numbers and bytes as the model file writes them: little endian, varints of seven bits a byte.
//!
//! Must stay true: reading never panics and never trusts a length it has not checked against the
//! bytes that are really there.

use thiserror::Error;

pub mod text;

/// Something was not as the format says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("at byte {at}: expected {expected}")]
pub struct CodecError {
    /// Offset in the bytes that were being read.
    pub at: usize,
    /// What should have been there.
    pub expected: &'static str,
}

/// Appends `number` in 1 to 10 bytes.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a length and the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Maps small numbers of either sign to small numbers.
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// A cursor over bytes that may be anything.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// The offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet. No honest count of things can be larger, as each takes a byte or more.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error that says `expected` should have been here.
    pub fn error(&self, expected: &'static str) -> CodecError {
        CodecError { at: self.at, expected }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize, expected: &'static str) -> Result<&'a [u8], CodecError> {
        if count > self.left() {
            return Err(self.error(expected));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// One byte.
    pub fn byte(&mut self, expected: &'static str) -> Result<u8, CodecError> {
        Ok(self.take(1, expected)?[0])
    }

    /// Four bytes as a number.
    pub fn u32(&mut self, expected: &'static str) -> Result<u32, CodecError> {
        let bytes = self.take(4, expected)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A varint.
    pub fn varint(&mut self, expected: &'static str) -> Result<u64, CodecError> {
        let start = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(expected)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(CodecError { at: start, expected })
    }

    /// A varint that must be below `limit`.
    pub fn below(&mut self, limit: u64, expected: &'static str) -> Result<u64, CodecError> {
        let at = self.at;
        let number = self.varint(expected)?;
        if number < limit { Ok(number) } else { Err(CodecError { at, expected }) }
    }

    /// A count of things that take at least one byte each: never more than the bytes left.
    pub fn count(&mut self, expected: &'static str) -> Result<usize, CodecError> {
        let at = self.at;
        let number = self.varint(expected)?;
        if number <= self.left() as u64 { Ok(number as usize) } else { Err(CodecError { at, expected }) }
    }

    /// A length and that many bytes.
    pub fn bytes(&mut self, expected: &'static str) -> Result<&'a [u8], CodecError> {
        let count = self.count(expected)?;
        self.take(count, expected)
    }

    /// Nothing may follow.
    pub fn finish(&self, expected: &'static str) -> Result<(), CodecError> {
        if self.left() == 0 { Ok(()) } else { Err(self.error(expected)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(number: u64, signed: i64) {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            put_varint(&mut out, zigzag(signed));
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.varint("number").unwrap(), number);
            prop_assert_eq!(unzigzag(reader.varint("number").unwrap()), signed);
            prop_assert!(reader.finish("end").is_ok());
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.left() > 0 {
                let before = reader.at();
                if reader.clone().bytes("bytes").is_err() && reader.varint("number").is_err() {
                    break;
                }
                if reader.at() == before {
                    let taken = reader.bytes("bytes").unwrap();
                    prop_assert!(taken.len() <= bytes.len());
                }
            }
        }
    }

    #[test]
    fn a_length_beyond_the_end_names_its_place() {
        let error = Reader::new(&[5, 1, 2]).bytes("a name").unwrap_err();
        assert_eq!(error.to_string(), "at byte 0: expected a name");
    }
}
