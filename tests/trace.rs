//! A mount that is recorded: what its trace tells, and that a replay asks for what the mount asked for.
//!
//! Needs root, /dev/fuse and loop devices.
#![allow(clippy::unwrap_used)]

mod mount;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use augurfs::trace::{self, Ending, Start, Tail};
use mount::image::drop_caches;
use mount::process::{Running, output_within};
use mount::stage::{FILES, Stage, order};
use mount::{PATIENCE, augurfs, wait_for};
use rustix::process::{Pid, Signal, kill_process};

fn told(arguments: &[&str], path: &Path) -> Output {
    output_within(augurfs().args(arguments).arg(path), PATIENCE)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn a_mount_recorded_from_the_start_replays_to_the_same_effects() {
    for path in mount::PATHS {
        let stage = Stage::new();
        let (order, file) = (order(), stage.beside("trace"));
        let option = format!("record={}", file.display());
        let mut mount = stage.mount(path, "default").option(&option).start();
        stage.run(&mount, &order);
        wait_for("all opens", || (mount.count("/opens/total") >= FILES as u64).then_some(()));
        drop_caches();
        let job = stage.begin(&mount, &order[..4]);
        wait_for(&format!("files to be brought on {path}"), || {
            (mount.count("/prefetch/files") > 20).then_some(())
        });
        job.finish();
        mount.unmount();
        assert_eq!(mount.said(), "", "{path}");

        let replayed = trace::replay(trace::open(&file).unwrap()).unwrap();
        assert_eq!(replayed.first, None, "{path}");
        assert_eq!((replayed.start, replayed.tail), (Start::Birth, Some(Tail::Ended(Ending::Complete))));
        assert!(replayed.effects > FILES as u64, "{path}: {replayed:?}");
        let checked = told(&["trace", "check"], &file);
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
        assert!(text(&checked).contains("the replay asked for the same"), "{}", text(&checked));
        let shown = text(&told(&["trace", "show"], &file));
        for name in &order {
            assert!(shown.contains(&format!("  open  {name}")), "{path}: {name} was opened");
        }
        let ahead = order.iter().filter(|name| shown.contains(&format!("  {name}  data"))).count();
        assert!(ahead > 20, "{path}: {ahead} files were fetched ahead");
        let summary = text(&told(&["trace", "show", "--summary", "--json"], &file));
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let opens = summary["programs"].as_object().unwrap().iter().find(|(name, _)| name.ends_with("cat"));
        assert!(opens.unwrap().1["open"].as_u64() >= Some(FILES as u64), "{path}: {summary}");
    }
}

#[test]
fn a_running_mount_is_recorded_until_a_signal() {
    let stage = Stage::new();
    let (order, file) = (order(), stage.beside("trace"));
    let mut mount = stage.mount("resident", "default").start();
    stage.run(&mount, &order[..50]);
    let mut command = augurfs();
    command.args(["trace", "record", "--hash-names"]).arg(mount.point()).arg(&file);
    let mut recording = Running::start(command.stdout(Stdio::null()));
    wait_for("the recording to begin", || fs::metadata(&file).is_ok_and(|it| it.len() > 12).then_some(()));
    let second = output_within(
        augurfs().args(["trace", "record"]).arg(mount.point()).arg(stage.beside("second")),
        PATIENCE,
    );
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second).contains("a recording is under way already"), "{}", text(&second));
    let inside = output_within(
        augurfs().args(["trace", "record"]).arg(mount.point()).arg(mount.join("trace")),
        PATIENCE,
    );
    assert!(text(&inside).contains("lies on the mount that is to be recorded"), "{}", text(&inside));
    let before = mount.count("/opens/total");
    stage.run(&mount, &order[50..]);
    let expected = before + FILES as u64 - 50;
    wait_for("all opens", || (mount.count("/opens/total") >= expected).then_some(()));
    let pid = Pid::from_raw(recording.0.id() as i32).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = wait_for("the end of the recording", || recording.0.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));

    let replayed = trace::replay(trace::open(&file).unwrap()).unwrap();
    assert_eq!((replayed.start, replayed.tail), (Start::Midlife, Some(Tail::Ended(Ending::Complete))));
    assert!(replayed.steps >= FILES as u64 - 50, "{replayed:?}");
    let shown = text(&told(&["trace", "show"], &file));
    assert!(!shown.contains("file-") && !shown.contains("cat["), "{shown}");
    // It began in the middle: a replay may differ, and is said to.
    let checked = told(&["trace", "check"], &file);
    assert_eq!(checked.status.code(), Some(i32::from(replayed.differing > 0)), "{}", text(&checked));
    // And once more, for a time: the daemon is ready for it.
    let again = stage.beside("again");
    let mut command = augurfs();
    command.args(["trace", "record", "--for", "200ms"]).arg(mount.point()).arg(&again);
    assert_eq!(output_within(&mut command, PATIENCE).status.code(), Some(0));
    mount.unmount();
    assert_eq!(mount.said(), "");
}

#[test]
fn a_recording_ends_with_its_mount() {
    let stage = Stage::new();
    let file = stage.beside("trace");
    let mut mount = stage.mount("plain", "default").start();
    let mut command = augurfs();
    command.args(["trace", "record"]).arg(mount.point()).arg(&file).stdout(Stdio::null());
    let mut recording = Running::start(&mut command);
    wait_for("the recording to begin", || fs::metadata(&file).is_ok_and(|it| it.len() > 12).then_some(()));
    mount.unmount();
    let ended = wait_for("the end of the recording", || recording.0.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_place_that_cannot_be_recorded_into_is_told_before_anything_is_mounted() {
    let stage = Stage::new();
    let refusal = stage.mount("plain", "default").option("record=/dev/null").try_start().unwrap_err();
    assert_eq!(refusal.code, Some(32));
    assert!(
        refusal.said.contains("trace file /dev/null cannot be written: not a regular file"),
        "{}",
        refusal.said
    );
}

/// Needs no mount: a table goes in, lines come out, and whoever reads only the first is no trouble.
#[test]
fn imports_are_shown_and_heads_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (table, out) = (dir.path().join("in.tsv"), dir.path().join("out.trace"));
    let rows: String = (0..20_000).map(|number| format!("7\tmake\tsrc/{number}.c\n")).collect();
    fs::write(&table, rows).unwrap();
    let import = |from: &Path| {
        let mut command = augurfs();
        output_within(command.args(["trace", "import", "--from", "tsv"]).arg(from).arg(&out), PATIENCE)
    };
    let imported = import(&table);
    assert_eq!(text(&imported), "20000 accesses by 1 processes, 20001 names; 0 left out\n");
    let size = fs::metadata(&out).unwrap().len();
    assert!(size < 20_000 * 24, "an access and its name in {} bytes", size / 20_000);
    let script = format!("{} trace show {} | head -n 2", env!("CARGO_BIN_EXE_augurfs"), out.display());
    let cut = output_within(Command::new("sh").args(["-c", &script]), PATIENCE);
    assert_eq!(text(&cut).lines().count(), 2, "{}", text(&cut));

    let before = fs::read(&out).unwrap();
    fs::write(&table, "7\tmake\tx\nno process\n").unwrap();
    let refused = import(&table);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused).contains("line 2, column 11: expected a tab behind the process"),
        "{}",
        text(&refused)
    );
    assert_eq!(fs::read(&out).unwrap(), before, "what was there stays");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);

    let copy = dir.path().join("copy");
    let mut command = augurfs();
    command.args(["trace", "anonymise"]).arg(&out).arg(&copy);
    assert_eq!(output_within(&mut command, PATIENCE).status.code(), Some(0));
    let shown = text(&told(&["trace", "show"], &copy));
    assert!(shown.lines().count() > 20_000 && !shown.contains("make") && !shown.contains("src"), "{shown}");
    fs::write(&copy, &before[..before.len() / 2]).unwrap();
    let torn = text(&told(&["trace", "show"], &copy));
    assert!(torn.contains("the trace is torn off at byte"), "{torn}");
}
