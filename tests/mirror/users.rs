//! Who owns what, and who may do what: every script gives the same in the mount as in a plain directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use augurfs::sys::thread::Impersonation;

use crate::mount::PATHS;
use crate::mount::process::{ALICE, BOB, sh, sh_as};
use crate::mount::scratch::Scratch;

/// One turn of a story: 0 is root.
type Turn = (u32, &'static str);

fn play(directory: &Path, story: &[Turn]) -> Vec<(i32, String)> {
    // Whoever complains names files by where they are.
    story
        .iter()
        .map(|(user, script)| match user {
            0 => (0, sh(directory, script)),
            user => sh_as(*user, directory, script),
        })
        .collect()
}

/// The story goes alike in a plain directory and on each kind of mount, and as `check` says.
fn alike(story: &[Turn], check: impl Fn(&[(i32, String)])) {
    let scratch = Scratch::new();
    let native = scratch.join("native");
    fs::create_dir(&native).unwrap();
    fs::set_permissions(&native, fs::Permissions::from_mode(0o777)).unwrap();
    let expected = play(&native, story);
    check(&expected);
    for path in PATHS {
        let scratch = Scratch::new();
        fs::set_permissions(scratch.source(), fs::Permissions::from_mode(0o777)).unwrap();
        let mount = scratch.mount(path).start();
        assert_eq!(play(mount.point(), story), expected, "{path}");
    }
}

const SHOW: &str = "stat -c '%n %F %a %u:%g %s'";

#[test]
fn what_a_user_makes_belongs_to_that_user_under_that_umask() {
    let make = "umask 027; echo text > f; mkdir d; ln -s x l; mkfifo p; mkdir -m 1777 s; umask 0; touch g; \
                stat -c '%n %F %a %u:%g' f d l p s g";
    alike(&[(ALICE, make), (BOB, "umask 077; touch bobs; stat -c '%a %u:%g' bobs")], |told| {
        assert!(told[0].1.contains(&format!("f regular file 640 {ALICE}:{ALICE}")), "{told:?}");
        assert_eq!(told[1], (0, format!("600 {BOB}:{BOB}")));
    });
}

#[test]
fn permissions_are_enforced() {
    let story = [
        (
            0,
            "echo secret > private; chmod 600 private; echo shared > public; chmod 644 public; mkdir closed; chmod 700 closed",
        ),
        (ALICE, "cat private"),
        (ALICE, "cat public"),
        (ALICE, "echo more >> public"),
        (ALICE, "touch closed/x"),
        (ALICE, "ls closed"),
        (ALICE, "chmod 666 public"),
        (ALICE, "touch mine; chown 0 mine"),
        (ALICE, "mkdir drop; chmod 733 drop; echo note > drop/note"),
        (BOB, "echo other > drop/other; cat drop/other; ls drop"),
        (BOB, "mv mine theirs && mv theirs mine"),
        (BOB, "chmod 644 mine"),
        (0, "stat -c '%n %a %u:%g' private public closed mine drop/note drop/other"),
    ];
    alike(&story, |told| {
        let codes: Vec<bool> = told.iter().map(|(code, _)| *code == 0).collect();
        let expected = [true, false, true, false, false, false, false, false, true, false, true, false, true];
        assert_eq!(codes, expected, "{told:?}");
    });
}

#[test]
fn a_sticky_directory_protects_names() {
    let story = [
        (0, "mkdir shared; chmod 1777 shared"),
        (ALICE, "echo hers > shared/file"),
        (BOB, "rm -f shared/file"),
        (BOB, "mv shared/file shared/other"),
        (BOB, "touch shared/his && mv shared/his shared/file"),
        (ALICE, "mv shared/file shared/moved; cat shared/moved"),
        (0, "ls shared"),
    ];
    alike(&story, |told| {
        assert_ne!((told[2].0, told[3].0), (0, 0), "{told:?}");
        assert_eq!(told[5], (0, "hers".into()), "{told:?}");
    });
}

#[test]
fn a_setgid_directory_hands_its_group_down() {
    let story = [
        (0, "mkdir team; chown 0:777 team; chmod 2777 team"),
        (ALICE, "umask 022; touch team/f; mkdir team/d; touch team/d/g; ln -s x team/l; mkfifo team/p"),
        (ALICE, "cp /bin/true team/prog; chmod 2755 team/prog"),
        (0, "stat -c '%n %a %u:%g' team team/f team/d team/d/g team/l team/p team/prog"),
    ];
    alike(&story, |told| {
        assert!(told[3].1.contains(&format!("team/d 2755 {ALICE}:777")), "{told:?}");
        assert!(told[3].1.contains(&format!("team/f 644 {ALICE}:777")), "{told:?}");
    });
}

#[test]
fn writing_to_a_set_id_program_takes_the_bits_away() {
    let prepare =
        "for f in w t a; do echo x > $f; chmod 6777 $f; done; cp w c; chmod 6777 c; stat -c '%n %a' w t a c";
    let story = [
        (0, prepare),
        (ALICE, "echo y > w; truncate -s 0 t; echo z >> a; cat w >> c"),
        (0, "stat -c '%n %a %s' w t a c"),
        (0, "chmod 6755 w; chown 0:5 w; stat -c '%n %a %u:%g' w"),
    ];
    alike(&story, |told| {
        assert!(told[0].1.contains("w 6777"), "{told:?}");
        assert!(told[2].1.contains("w 777"), "{told:?}");
        assert!(SHOW.contains("%a"));
    });
}

/// A group that is only a supplementary one counts, for what may be done and in what is made.
#[test]
fn supplementary_groups_count() {
    const TEAM: u32 = 777;
    for path in PATHS {
        let scratch = Scratch::new();
        let team = scratch.source().join("team");
        fs::create_dir(&team).unwrap();
        std::os::unix::fs::chown(&team, Some(0), Some(TEAM)).unwrap();
        fs::set_permissions(&team, fs::Permissions::from_mode(0o2770)).unwrap();
        let mount = scratch.mount(path).start();
        let dir = mount.join("team");
        let act = move |groups: &'static [u32]| {
            let dir = dir.clone();
            // A thread of its own: the identity is the thread's.
            std::thread::spawn(move || {
                let _alice = Impersonation::begin(ALICE, ALICE, groups).unwrap();
                fs::write(dir.join(format!("with-{}", groups.len())), "text")
            })
            .join()
            .unwrap()
        };
        assert_eq!(act(&[]).unwrap_err().raw_os_error(), Some(libc::EACCES), "{path}");
        act(&[5, TEAM]).unwrap();
        let made = fs::metadata(team.join("with-2")).unwrap();
        assert_eq!((made.uid(), made.gid()), (ALICE, TEAM), "{path}");
    }
}
