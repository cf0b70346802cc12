//! What the README tells people to type, typed.
//!
//! Needs root, /dev/fuse and util-linux. The lines between ```` ```sh ```` and ```` ``` ```` run in order, section by section, in a mount namespace in which
//! the program is installed and the places the README speaks of are small trees made for the purpose.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const README: &str = include_str!("../README.md");

/// The places: what the README mirrors, where it mounts, and who may not see the machine's own.
const STAGE: &str = r#"
mount -t tmpfs none /mnt
mount -t tmpfs none /srv
mount -t tmpfs none /var/lib
mount -t tmpfs none /usr/share/doc
mkdir -p /mnt/data /srv/data/bin /usr/share/doc/a
for number in 1 2 3 4 5; do echo licence > /usr/share/doc/a/$number; done
echo old > /srv/data/file
mount -t overlay overlay -o lowerdir=$stage/sbin:/usr/sbin /usr/sbin
mount -t overlay overlay -o lowerdir=$stage/usr/local:/usr/local /usr/local
export HOME=$home
sudo() { "$@"; }
cargo() { true; }
install_sh() { true; }
"#;

/// The shell lines of a section, in order.
fn shell(section: &str) -> String {
    let text = README.split("\n## ").find(|text| text.starts_with(section)).expect("the section is there");
    let mut lines = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => lines.push(line.replace("mount-helpers/install.sh", "install_sh")),
            _ => {}
        }
    }
    assert!(!lines.is_empty(), "{section} has no shell lines");
    lines.join("\n")
}

fn run(before: &str, script: &str, after: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (stage, home) = (dir.path().join("stage"), dir.path().join("home"));
    install(&stage);
    fs::create_dir_all(home.join("src")).unwrap();
    fs::create_dir_all(home.join("mnt")).unwrap();
    Command::new("timeout")
        .args(["100", "unshare", "-m", "bash", "-exc", &format!("{STAGE}\n{before}\n{script}\n{after}")])
        .env("stage", &stage)
        .env("home", &home)
        .output()
        .unwrap()
}

fn install(stage: &Path) {
    let status = Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/mount-helpers/install.sh"))
        .env("PROGRAM", env!("CARGO_BIN_EXE_augurfs"))
        .env("DESTDIR", stage)
        .status();
    assert!(status.unwrap().success());
}

fn works(section: &str, before: &str, after: &str) {
    let output = run(before, &shell(section), after);
    assert!(output.status.success(), "{section}:\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_quick_start_works() {
    works("Quick start", "", "test -s /usr/local/share/man/man1/augurfs.1; ls /var/lib/augurfs/*.model");
}

#[test]
fn a_user_without_root_can_mount() {
    // The places belong to the user, who has no rights beyond them.
    let before = "chown -R nobody $home\n\
                  asuser() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME=$home XDG_RUNTIME_DIR= \"$@\"; }\n\
                  augurfs() { asuser /usr/local/bin/augurfs \"$@\"; }";
    works("Without root", before, "ls $home/.local/state/augurfs/*.model");
}

#[test]
fn a_mount_in_namespaces_of_its_own_works() {
    works("In a container", "echo text > $home/src/file", "! findmnt $home/mnt");
}

#[test]
fn every_question_is_answered_by_commands_that_work() {
    works("Questions", "augurfs /srv/data /mnt/data\ncat /mnt/data/file", "! findmnt /mnt/data");
}

/// The lines of a section that stand in code of their own and begin with our name, in order.
fn indented(section: &str) -> String {
    let text = README.split("\n## ").find(|text| text.starts_with(section)).expect("the section is there");
    let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
    let ours: Vec<_> =
        lines.filter(|line| line.starts_with("augurfs ") || line.starts_with("sudo augurfs ")).collect();
    assert!(!ours.is_empty(), "{section} has no lines");
    ours.join("\n")
}

#[test]
fn what_is_shown_of_traces_works() {
    let script = indented("Traces").replace("--for 5min", "--for 1s");
    assert!(script.contains("--for 1s"), "nobody waits for five minutes");
    let before = "augurfs /usr/share/doc /mnt/doc\ncd $home\n(sleep 0.3; cat /mnt/doc/a/1) &";
    let output = run(
        &format!("mkdir /mnt/doc\n{before}"),
        &script,
        "wait\naugurfs unmount /mnt/doc\ntest -s doc.trace",
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_shown_of_simulations_prints_what_is_shown() {
    for section in ["Simulation", "A page cache of its own"] {
        let output = run("", &indented(section), "");
        assert!(output.status.success(), "{section}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{section}");
    }
}

/// The line of fstab and the file of defaults, as they stand there.
#[test]
fn the_line_of_fstab_and_the_section_of_the_file_work() {
    let line = README.lines().find_map(|line| line.strip_prefix("    /srv/data  ")).expect("a line of fstab");
    let conf: Vec<_> = README
        .lines()
        .skip_while(|line| *line != "    budget = 1G")
        .map_while(|line| line.strip_prefix("    "))
        .collect();
    assert_eq!(conf.len(), 3, "{conf:?}");
    let script = format!(
        "mkdir -p /mnt/doc $home/etc\nprintf '%s\\n' '/srv/data  {line}' > $home/fstab\n\
         printf '%s\\n' '{}' > $home/etc/augurfs.conf\n\
         mount -t overlay overlay -o lowerdir=$home/etc:/etc /etc\n\
         mount -a -T $home/fstab\ngrep old /mnt/data/file\numount /mnt/data\n\
         augurfs - /mnt/doc\ngrep licence /mnt/doc/a/1\naugurfs unmount /mnt/doc",
        conf.join("' '")
    );
    let output = run("", &script, "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Whatever else stands in code and begins with our name is understood by the parser.
#[test]
fn every_command_named_is_known() {
    let help = Command::new(env!("CARGO_BIN_EXE_augurfs")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let mut seen = 0;
    for (at, _) in README.match_indices("augurfs ") {
        let before = &README[..at];
        if !before.ends_with('`') && !before.ends_with("sudo ") && !before.ends_with("    ") {
            continue;
        }
        let word: String = README[at + 8..].chars().take_while(|c| c.is_ascii_lowercase()).collect();
        if !word.is_empty() {
            seen += 1;
            assert!(commands.contains(&word.as_str()), "augurfs {word} is no command");
        }
    }
    assert!(seen > 20, "{seen}");
}
