//! What was saved is told, and held together by its parts.

use crate::mount::image::drop_caches;
use crate::mount::stage::{FILES, Stage, order};
use crate::mount::wait_for;

const FEW: usize = 5;

#[test]
fn what_was_saved_follows_from_what_was_waited_for() {
    let stage = Stage::new();
    let order = order();
    let mount = stage.mount("resident", "default").start();
    stage.run(&mount, &order);
    let first = mount.stats();
    let number =
        |stats: &serde_json::Value, name: &str| stats["restraint"]["savings"][name].as_u64().unwrap();
    // Some are brought by the walk that the run looks like; most had to be waited for.
    let unhelped = number(&first, "unhelped_files");
    assert!(unhelped >= 8 && unhelped <= FILES as u64, "{first}");
    assert!(number(&first, "waited_us") > 0);

    drop_caches();
    let job = stage.begin(&mount, &order[..FEW]);
    wait_for("all files", || (mount.count("/prefetch/files") >= (FILES - 2 * FEW) as u64).then_some(()));
    stage.run(&mount, &order[FEW..]);
    job.finish();
    let helped = || mount.count("/restraint/savings/helped_files");
    wait_for("their use", || (helped() > FILES as u64 / 2).then_some(()));
    let stats = mount.stats();
    assert_eq!(number(&stats, "helped_files"), stats["prefetch"]["files_in_time"].as_u64().unwrap());
    assert!(number(&stats, "runs") >= 1, "{stats}");
    let each = number(&stats, "waited_us") / number(&stats, "unhelped_files");
    // On a source that is found fast nothing is claimed, and this machine's may be.
    let fast = stats["restraint"]["savings"]["fast"].as_bool().unwrap();
    let expected = if fast { 0 } else { each * number(&stats, "helped_files") };
    assert_eq!(number(&stats, "saved_us"), expected, "{stats}");
    assert_eq!(number(&stats, "held_back_files"), 0, "nothing is held back before it has shown to be of use");
}
