//! Taking an option list apart. Works on bytes, because a path in it may be any bytes.

use std::borrow::Cow;

/// The options between the commas, with `\,` and `\\` undone, and without the double quotes around a value, between which
/// a comma is a comma. Empty ones are left out.
pub(super) fn split(list: &[u8]) -> Vec<Vec<u8>> {
    let mut words = vec![Vec::new()];
    let mut bytes = list.iter().copied().peekable();
    let mut quoted = false;
    while let Some(byte) = bytes.next() {
        let last = words.len() - 1;
        match byte {
            b'"' if quoted || words[last].ends_with(b"=") => quoted = !quoted,
            _ if quoted => words[last].push(byte),
            b',' => words.push(Vec::new()),
            b'\\' => words[last].push(bytes.next_if(|b| matches!(b, b',' | b'\\')).unwrap_or(b'\\')),
            _ => words[last].push(byte),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `name=value` or a bare name. A name that is not text is shown as near to it as can be.
pub(super) fn assignment(word: &[u8]) -> (Cow<'_, str>, Option<&[u8]>) {
    match word.iter().position(|b| *b == b'=') {
        Some(at) => (String::from_utf8_lossy(&word[..at]), Some(&word[at + 1..])),
        None => (String::from_utf8_lossy(word), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_unless_escaped() {
        let words = split(br"ro,,model=/a\,b\\c\d,");
        assert_eq!(words, [b"ro".to_vec(), br"model=/a,b\c\d".to_vec()]);
        assert_eq!(split(b""), Vec::<Vec<u8>>::new());
        assert_eq!(split(br"x\"), [br"x\".to_vec()]);
    }

    #[test]
    fn quotes_around_a_value_hold_commas() {
        let words = split(br#"context="u:r:t:s0:c1,c2",ro,model=a"b"#);
        assert_eq!(words, [b"context=u:r:t:s0:c1,c2".to_vec(), b"ro".to_vec(), br#"model=a"b"#.to_vec()]);
        assert_eq!(split(br#"a="b,c"#), [b"a=b,c".to_vec()]);
    }

    #[test]
    fn the_first_equals_sign_ends_the_name() {
        assert_eq!(assignment(b"fsname=a=b"), ("fsname".into(), Some(&b"a=b"[..])));
        assert_eq!(assignment(b"ro"), ("ro".into(), None));
        assert_eq!(assignment(b"model="), ("model".into(), Some(&b""[..])));
    }
}
