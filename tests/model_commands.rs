//! `augurfs model` as a user meets it: files in, sentences and exit codes out.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use augurfs::model::ModelLock;

/// Two programs: one read three files of a directory, the other one file beside it.
const LINES: &str = r#"{"line":"model","form":1,"predictor":"match","files":6}
{"line":"file","file":1,"in":0,"name":"src"}
{"line":"file","file":2,"in":1,"name":"main.rs","known":{"inode":12,"size":100,"address":4096}}
{"line":"file","file":3,"in":1,"name":"lib%FF.rs"}
{"line":"file","file":4,"in":1,"name":"old.rs","removed":true}
{"line":"file","file":5,"in":0,"name":"README"}
{"line":"program","number":0,"identity":"/usr/bin/cc"}
{"line":"program","number":1,"identity":"/usr/bin/less"}
{"line":"access","run":1,"program":0,"use":"open","file":2,"life":1,"after":0}
{"line":"access","run":1,"program":0,"use":"open","file":3,"life":2,"after":1}
{"line":"access","run":2,"program":1,"use":"open","file":5,"life":1,"after":0}
{"line":"access","run":1,"program":0,"use":"open","file":null,"life":3,"after":2}
"#;

struct Shelf {
    dir: tempfile::TempDir,
}

impl Shelf {
    fn new() -> Self {
        Shelf { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A model made of lines.
    fn model(&self, name: &str, lines: &str) -> PathBuf {
        let (from, to) = (self.path("lines"), self.path(name));
        fs::write(&from, lines).unwrap();
        let done = augurfs(&["import", from.to_str().unwrap(), "-o", to.to_str().unwrap()]);
        assert!(done.status.success(), "{done:?}");
        to
    }
}

fn augurfs(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_augurfs")).arg("model").args(arguments).output().unwrap()
}

fn on(command: &str, file: &Path, more: &[&str]) -> Output {
    augurfs(&[&[command, file.to_str().unwrap()], more].concat())
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn what_is_imported_is_shown_checked_and_exported_again() {
    let shelf = Shelf::new();
    let model = shelf.model("model", LINES);
    assert_eq!(out(&on("export", &model, &[])), LINES);
    let shown = out(&on("show", &model, &[]));
    assert!(shown.starts_with("Predictor match, format 1, "), "{shown}");
    assert!(shown.contains("4 names; of 1 the size is known.\n4 accesses in 2 runs;"), "{shown}");
    assert!(shown.contains("         2        2  /usr/bin/cc\n"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&out(&on("show", &model, &["--json"]))).unwrap();
    assert_eq!(json["programs"][0]["program"], "/usr/bin/cc");
    assert_eq!((&json["oldest"], &json["newest"]), (&"src/main.rs".into(), &"README".into()));
    assert!(out(&on("check", &model, &[])).ends_with("sound: predictor match, 4 entries\n"));
}

#[test]
fn a_damaged_model_is_told_of() {
    let shelf = Shelf::new();
    let model = shelf.model("model", LINES);
    let mut bytes = fs::read(&model).unwrap();
    bytes[60] ^= 1;
    fs::write(&model, bytes).unwrap();
    let said = complaint(&on("check", &model, &[]));
    let place =
        format!("augurfs: not a sound model: {}: at byte 28: expected a names section", model.display());
    assert!(said.starts_with(&place), "{said}");
    assert!(complaint(&on("show", &shelf.path("missing"), &[])).contains("No such file"));
}

#[test]
fn what_is_forgotten_is_not_in_the_file() {
    let shelf = Shelf::new();
    let model = shelf.model("model", LINES);
    assert!(out(&on("forget", &model, &["src/main.rs"])).ends_with(": forgotten: 1 name\n"));
    assert!(out(&on("forget", &model, &["less"])).ends_with(": forgotten: /usr/bin/less and what it did\n"));
    assert!(complaint(&on("forget", &model, &["/usr/bin/less"])).contains("knows neither"));
    assert!(!shelf.path("model.lock").exists(), "nothing is left beside it");
    let left = out(&on("export", &model, &[]));
    let bytes = fs::read(&model).unwrap();
    for gone in ["main.rs", "less"] {
        assert!(!left.contains(gone), "{left}");
        assert!(!bytes.windows(gone.len()).any(|window| window == gone.as_bytes()), "{gone}");
    }
    assert!(left.contains("README") && left.contains("lib%FF.rs"));
    assert!(out(&on("forget", &model, &["src"])).ends_with(": forgotten: 3 names\n"));
    assert!(
        complaint(&on("forget", &model, &["src"])).contains("knows neither a file nor a program called src")
    );
}

#[test]
fn two_models_become_one() {
    let shelf = Shelf::new();
    let one = shelf.model("one", LINES);
    let other = shelf.model("other", &LINES.replace("README", "LICENSE").replace("less", "more"));
    let both = shelf.path("both");
    let words = ["merge", one.to_str().unwrap(), other.to_str().unwrap(), "-o", both.to_str().unwrap()];
    out(&augurfs(&words));
    let left = out(&on("export", &both, &[]));
    for kept in ["README", "LICENSE", "/usr/bin/less", "/usr/bin/more"] {
        assert_eq!(left.matches(kept).count(), 1, "{kept} in {left}");
    }
    assert_eq!(left.matches("main.rs").count(), 1, "named once");
    assert_eq!(left.matches(r#""line":"access""#).count(), 8, "both histories are there");
    assert!(out(&on("check", &both, &[])).contains("sound"));
}

#[test]
fn several_models_become_one() {
    let shelf = Shelf::new();
    let models = ["one", "two", "three"].map(|name| shelf.model(name, &LINES.replace("README", name)));
    let words: Vec<&str> = models.iter().map(|path| path.to_str().unwrap()).collect();
    let all = shelf.path("all");
    out(&augurfs(&[&["merge"], &words[..], &["-o", all.to_str().unwrap()]].concat()));
    let left = out(&on("export", &all, &[]));
    for kept in ["one", "two", "three", "main.rs"] {
        assert_eq!(left.matches(&format!("\"{kept}\"")).count(), 1, "{kept} in {left}");
    }
    assert_eq!(augurfs(&["merge", words[0], "-o", "x"]).status.code(), Some(2), "one is not several");
}

#[test]
fn a_part_of_a_tree_is_known_elsewhere() {
    let shelf = Shelf::new();
    let model = shelf.model("model", LINES);
    let part = shelf.path("part");
    out(&on("relocate", &model, &["src:", "-o", part.to_str().unwrap()]));
    let json: serde_json::Value = serde_json::from_str(&out(&on("show", &part, &["--json"]))).unwrap();
    assert_eq!((&json["names"], &json["oldest"]), (&2.into(), &"main.rs".into()));
    out(&on("relocate", &part, &[":src", "-o", part.to_str().unwrap()]));
    let json: serde_json::Value = serde_json::from_str(&out(&on("show", &part, &["--json"]))).unwrap();
    assert_eq!((&json["names"], &json["oldest"]), (&3.into(), &"src/main.rs".into()));
    assert_eq!(on("relocate", &model, &["src", "-o", "x"]).status.code(), Some(2));
}

#[test]
fn a_model_that_a_mount_uses_is_left_alone() {
    let shelf = Shelf::new();
    let model = shelf.model("model", LINES);
    let before = fs::read(&model).unwrap();
    let _mount = ModelLock::take(&model, Duration::ZERO).unwrap().unwrap();
    let said = complaint(&on("forget", &model, &["src"]));
    assert!(said.ends_with(": a mount uses this model at the moment; unmount it first\n"), "{said}");
    assert_eq!(fs::read(&model).unwrap(), before);
    out(&on("show", &model, &[]));
}
