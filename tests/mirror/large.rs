//! Many files, with few descriptors; large directories that change while they are listed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::mount::PATHS;
use crate::mount::process::output_within;
use crate::mount::scratch::Scratch;
use crate::mount::watchdog::Stop;

const FILES: usize = 50_000;
const IN_EACH: usize = 500;

fn tree(root: &Path) {
    for directory in 0..FILES / IN_EACH {
        let directory = root.join(format!("d{directory:03}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..IN_EACH {
            fs::write(directory.join(format!("f{file:03}")), if file % 100 == 0 { "text" } else { "" })
                .unwrap();
        }
    }
}

fn descriptors_of(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

/// Walks, stats and reads it all with a daemon that may have fewer descriptors than there are files.
#[test]
fn fifty_thousand_files_need_few_descriptors() {
    let scratch = Scratch::new();
    tree(&scratch.source());
    for (path, limit) in [("resident", 20_000), ("resident", 1_024), ("passthrough", 1_024)] {
        let mut mount = scratch.mount(path).descriptors(limit).start();
        let mut find = Command::new("find");
        find.arg(mount.point()).args(["-type", "f", "-printf", "%i %n %s\n"]);
        let output = output_within(&mut find, Duration::from_secs(60));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{path}, {limit}: {said}");
        let told = String::from_utf8(output.stdout).unwrap();
        let mut numbers: Vec<&str> = told.lines().collect();
        assert_eq!(numbers.len(), FILES, "{path}, {limit}");
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), FILES, "{path}, {limit}: each file has a number of its own");
        for directory in 0..FILES / IN_EACH {
            let text = fs::read_to_string(mount.join(format!("d{directory:03}/f100"))).unwrap();
            assert_eq!(text, "text", "{path}, {limit}");
        }
        let held = descriptors_of(mount.pid());
        assert!(held < 2_000 && held < limit as usize, "{path}, {limit}: {held} descriptors");
        mount.unmount();
    }
}

/// Every entry that is there all the time is listed once, whatever comes and goes meanwhile.
#[test]
fn a_directory_that_changes_is_listed_completely() {
    const STAYING: usize = 10_000;
    let scratch = Scratch::new();
    for number in 0..STAYING {
        scratch.write(&format!("stays-{number}"), "");
    }
    for path in PATHS {
        let mount = scratch.mount(path).start();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (name, place) in [("mount", mount.point().to_owned()), ("source", scratch.source())] {
                let done = &done;
                scope.spawn(move || {
                    for number in (0..200).cycle() {
                        let file = place.join(format!("comes-{name}-{number}"));
                        fs::write(&file, "").unwrap();
                        fs::remove_file(&file).unwrap();
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
            }
            let _stop = Stop(&done);
            for round in 0..6 {
                let mut times: HashMap<_, usize> = HashMap::new();
                for entry in fs::read_dir(mount.point()).unwrap() {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    *times.entry(name).or_default() += 1;
                }
                let staying = times.iter().filter(|(name, _)| name.starts_with("stays-"));
                let wrong: Vec<_> = staying.clone().filter(|(_, times)| **times != 1).take(3).collect();
                let count = staying.count();
                if count != STAYING || !wrong.is_empty() {
                    panic!("{path}, round {round}: {count} entries; more than once: {wrong:?}");
                }
            }
        });
    }
}
