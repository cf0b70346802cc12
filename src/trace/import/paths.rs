//! Paths as texts have them, made plain: absolute, without `.` and `..`, without the slash in front.

/// `path` as seen from `base` (plain). What leads above the root stays at the root.
pub(super) fn resolve(base: &[u8], path: &[u8]) -> Vec<u8> {
    let from = if path.first() == Some(&b'/') { &b""[..] } else { base };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in from.split(|&byte| byte == b'/').chain(path.split(|&byte| byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join(&b'/')
}

/// The rest of `path` below `base`, both plain; empty for `base` itself.
pub(super) fn below<'a>(base: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    if base.is_empty() {
        return Some(path);
    }
    match path.strip_prefix(base)? {
        [] => Some(&[]),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_plain() {
        for (base, path, plain) in [
            ("", "/a/b", "a/b"),
            ("w", "x/./y//z", "w/x/y/z"),
            ("w/v", "../x", "w/x"),
            ("w", "../../../x", "x"),
            ("w", "/x", "x"),
            ("w", ".", "w"),
        ] {
            assert_eq!(resolve(base.as_bytes(), path.as_bytes()), plain.as_bytes(), "{base} {path}");
        }
    }

    #[test]
    fn what_is_below_is_below_a_whole_component() {
        assert_eq!(below(b"a/b", b"a/b/c"), Some(&b"c"[..]));
        assert_eq!(below(b"a/b", b"a/b"), Some(&b""[..]));
        assert_eq!(below(b"a/b", b"a/bc"), None);
        assert_eq!(below(b"", b"x"), Some(&b"x"[..]));
    }
}
