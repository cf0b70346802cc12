//! Files far ahead and near ahead are brought.

use std::time::Duration;

use crate::mount::image::drop_caches;
use crate::mount::stage::{Eye, FILES, Stage, order};
use crate::mount::{Mount, PATHS, wait_for};

/// How many files the second run reads before it waits.
const FEW: usize = 5;
/// How far ahead a file has to be brought.
const FAR: usize = 200;

fn count(stats: &serde_json::Value, path: &str) -> u64 {
    stats.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or_else(|| panic!("{path} in {stats}"))
}

/// Waits until exactly so many opens have been told of.
fn await_opens(mount: &Mount, opens: usize) {
    wait_for(&format!("{opens} opens"), || (mount.count("/opens/total") >= opens as u64).then_some(()));
    let stats = mount.stats();
    assert_eq!(count(&stats, "/opens/total"), opens as u64, "{stats}");
    assert_eq!(count(&stats, "/events/lost"), 0, "{stats}");
}

/// Every file that was brought has had exactly one fate, or still waits for it.
fn assert_accounted(mount: &Mount) {
    let stats = mount.stats();
    let fate = |name: &str| count(&stats, &format!("/prefetch/{name}"));
    let fates = fate("files_in_time") + fate("files_late") + fate("files_wasted") + fate("files_waiting");
    assert_eq!(fates, fate("files"), "{stats}");
    let bytes = fate("used_bytes") + fate("late_bytes") + fate("wasted_bytes");
    assert!(bytes <= fate("bytes"), "{stats}");
}

#[test]
fn the_second_run_finds_files_far_ahead_in_memory() {
    for path in PATHS {
        let stage = Stage::new();
        let mut mount = stage.mount(path, "default").start();
        let order = order();
        stage.run(&mount, &order);
        await_opens(&mount, FILES);
        drop_caches();
        let eye = Eye::on(&mount, path);
        assert!(!stage.touched(&eye, &order[FAR]), "{path}: in memory though the caches are empty");
        let job = stage.begin(&mount, &order[..FEW]);
        wait_for(&format!("a file far ahead on {path}"), || stage.resident(&eye, &order[FAR]).then_some(()));
        // Counted, not looked for: the machine may take memory back meanwhile.
        wait_for(&format!("all files on {path}"), || {
            (count(&mount.stats(), "/prefetch/files") >= (FILES - 2 * FEW) as u64).then_some(())
        });
        drop(eye);
        job.finish();
        let stats = mount.stats();
        assert!(count(&stats, "/prefetch/files") >= (FILES - 2 * FEW) as u64, "{path}: {stats}");
        assert_accounted(&mount);
        mount.unmount();
    }
}

#[test]
fn a_whole_second_run_hits_what_was_brought() {
    for path in PATHS {
        let stage = Stage::new();
        let mount = stage.mount(path, "default").start();
        let order = order();
        stage.run(&mount, &order);
        drop_caches();
        let before = mount.stats();
        let job = stage.begin(&mount, &order[..FEW]);
        let eye = Eye::on(&mount, path);
        // Counted, not looked for: the machine may take memory back meanwhile.
        wait_for(&format!("all files on {path}"), || {
            (count(&mount.stats(), "/prefetch/files") >= (FILES - 2 * FEW) as u64).then_some(())
        });
        // Whoever reads them now finds them there.
        stage.run(&mount, &order[FEW..]);
        let hits = |stats: &serde_json::Value| count(stats, "/opens/hit") + count(stats, "/opens/partial");
        wait_for(&format!("the opens of the second run on {path}"), || {
            let now = mount.stats();
            let seen = count(&now, "/opens/total") >= 2 * FILES as u64;
            (seen && hits(&now) >= hits(&before) + (FILES / 2) as u64).then_some(())
        });
        drop(eye);
        job.finish();
        let stats = mount.stats();
        assert!(count(&stats, "/prefetch/files_in_time") > (FILES / 2) as u64, "{path}: {stats}");
        assert_accounted(&mount);
    }
}

#[test]
fn without_a_predictor_nothing_is_brought() {
    for path in PATHS {
        let stage = Stage::new();
        let mount = stage.mount(path, "none").start();
        let order = order();
        stage.run(&mount, &order);
        drop_caches();
        let job = stage.begin(&mount, &order[..FEW]);
        await_opens(&mount, FILES + FEW);
        // Longer than a predictor needs in the other tests; if it were too short, they would fail.
        std::thread::sleep(Duration::from_millis(500));
        let eye = Eye::on(&mount, path);
        for file in &order[FEW..] {
            assert!(!stage.touched(&eye, file), "{file} on {path}");
        }
        drop(eye);
        job.finish();
        assert_eq!(count(&mount.stats(), "/prefetch/files"), 0, "{path}");
    }
}

#[test]
fn pcm_brings_the_next_file() {
    for path in PATHS {
        let stage = Stage::new();
        let mount = stage.mount(path, "pcm:32/2/0.3").start();
        let order = order();
        stage.run(&mount, &order);
        drop_caches();
        let eye = Eye::on(&mount, path);
        let job = stage.begin(&mount, &order[..FEW]);
        wait_for(&format!("the next file on {path}"), || stage.resident(&eye, &order[FEW]).then_some(()));
        assert!(!stage.touched(&eye, &order[FAR]), "{path}: this model does not see so far");
        drop(eye);
        job.finish();
        assert_accounted(&mount);
    }
}
