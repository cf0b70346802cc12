//! Bytes as text that people can read and programs can take back: UTF-8 as it is, anything else as `%XX`.
//!
//! Must stay true: every string of bytes has one text, and gets itself back.

use std::fmt::Write;

/// The text of any bytes. A percent sign, control characters and what is not UTF-8 are written as `%XX`.
pub fn to_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || character.is_control() {
                let mut room = [0; 4];
                character.encode_utf8(&mut room).bytes().for_each(|byte| escape(&mut out, byte));
            } else {
                out.push(character);
            }
        }
        chunk.invalid().iter().for_each(|&byte| escape(&mut out, byte));
    }
    out
}

/// The bytes of a text; `None` when a percent sign is not followed by two hexadecimal digits.
pub fn from_text(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        out.push((digit()? * 16 + digit()?) as u8);
    }
    Some(out)
}

fn escape(out: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(out, "%{byte:02X}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_readable_stays_readable() {
        assert_eq!(to_text("src/größe 100%.rs".as_bytes()), "src/größe 100%25.rs");
        assert_eq!(to_text(b"a\xffb\n"), "a%FFb%0A");
        assert_eq!(from_text("100%"), None);
        assert_eq!(from_text("%zz"), None);
    }

    proptest! {
        #[test]
        fn all_bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(from_text(&to_text(&bytes)), Some(bytes));
        }
    }
}
