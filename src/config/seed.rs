//! A model of others that a mount begins with, and where its tree lies in ours.

use std::path::PathBuf;

/// A model that is only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The file.
    pub path: PathBuf,
    /// What of it is taken, and where that is here; `None` takes all of it as it is.
    pub map: Option<PathMap>,
}

/// What lies below `from` in one tree lies below `to` in another, and nothing else does. Both are below their sources; empty is all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMap {
    /// There.
    pub from: String,
    /// Here.
    pub to: String,
}

impl PathMap {
    /// Where `path` of there is here.
    pub fn apply(&self, path: &[u8]) -> Option<Vec<u8>> {
        let rest = match (self.from.as_bytes(), path) {
            (b"", path) => path,
            (from, path) => match path.strip_prefix(from)? {
                [] => b"",
                [b'/', rest @ ..] => rest,
                _ => return None,
            },
        };
        let parts = [self.to.as_bytes(), rest];
        Some(parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(&b'/'))
    }
}

impl std::str::FromStr for PathMap {
    type Err = &'static str;

    /// `FROM:TO`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, to) = text.split_once(':').ok_or("write FROM:TO, either of which may be empty")?;
        let plain = |path: &str| path.trim_matches('/').to_owned();
        Ok(PathMap { from: plain(from), to: plain(to) })
    }
}

impl std::fmt::Display for PathMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_moves_and_nothing_else_does() {
        let mapped = |map: &str, path: &str| {
            let moved = map.parse::<PathMap>().unwrap().apply(path.as_bytes());
            moved.map(|path| String::from_utf8(path).unwrap())
        };
        for (map, path, here) in [
            ("doc:", "doc/a", Some("a")),
            ("doc:", "doc", Some("")),
            ("doc:", "docs/a", None),
            ("doc:", "", None),
            (":share/doc", "a/b", Some("share/doc/a/b")),
            (":share", "", Some("share")),
            ("/home/me/:home/you", "home/me/x", Some("home/you/x")),
            (":", "a", Some("a")),
        ] {
            assert_eq!(mapped(map, path).as_deref(), here, "{map} {path}");
        }
        assert!("doc".parse::<PathMap>().is_err());
    }
}
