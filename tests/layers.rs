//! The layer map in src/lib.rs, enforced: an arrow points down, and some names occur in one place only.
//!
//! Reads the sources as text. It looks at every `crate::module` in code, wherever it stands, so that writing a path in full
//! does not go around it; comments and the text of test modules are left out.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The layers from top to bottom. A module may use those below it and those on its own level.
const LAYERS: &[&[&str]] = &[
    &["main"],
    &["cli"],
    &["run", "demo"],
    &["fuse"],
    &["mirror"],
    &["shelf"],
    &["live", "sim", "cache"],
    &["trace"],
    &["engine"],
    &["predict", "plan", "stream", "replace", "walk"],
    &["model"],
    &["event", "id", "clock", "config", "stats", "names", "device"],
    &["codec"],
    &["sys"],
];

struct Source {
    /// The top-level module it belongs to.
    module: String,
    path: PathBuf,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let sources = files.into_iter().map(|path| {
        let below = path.strip_prefix(&root).unwrap();
        let module = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        Source { module, code: code(&fs::read_to_string(&path).unwrap()), path }
    });
    sources.filter(|source| source.module != "lib").collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") && path.file_stem().unwrap() != "tests" {
            files.push(path);
        }
    }
}

/// The text without comments and without the test module at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules of this crate that the code names.
fn named(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (start, marker) in code.match_indices("crate::") {
        // `$crate::` in a macro is the same crate; `some_crate::` is not.
        if code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[start + marker.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(heads(list)),
            None => names.push(word(rest)),
        }
    }
    names
}

/// The first word of each item of a braced list, to its closing brace.
fn heads(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut heads = vec![String::new()];
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(String::new()),
            c => heads.last_mut().unwrap().push(c),
        }
    }
    heads.iter().map(|head| word(head.trim_start())).filter(|head| !head.is_empty()).collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn level(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn points_up(from: &str, to: &str) -> bool {
    level(to) < level(from)
}

#[test]
fn every_module_has_its_layer() {
    for source in sources() {
        assert!(level(&source.module).is_some(), "{} is in no layer", source.path.display());
    }
}

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    for source in sources() {
        for to in named(&source.code).iter().filter(|to| level(to).is_some()) {
            if points_up(&source.module, to) {
                wrong.push(format!("{} uses {to}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that point up:\n{}", wrong.join("\n"));
}

#[test]
fn some_names_have_one_place() {
    let places = [
        ("fuser::", "fuse"),
        ("clap::", "cli"),
        ("anyhow::", "cli"),
        ("unsafe ", "sys"),
        ("allow(unsafe_code)", "sys"),
    ];
    for source in sources() {
        for (name, place) in places {
            let found = source.code.match_indices(name).any(|(at, _)| {
                !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            });
            assert!(
                !found || source.module == place,
                "{} names {name}, which belongs to {place}",
                source.path.display()
            );
        }
    }
}

#[test]
fn the_reader_of_this_test_sees_what_it_should() {
    let code = code(
        "use crate::live::control; // crate::cli\nfn f() { crate::{run::{a, b}, stats}; other_crate::cli }\n#[cfg(test)]\nmod tests { crate::demo }",
    );
    assert_eq!(named(&code), ["live", "run", "stats"]);
    assert!(points_up("sys", "live") && points_up("predict", "live"));
    assert!(points_up("plan", "engine") && points_up("names", "model"));
    assert!(!points_up("cli", "sys") && !points_up("run", "demo"));
}
