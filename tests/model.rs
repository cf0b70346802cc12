//! What was learned outlives the mount, and nothing that has become of the model file keeps anybody from mounting.
//!
//! Needs root, /dev/fuse and loop devices.
#![allow(clippy::unwrap_used)]

mod mount;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use augurfs::sys::mountinfo;
use mount::image::drop_caches;
use mount::process::output_within;
use mount::scratch::Scratch;
use mount::stage::{FILES, Stage, order};
use mount::{Mount, PATIENCE, augurfs, wait_for};
use rustix::process::Signal;

/// How many files a run reads before it waits.
const FEW: usize = 5;

/// What lies beside the model and is named after it, but for the file by which daemons keep out of each other's way.
fn neighbours(model: &Path) -> Vec<String> {
    let name = model.file_name().unwrap().to_str().unwrap().to_owned();
    let entries = fs::read_dir(model.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|other| other.starts_with(&name) && *other != name && !other.ends_with(".lock"));
    names.sort();
    names
}

fn learned(mount: &Mount) -> u64 {
    mount.count("/predictor/files")
}

#[test]
fn what_one_mount_learned_the_next_one_knows() {
    for path in mount::PATHS {
        let stage = Stage::new();
        let (model, order) = (stage.beside("model"), order());
        let mut first = stage.mount(path, "default").model(&model).start();
        stage.run(&first, &order);
        wait_for("all opens", || (first.count("/opens/total") >= FILES as u64).then_some(()));
        first.unmount();
        assert_eq!(fs::metadata(&model).unwrap().permissions().mode() & 0o7777, 0o600, "{path}");
        assert_eq!(neighbours(&model), Vec::<String>::new(), "{path}");
        drop_caches();
        let second = stage.mount(path, "default").model(&model).start();
        assert_eq!(second.said(), "", "{path}");
        assert!(learned(&second) >= FILES as u64, "{path}: {}", second.stats());
        let job = stage.begin(&second, &order[..FEW]);
        // What is asked for, as some of it may be in memory, and the machine may take pages away at any time.
        wait_for(&format!("files that this mount has never seen, on {path}"), || {
            (second.count("/prefetch/jobs") >= FILES as u64).then_some(())
        });
        job.finish();
    }
}

#[test]
fn a_model_of_another_predictor_is_no_obstacle() {
    let stage = Stage::new();
    let (model, order) = (stage.beside("model"), order());
    for predictor in ["default", "pcm:32/2/0.3", "none", "default"] {
        let mut mount = stage.mount("resident", predictor).model(&model).start();
        stage.run(&mount, &order[..20]);
        wait_for("all opens", || (mount.count("/opens/total") >= 20).then_some(()));
        assert_eq!(mount.said(), "", "{predictor}");
        mount.unmount();
        // Another predictor's history may be kept beside it; nothing is taken for damaged.
        let damaged = neighbours(&model).into_iter().filter(|name| name.contains("damaged"));
        assert_eq!(damaged.collect::<Vec<_>>(), Vec::<String>::new(), "{predictor}");
    }
}

/// A source that is learned from by reading it once.
struct Small {
    scratch: Scratch,
}

impl Small {
    const FILES: u64 = 12;

    fn new() -> Self {
        let scratch = Scratch::new();
        for number in 0..Self::FILES {
            scratch.write(&format!("file-{number}"), "text");
        }
        Small { scratch }
    }

    fn model(&self) -> PathBuf {
        self.scratch.join("model")
    }

    fn mount(&self) -> Mount {
        self.scratch.mount("resident").model(&self.model()).start()
    }

    /// Mounts and reads every file; it has been learned when this returns.
    fn trained(&self) -> Mount {
        let mount = self.mount();
        for number in 0..Self::FILES {
            mount::process::sh(mount.point(), &format!("cat file-{number}"));
        }
        wait_for("all opens", || (mount.count("/opens/total") >= Self::FILES).then_some(()));
        mount
    }
}

#[test]
fn a_signal_unmounts_and_saves() {
    for signal in [Signal::TERM, Signal::INT] {
        let small = Small::new();
        let mut mount = small.trained();
        fs::write(mount.join("new"), "written just before").unwrap();
        mount.signal(signal);
        let status = mount.wait_for_end();
        assert!(status.success(), "{signal:?}: {status:?}");
        assert!(!mount.is_mounted(), "{signal:?}");
        assert_eq!(fs::read_to_string(small.scratch.source().join("new")).unwrap(), "written just before");
        assert_eq!(mount.said(), "", "{signal:?}");
        let again = small.mount();
        assert!(learned(&again) >= Small::FILES, "{signal:?}: {}", again.stats());
    }
}

#[test]
fn a_wish_saves_and_goes_on() {
    let small = Small::new();
    let mount = small.trained();
    assert!(!small.model().exists());
    mount.signal(Signal::USR1);
    wait_for("the model", || small.model().exists().then_some(()));
    assert_eq!(fs::read_to_string(mount.join("file-1")).unwrap(), "text");
}

#[test]
fn a_damaged_model_is_set_aside_with_one_warning() {
    let small = Small::new();
    small.trained().unmount();
    let good = fs::read(small.model()).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let damages = [
        ("empty", Vec::new()),
        ("cut in half", good[..good.len() / 2].to_vec()),
        ("cut by a byte", good[..good.len() - 1].to_vec()),
        ("flipped at the start", flipped(3)),
        ("flipped in the middle", flipped(good.len() / 2)),
        ("flipped at the end", flipped(good.len() - 1)),
        ("foreign", b"PK\x03\x04 and what else is in such a file".to_vec()),
        ("longer", [good.clone(), vec![0; 100]].concat()),
    ];
    for (number, (what, bytes)) in damages.iter().enumerate() {
        fs::write(small.model(), bytes).unwrap();
        let mut mount = small.mount();
        assert_eq!(learned(&mount), 0, "{what}");
        let said = mount.said();
        assert_eq!(said.lines().count(), 1, "{what}: {said}");
        assert!(said.starts_with("augurfs: ") && said.contains("model"), "{what}: {said}");
        assert_eq!(neighbours(&small.model()).len(), number + 1, "{what}: {:?}", neighbours(&small.model()));
        assert_eq!(fs::read_to_string(mount.join("file-1")).unwrap(), "text", "{what}");
        mount.unmount();
        let aside = format!("model.damaged-{}", number + 1);
        assert_eq!(&fs::read(small.scratch.join(aside)).unwrap(), bytes, "{what}: kept as it was");
    }
    // What is there now is good again.
    let mount = small.mount();
    assert_eq!(mount.said(), "");
}

#[test]
fn without_a_model_nothing_is_written() {
    let scratch = Scratch::new();
    scratch.write("file", "text");
    let mut mount = scratch.mount("resident").option("save_interval=1s").start();
    assert_eq!(fs::read_to_string(mount.join("file")).unwrap(), "text");
    assert_eq!(mount.stats()["model"]["path"], serde_json::Value::Null);
    mount.signal(Signal::USR1);
    mount.unmount();
    // The statistics that were asked for, and no complaint.
    let said = mount.said();
    assert!(said.lines().all(|line| line.starts_with("augurfs: opens ")), "{said}");
}

#[test]
fn a_model_that_cannot_be_written_is_refused_before_mounting() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    fs::write(&file, "").unwrap();
    let directory = scratch.join("directory");
    fs::create_dir(&directory).unwrap();
    for model in [file.join("model"), directory, PathBuf::from("/proc/model")] {
        let refusal = scratch.mount("plain").model(&model).try_start().err();
        let refusal = refusal.unwrap_or_else(|| panic!("{} was accepted", model.display()));
        assert_eq!(refusal.code, Some(32), "{refusal:?}");
        assert_eq!(refusal.said.lines().count(), 1, "{refusal:?}");
        assert_eq!(mountinfo::at(&scratch.point()).unwrap(), None);
    }
}

/// What the statistics say is wrong, in words and in JSON.
fn wrong(mount: &Mount) -> String {
    let output = output_within(augurfs().arg("stats").arg(mount.point()), PATIENCE);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("Wrong?")).unwrap().to_owned();
    let told = mount.stats()["model"]["faults"].to_string();
    assert_eq!(line == "Wrong?  nothing.", told == "[]", "{line} {told}");
    line
}

#[test]
fn a_model_that_cannot_be_saved_is_told_by_statistics_and_unmount() {
    let small = Small::new();
    let directory = small.scratch.join("models");
    fs::create_dir(&directory).unwrap();
    let mut mount = small.scratch.mount("plain").model(&directory.join("model")).start();
    mount::process::sh(mount.point(), "cat file-1");
    assert_eq!(wrong(&mount), "Wrong?  nothing.");
    fs::remove_dir_all(&directory).unwrap();
    mount.signal(Signal::USR1);
    wait_for("a save that fails", || mount.said().contains("cannot be written").then_some(()));
    assert!(wrong(&mount).contains("models/model: No such file or directory"), "{}", wrong(&mount));
    let output = mount.try_unmount();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is unmounted, but what it learned is not saved: the model cannot be"), "{said}");
    assert!(mount.wait_for_end().success());
}

#[test]
fn a_model_that_another_mount_uses_is_told_of_too() {
    let small = Small::new();
    let first = small.trained();
    let point = small.scratch.join("second");
    fs::create_dir(&point).unwrap();
    let mut second = Mount::of(&small.scratch.source(), &point).model(&small.model()).path("plain").start();
    assert!(wrong(&second).contains("another mount uses the model"), "{}", wrong(&second));
    assert_eq!(wrong(&first), "Wrong?  nothing.");
    let output = second.try_unmount();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    second.wait_for_end();
}

#[test]
fn a_damaged_model_stays_in_the_statistics() {
    let small = Small::new();
    fs::write(small.model(), "no model").unwrap();
    let mut mount = small.mount();
    assert!(wrong(&mount).contains("not a model file"), "{}", wrong(&mount));
    let output = mount.try_unmount();
    assert!(output.status.success(), "what this mount learned is saved: {output:?}");
    mount.wait_for_end();
}

#[test]
fn the_model_is_saved_from_time_to_time() {
    let small = Small::new();
    let mount = small.scratch.mount("resident").model(&small.model()).option("save_interval=1s").start();
    mount::process::sh(mount.point(), "cat file-*");
    wait_for("the first save", || small.model().exists().then_some(()));
    wait_for("the time of it", || mount.stats()["model"]["saved_at"].as_u64());
}
