//! What a user may not read is not brought for that user, though others have read it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use crate::mount::image::drop_caches;
use crate::mount::process::{ALICE, BOB};
use crate::mount::stage::{Eye, Stage, order};
use crate::mount::{PATHS, wait_for};

const FEW: usize = 5;

#[test]
fn nothing_is_brought_for_who_may_not_read_it() {
    for path in PATHS {
        let stage = Stage::new();
        let order = order();
        let (private, public): (Vec<_>, Vec<_>) =
            order.iter().enumerate().skip(2 * FEW).partition(|(at, _)| at % 3 == 0);
        for (_, file) in &private {
            let file = stage.image.point().join(file);
            chown(&file, Some(ALICE), Some(ALICE)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let mount = stage.mount(path, "default").start();
        // Root reads all of it, so all of it is foreseen.
        stage.run(&mount, &order);

        drop_caches();
        let eye = Eye::on(&mount, path);
        let job = stage.begin_as(BOB, &mount, &order[..FEW]);
        let public: Vec<String> = public.into_iter().map(|(_, file)| file.clone()).collect();
        stage.await_all(&mount, &eye, &public);
        let forbidden = || mount.count("/restraint/dropped/forbidden") as usize;
        wait_for("the jobs to be dropped", || (forbidden() >= private.len()).then_some(()));
        for (_, file) in &private {
            assert!(
                !stage.touched(&eye, file),
                "{path}: {file} was brought for somebody who may not read it"
            );
        }
        job.finish();

        // Their owner gets them, so it was not for another reason that they did not come.
        stage.run(&mount, &order);
        drop_caches();
        let before = forbidden();
        let job = stage.begin_as(ALICE, &mount, &order[..FEW]);
        let theirs: Vec<String> = private.iter().map(|(_, file)| (*file).clone()).collect();
        stage.await_all(&mount, &eye, &theirs);
        assert_eq!(forbidden(), before, "{path}");
        drop(eye);
        job.finish();
    }
}

#[test]
fn a_directory_that_may_not_be_entered_hides_what_is_in_it() {
    let stage = Stage::new();
    let order = order();
    let mount = stage.mount("resident", "default").start();
    stage.run(&mount, &order);
    let closed = order[2 * FEW].split('/').next().unwrap().to_owned();
    fs::set_permissions(stage.image.point().join(&closed), fs::Permissions::from_mode(0o700)).unwrap();

    drop_caches();
    let eye = Eye::on(&mount, "resident");
    let inside = |file: &&String| file.starts_with(&format!("{closed}/"));
    let first: Vec<String> = order[..FEW].iter().filter(|file| !inside(file)).cloned().collect();
    let job = stage.begin_as(BOB, &mount, &first);
    let open: Vec<String> = order[2 * FEW..].iter().filter(|file| !inside(file)).cloned().collect();
    stage.await_all(&mount, &eye, &open);
    assert!(mount.count("/restraint/dropped/forbidden") > 0);
    for file in order.iter().filter(inside) {
        assert!(!stage.touched(&eye, file), "{file}");
    }
    drop(eye);
    job.finish();
}

#[test]
fn what_has_gone_is_dropped_and_counted() {
    let stage = Stage::new();
    let order = order();
    let mount = stage.mount("resident", "default").option("watch=off").start();
    stage.run(&mount, &order);
    drop_caches();
    // Behind the mount's back.
    let gone: Vec<&String> = order[2 * FEW..].iter().step_by(4).collect();
    for (at, file) in gone.iter().enumerate() {
        let file = stage.image.point().join(file);
        fs::remove_file(&file).unwrap();
        if at % 2 == 0 {
            fs::create_dir(&file).unwrap();
        }
    }
    let eye = Eye::on(&mount, "resident");
    let job = stage.begin(&mount, &order[..FEW]);
    let kept: Vec<String> = order[2 * FEW..].iter().filter(|file| !gone.contains(file)).cloned().collect();
    stage.await_all(&mount, &eye, &kept);
    // A directory is seen to be one before its bytes are asked for, unless both were asked for together.
    for (why, least) in [("vanished", gone.len() as u64 / 2), ("changed", 1)] {
        let enough = || mount.count(&format!("/restraint/dropped/{why}")) >= least;
        wait_for(why, || enough().then_some(()));
    }
    let stats = mount.stats();
    let dropped = |why: &str| stats["restraint"]["dropped"][why].as_u64().unwrap();
    let sum: u64 = ["vanished", "forbidden", "changed", "faulty"].map(dropped).iter().sum();
    assert_eq!(Some(sum), stats["prefetch"]["failed"].as_u64());
    drop(eye);
    job.finish();
}
