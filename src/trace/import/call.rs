//! One line of strace taken apart: `[pid 7] 12:00:00.5 openat(AT_FDCWD, "a\"b", O_RDONLY) = 3</x>`.

use crate::clock::Micros;

const DAY: u64 = 86_400_000_000;

/// What stands before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The thread, where it is told.
    pub(super) thread: Option<u32>,
    /// Since midnight or 1970.
    pub(super) at: Option<Micros>,
}

/// A call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    pub(super) arguments: Vec<&'a [u8]>,
    /// What is behind the equals sign.
    pub(super) result: &'a [u8],
}

/// Splits off thread and time.
pub(super) fn head(line: &[u8]) -> (Head, &[u8]) {
    let mut rest = line.trim_ascii_start();
    let mut head = Head { thread: None, at: None };
    if let Some(inner) = rest.strip_prefix(b"[pid ")
        && let Some(end) = inner.iter().position(|&byte| byte == b']')
    {
        head.thread = number(inner[..end].trim_ascii()).and_then(|thread| u32::try_from(thread).ok());
        rest = inner[end + 1..].trim_ascii_start();
    } else if let (word, after) = word(rest)
        && let Some(thread) = number(word).and_then(|thread| u32::try_from(thread).ok())
    {
        (head.thread, rest) = (Some(thread), after);
    }
    let (first, after) = word(rest);
    head.at = time(first);
    (head, if head.at.is_some() { after } else { rest })
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| byte == b' ').unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
}

/// `12:34:56`, with or without a fraction, or seconds with one.
fn time(text: &[u8]) -> Option<Micros> {
    let (whole, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], Some(&text[point + 1..])),
        None => (text, None),
    };
    let micros = fraction.map_or(Some(0), micros)?;
    let parts: Vec<&[u8]> = whole.split(|&byte| byte == b':').collect();
    let seconds = match parts[..] {
        [hours, minutes, seconds] => {
            let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
            (hours < 24 && minutes < 60 && seconds < 61).then_some(hours * 3600 + minutes * 60 + seconds)?
        }
        // Without a fraction it would be the number of a process.
        [seconds] if fraction.is_some() => number(seconds).filter(|&seconds| seconds < 1 << 35)?,
        _ => return None,
    };
    Some(Micros(seconds * 1_000_000 + micros))
}

fn micros(fraction: &[u8]) -> Option<u64> {
    let digits = &fraction[..fraction.len().min(6)];
    Some(number(digits)? * 10u64.pow(6 - digits.len() as u32))
}

/// Later than `last`: where only the time of day is told, midnight may have passed.
pub(super) fn after_midnight(at: Micros, last: Micros, days: &mut u64) -> Micros {
    let moved = Micros(at.0 + *days * DAY);
    if at.0 < DAY && moved.0 + DAY / 2 < last.0 {
        *days += 1;
        return Micros(moved.0 + DAY);
    }
    moved
}

/// A whole call; `None` when it is none.
pub(super) fn call(text: &[u8]) -> Option<Call<'_>> {
    let open = text.iter().position(|&byte| byte == b'(')?;
    let name = &text[..open];
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.is_empty() || !name.iter().all(plain) {
        return None;
    }
    let (arguments, rest) = arguments(&text[open + 1..])?;
    let result = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
    Some(Call { name, arguments, result })
}

/// The arguments, and what is behind their closing parenthesis.
fn arguments(text: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let (mut depth, mut from, mut at, mut all) = (0u32, 0, 0, Vec::new());
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at += string_end(&text[at + 1..])?,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                all.push(text[from..at].trim_ascii());
                return Some((all, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            // What a descriptor stands for: `3</a,b>`.
            b'<' if at > from && text[at - 1].is_ascii_alphanumeric() => {
                at += text[at..].iter().position(|&byte| byte == b'>')?;
            }
            b',' if depth == 0 => {
                all.push(text[from..at].trim_ascii());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string ends that begins here, behind its quotation mark: counted from that, to the other one.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The bytes of a quoted string; `None` when it is none, or was cut short.
pub(super) fn string(argument: &[u8]) -> Option<Vec<u8>> {
    let inner = argument.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let (mut bytes, mut at) = (Vec::with_capacity(inner.len()), 0);
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escaped = *inner.get(at)?;
        at += 1;
        match escaped {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0b),
            b'f' => bytes.push(0x0c),
            b'x' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(inner.get(at..at + 2)?).ok()?, 16).ok()?);
                at += 2;
            }
            b'0'..=b'7' => {
                let end = (at..inner.len().min(at + 2)).find(|&at| !matches!(inner[at], b'0'..=b'7'));
                let end = end.unwrap_or(inner.len().min(at + 2));
                let digits = std::str::from_utf8(&inner[at - 1..end]).ok()?;
                bytes.push(u16::from_str_radix(digits, 8).ok()? as u8);
                at = end;
            }
            other => bytes.push(other),
        }
    }
    Some(bytes)
}

/// The number a result or an argument begins with, and the path it stands for where strace told it (`-y`).
pub(super) fn descriptor(text: &[u8]) -> (Option<i64>, Option<&[u8]>) {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-').unwrap_or(text.len());
    let number = std::str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse().ok());
    let open = text.iter().position(|&byte| byte == b'<');
    let path = open.and_then(|open| {
        let end = text[open..].iter().position(|&byte| byte == b'>')?;
        Some(&text[open + 1..open + end])
    });
    (number, path.filter(|path| path.first() == Some(&b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let cases: [(&str, Option<u32>, Option<u64>, &str); 6] = [
            ("openat(x", None, None, "openat(x"),
            ("[pid   12] openat(x", Some(12), None, "openat(x"),
            ("12    openat(x", Some(12), None, "openat(x"),
            ("12 00:00:01.5 openat(x", Some(12), Some(1_500_000), "openat(x"),
            ("1700000000.000001 openat(x", None, Some(1_700_000_000_000_001), "openat(x"),
            ("[pid 3] 01:00:00 openat(x", Some(3), Some(3_600_000_000), "openat(x"),
        ];
        for (line, thread, at, rest) in cases {
            let expected = (Head { thread, at: at.map(Micros) }, rest.as_bytes());
            assert_eq!(head(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn calls() {
        let line = br#"openat(5</a, b>, "x\"), \"y", O_RDONLY|O_CLOEXEC, {a=1, b=[2]}) = 3</a, b/x>"#;
        let call = call(line).unwrap();
        assert_eq!((call.name, call.arguments.len()), (&b"openat"[..], 4));
        assert_eq!(string(call.arguments[1]).unwrap(), b"x\"), \"y");
        assert_eq!(descriptor(call.arguments[0]), (Some(5), Some(&b"/a, b"[..])));
        assert_eq!(descriptor(call.result), (Some(3), Some(&b"/a, b/x"[..])));
        assert_eq!(descriptor(b"-1 ENOENT (No such file)"), (Some(-1), None));
        for wrong in ["", "open", "open(", "open(\"", "(x) = 3", "a b(x) = 3", "open(\"x\")", "open(]) = 3"] {
            assert!(super::call(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn strings() {
        assert_eq!(string(br#""a\n\1012\x41\\""#).unwrap(), b"a\nA2A\\");
        for cut in ["\"a\"...", "\"a", "a", "\"\\", "\"\\x4\""] {
            assert!(string(cut.as_bytes()).is_none(), "{cut}");
        }
    }

    #[test]
    fn a_day_later() {
        let mut days = 0;
        let evening = after_midnight(Micros(DAY - 1), Micros(0), &mut days);
        assert_eq!(after_midnight(Micros(5), evening, &mut days), Micros(DAY + 5));
        assert_eq!(after_midnight(Micros(7), Micros(DAY + 5), &mut days), Micros(DAY + 7));
    }
}
