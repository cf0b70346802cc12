//! A prediction that turns out false costs what it brought, and no more.

use crate::mount::image::drop_caches;
use crate::mount::stage::{FILES, Stage, order};
use crate::mount::{PATHS, wait_for};

#[test]
fn what_nobody_wants_is_given_up_and_told() {
    for path in PATHS {
        let stage = Stage::new();
        let mut mount = stage.mount(path, "default").start();
        let order = order();
        stage.run(&mount, &order[..FILES / 2]);
        drop_caches();
        let job = stage.begin(&mount, &order[..4]);
        wait_for(&format!("files to be brought on {path}"), || {
            (mount.count("/prefetch/files") > 20).then_some(())
        });
        job.finish();
        // The same program goes elsewhere, where nothing was learned.
        stage.run(&mount, &order[FILES / 2..]);
        wait_for(&format!("nothing to be under way on {path}"), || {
            let stats = mount.stats();
            let under_way = stats["prefetch"]["in_flight_bytes"].as_u64();
            (under_way == Some(0)).then_some(())
        });
        let brought = mount.count("/prefetch/files");
        stage.run(&mount, &order[FILES / 2..]);
        let stats = mount.stats();
        let fate = |name: &str| stats["prefetch"][name].as_u64().unwrap();
        assert!(brought <= FILES as u64 / 2, "{path}: {stats}");
        let fates = fate("files_in_time") + fate("files_late") + fate("files_wasted") + fate("files_waiting");
        assert_eq!(fates, fate("files"), "{path}: {stats}");
        assert!(
            fate("files_wasted") + fate("files_waiting") > 0,
            "{path}: nobody used what was brought: {stats}"
        );
        mount.unmount();
    }
}
