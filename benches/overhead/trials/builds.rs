//! Programs that read and write by turns: cargo and SQLite.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Side, timed};

/// Nothing to make.
pub(super) fn nothing(_: &Path, _: u64) -> anyhow::Result<()> {
    Ok(())
}

fn side_of(side: &Side<'_>, name: &str) -> std::path::PathBuf {
    side.root.join(format!("{name}-{}", if side.mounted { "mounted" } else { "native" }))
}

/// A crate of forty modules for each side.
pub(super) fn crates(root: &Path, _: u64) -> anyhow::Result<()> {
    for side in ["cargo-native", "cargo-mounted"] {
        let place = root.join(side);
        fs::create_dir_all(place.join("src"))?;
        fs::write(
            place.join("Cargo.toml"),
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        )?;
        let mut library = String::new();
        for module in 0..40 {
            library += &format!("pub mod m{module};\n");
            let text: String =
                (0..50).map(|f| format!("pub fn f{f}(x: u64) -> u64 {{ x + {f} }}\n")).collect();
            fs::write(place.join(format!("src/m{module}.rs")), text)?;
        }
        fs::write(place.join("src/lib.rs"), library)?;
    }
    Ok(())
}

/// A check from nothing.
pub(super) fn cargo(side: &Side<'_>) -> anyhow::Result<f64> {
    let place = side_of(side, "cargo");
    let target = place.join("target");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let mut command = Command::new("cargo");
    command.args(["check", "-q", "--offline", "--manifest-path"]).arg(place.join("Cargo.toml"));
    command.env("CARGO_TARGET_DIR", &target);
    timed(command, side, 0)
}

/// 200 transactions with a journal that is not waited for.
pub(super) fn sqlite(side: &Side<'_>) -> anyhow::Result<f64> {
    let place = side_of(side, "sqlite");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir(&place)?;
    let mut script = String::from("pragma synchronous=off; create table t(a integer primary key, b text);");
    for number in 0..200 {
        script += &format!(
            "begin; insert into t values({number}, 'some text'); update t set b = 'other' where a = {number} / 2; commit;"
        );
    }
    let mut command = Command::new("sqlite3");
    command.arg(place.join("data")).arg(script);
    timed(command, side, 0)
}
