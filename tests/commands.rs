//! Commands on a mount that is up: what they change, and what they say.
//!
//! Needs root, /dev/fuse and tmux.
#![allow(clippy::unwrap_used)]

mod hand;
mod mount;

use mount::process::{Running, output_within, sh};
use mount::scratch::Scratch;
use mount::{Mount, PATHS, PATIENCE, augurfs, wait_for};
use rustix::process::Signal;
use std::fs;
use std::process::Command;

/// A tree of some files that has been read once through a mount.
fn learned(path: &str) -> (Scratch, Mount) {
    let scratch = Scratch::new();
    for name in ["a/one", "a/two", "b/three"] {
        scratch.write(name, vec![b'x'; 10_000]);
    }
    let mount = scratch.mount(path).start();
    sh(mount.point(), "cat a/one a/two b/three > /dev/null");
    // What was read is looked at a moment later.
    wait_for("three files known", || {
        (run(&mount, &["warm"], &["--dry-run"]).starts_with("3 files")).then_some(())
    });
    (scratch, mount)
}

/// What a command says of a mount.
fn run(mount: &Mount, command: &[&str], words: &[&str]) -> String {
    let output = output_within(augurfs().args(command).arg(mount.point()).args(words), PATIENCE);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?} {words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The sentence a command refuses with.
fn refusal(mount: &Mount, command: &[&str], words: &[&str]) -> String {
    refusal_with(1, mount, command, words)
}

fn refusal_with(code: i32, mount: &Mount, command: &[&str], words: &[&str]) -> String {
    let output = output_within(augurfs().args(command).arg(mount.point()).args(words), PATIENCE);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_known_can_be_warmed() {
    for path in PATHS {
        let (_scratch, mount) = learned(path);
        fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
        assert_eq!(
            run(&mount, &["warm"], &["a", "--dry-run"]),
            "2 files, 19.5K, are known and would be looked at\n"
        );
        let below = mount.join("b");
        assert!(run(&mount, &["warm"], &[below.to_str().unwrap(), "--dry-run"]).starts_with("1 file, "));
        assert!(run(&mount, &["warm"], &["--program", "cat", "--dry-run"]).starts_with("3 files, "));
        assert!(refusal(&mount, &["warm"], &["--program", "emacs"]).contains("no program called emacs"));
        assert!(refusal(&mount, &["warm"], &["/etc"]).contains("/etc is not below"));
        let said = run(&mount, &["warm"], &[]);
        assert!(said.contains("0 have gone or may not be read"), "{said}");
        assert!(
            run(&mount, &["warm"], &[]).starts_with("0 files warmed, 0 from the source; 3 were in memory")
        );
    }
}

#[test]
fn prefetching_pauses_and_options_change_while_mounted() {
    let (_scratch, mount) = learned("plain");
    run(&mount, &["pause"], &[]);
    assert_eq!(mount.stats()["prefetching"]["active"], false);
    let told = run(&mount, &["set"], &["budget=64M,join_wait=50ms", "save_interval=1h"]);
    assert_eq!(told, "prefetch=off, budget=64M, join_wait=50ms, save_interval=1h\n");
    for (options, why) in [
        ("path=plain", "option 'path' cannot change while mounted"),
        ("nofail", "option 'nofail' cannot change while mounted"),
        ("budget=1", "out of range"),
        ("bugdet=1G", "did you mean 'budget'?"),
        ("", "no option is named"),
    ] {
        let said = refusal_with(2, &mount, &["set"], &[options]);
        assert!(said.starts_with("augurfs: nothing is changed: ") && said.contains(why), "{said}");
    }
    run(&mount, &["resume"], &[]);
    assert_eq!(mount.stats()["prefetching"]["active"], true);
    wait_for("the engine has the budget", || (mount.count("/memory/budget_bytes") == 64 << 20).then_some(()));
}

#[test]
fn signals_reload_the_defaults_and_log_the_statistics() {
    let scratch = Scratch::new();
    let file = scratch.join("augurfs.conf");
    fs::write(&file, "budget = 2M\n").unwrap();
    let mount = scratch.mount("plain").option(&format!("config={}", file.display())).start();
    assert_eq!(mount.count("/memory/budget_bytes"), 2 << 20);
    fs::write(&file, "budget = 4M\n").unwrap();
    mount.signal(Signal::HUP);
    wait_for("the new budget", || (mount.count("/memory/budget_bytes") == 4 << 20).then_some(()));
    fs::write(&file, "budget = soon\n").unwrap();
    mount.signal(Signal::HUP);
    wait_for("a complaint", || mount.said().contains("line 1: budget=soon cannot be read").then_some(()));
    assert_eq!(mount.count("/memory/budget_bytes"), 4 << 20);
    mount.signal(Signal::USR1);
    wait_for("statistics", || mount.said().contains("opens 0 (hit 0, partial 0, miss 0)").then_some(()));
}

#[test]
fn a_report_is_one_page() {
    let (scratch, mount) = learned("plain");
    let page = scratch.join("page.html");
    run(&mount, &["report"], &["--html", page.to_str().unwrap()]);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("<td>cat</td><td>3</td>"), "{text}");
    assert_eq!(run(&mount, &["report"], &["--html", "-"]).lines().next(), Some("<!doctype html>"));
}

#[test]
fn statistics_come_in_every_form_and_again_until_the_mount_goes() {
    let (_scratch, mut mount) = learned("plain");
    assert!(run(&mount, &["stats"], &[]).starts_with("On?     yes"));
    assert!(run(&mount, &["stats"], &["--color", "always"]).starts_with("\u{1b}[32mOn?     yes"));
    assert!(run(&mount, &["stats"], &["--prometheus"]).contains("\naugurfs_opens_total{"));
    let out = tempfile::NamedTempFile::new().unwrap();
    let mut watch = augurfs();
    watch.arg("stats").arg(mount.point()).args(["--watch", "1"]).stdout(out.reopen().unwrap());
    let mut watch = Running::start(&mut watch);
    let times = || fs::read_to_string(out.path()).unwrap().matches("On?").count();
    wait_for("two reports", || (times() >= 2).then_some(()));
    mount.unmount();
    let status = wait_for("the end", || watch.0.try_wait().unwrap());
    assert!(status.success());
}

#[test]
fn top_shows_the_mount_on_a_terminal_and_gives_it_back() {
    let (scratch, mount) = learned("plain");
    assert!(refusal(&mount, &["top"], &[]).contains("top needs a terminal"));
    let socket = scratch.join("tmux");
    let tmux = |words: &[&str]| {
        let output = output_within(Command::new("tmux").arg("-S").arg(&socket).args(words), PATIENCE);
        String::from_utf8(output.stdout).unwrap()
    };
    let command = format!(
        "{} top {}; echo status $?; read line",
        env!("CARGO_BIN_EXE_augurfs"),
        mount.point().display()
    );
    tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", &command]);
    let shows = |word: &str| wait_for(word, || tmux(&["capture-pane", "-p"]).contains(word).then_some(()));
    shows("Wrong?");
    shows("cat");
    tmux(&["send-keys", "h"]);
    shows("this help");
    tmux(&["send-keys", "p"]);
    shows("it is paused");
    assert_eq!(mount.stats()["prefetching"]["active"], false);
    tmux(&["send-keys", "q"]);
    shows("status 0");
    tmux(&["kill-server"]);
}

#[test]
fn a_busy_mount_is_detached_when_that_is_asked_for() {
    let (_scratch, mut mount) = learned("plain");
    let user = Running::script(mount.point(), "echo ready; read line");
    assert!(refusal(&mount, &["unmount"], &[]).contains("is busy: used by sh"));
    let output = output_within(augurfs().arg("unmount").arg("--lazy").arg(mount.point()), PATIENCE);
    assert!(!mount.is_mounted(), "{output:?}");
    drop(user);
    mount.wait_for_end();
}

#[test]
fn a_mount_that_somebody_else_made_is_served() {
    let scratch = Scratch::new();
    scratch.write("file", "content\n");
    let mut device = hand::HandMount::new(&scratch.point());
    let refused = output_within(augurfs().arg(scratch.source()).arg("/dev/fd/2"), PATIENCE);
    assert_eq!(refused.status.code(), Some(32));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("/dev/fd/2 is no open /dev/fuse"));
    let mut daemon = augurfs();
    daemon.arg(scratch.source()).args(["/dev/fd/0", "-f", "-o", "model=none"]).stdin(device.give());
    let mut daemon = Running::start(&mut daemon);
    // It no longer has our end either: when it has gone, so has the connection.
    let answers = || output_within(augurfs().arg("stats").arg(scratch.point()), PATIENCE).status.success();
    wait_for("the mount", || answers().then_some(()));
    assert_eq!(fs::read_to_string(scratch.point().join("file")).unwrap(), "content\n");
    let output = output_within(augurfs().arg("unmount").arg(scratch.point()), PATIENCE);
    assert!(output.status.success(), "{output:?}");
    assert!(wait_for("its end", || daemon.0.try_wait().unwrap()).success());
}
