//! What is installed, used as mount(8), fstab and systemd use it.
//!
//! Needs root, /dev/fuse, util-linux and systemd's own checker. Everything happens in a mount namespace of its own, in which the
//! staged files lie over the machine's: the machine itself stays as it is, and what is mounted goes with the namespace.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A staged installation, a source and a mountpoint.
struct Staged {
    dir: tempfile::TempDir,
}

impl Staged {
    fn new() -> Self {
        let staged = Staged { dir: tempfile::tempdir().unwrap() };
        for name in ["src", "mnt"] {
            fs::create_dir(staged.path(name)).unwrap();
        }
        fs::write(staged.path("src/file"), "content\n").unwrap();
        let said = install(&staged.path("stage"), &[]);
        assert_eq!(said, "");
        staged
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a script with the installation in place; `$src` and `$mnt` are there, and every line must succeed.
    fn run(&self, script: &str) -> String {
        let (stage, etc) = (self.path("stage"), self.path("stage/etc"));
        fs::create_dir_all(&etc).unwrap();
        let set_up = "mount -t overlay overlay -o lowerdir=$stage/sbin:/usr/sbin /usr/sbin\n\
                      mount -t overlay overlay -o lowerdir=$stage/usr/local:/usr/local /usr/local\n\
                      mount -t overlay overlay -o lowerdir=$stage/etc:/etc /etc\n";
        let output = Command::new("timeout")
            .args(["60", "unshare", "-m", "sh", "-ec", &format!("{set_up}{script}")])
            .env("stage", &stage)
            .env("src", self.path("src"))
            .env("mnt", self.path("mnt"))
            .env("XDG_STATE_HOME", self.path("state"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Staged {
    /// The parser takes these options: nothing is mounted, for the mountpoint is not there, and that is what it complains of.
    fn check(options: &str) {
        let output = Command::new(env!("CARGO_BIN_EXE_augurfs"))
            .args(["/", "/no/such/place", "-o", options])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(32) && said.contains("mountpoint"), "{options}: {said}");
    }
}

fn install(stage: &Path, words: &[&str]) -> String {
    let output = Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/mount-helpers/install.sh"))
        .args(words)
        .env("PROGRAM", env!("CARGO_BIN_EXE_augurfs"))
        .env("DESTDIR", stage)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

#[test]
fn what_is_installed_can_be_uninstalled() {
    let staged = Staged::new();
    let stage = staged.path("stage");
    for file in [
        "usr/local/bin/augurfs",
        "usr/local/share/man/man8/mount.augurfs.8",
        "usr/local/share/bash-completion/completions/augurfs",
        "usr/local/lib/systemd/system/augurfs@.service",
        "sbin/mount.augurfs",
        "sbin/mount.fuse.augurfs",
    ] {
        assert!(stage.join(file).exists(), "{file}");
    }
    install(&stage, &["uninstall"]);
    assert_eq!(files_below(&stage), [stage.join("etc/augurfs.conf")], "the user's settings stay");
}

#[test]
fn mount_knows_the_type_and_passes_every_usual_option() {
    let shown = Staged::new().run(
        "mount -t augurfs -o nofail,_netdev,noatime,x-systemd.automount,X-mount.mkdir,noauto,model=none $src $mnt\n\
         cat $mnt/file\n\
         findmnt -nr -o FSTYPE,OPTIONS $mnt\n\
         mount -o remount,ro $mnt\n\
         findmnt -nr -o FS-OPTIONS,OPTIONS $mnt\n\
         umount $mnt\n\
         ! findmnt $mnt\n",
    );
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[0], "content");
    assert!(lines[1].starts_with("fuse.augurfs rw,noatime"), "{shown}");
    assert!(lines[2].contains("ro,"), "{shown}");
}

/// Each alone, with a value where it may have one, and all together, as mount(8) hands them on.
#[test]
fn every_option_that_may_stand_in_fstab_is_taken() {
    let lists = [
        "defaults,auto,nofail,_netdev,nouser,nousers,noowner,nogroup,comment=it is mine,rw,nodev,nosuid,noexec",
        "noauto,users,owner,group,user=root,ro,dev,suid,exec,sync,dirsync,async",
        "noatime,atime,relatime,norelatime,strictatime,nostrictatime,lazytime,nolazytime,diratime,nodiratime",
        "iversion,noiversion,mand,nomand,silent,loud,symfollow,nosymfollow,nonempty,auto_unmount,uhelper=udisks2",
        "x-systemd.automount,x-systemd.idle-timeout=10min,x-systemd.requires-mounts-for=/,x-gvfs-show,X-mount.mkdir=0755",
        "allow_other,default_permissions,fsname=name,subtype=augurfs,context=system_u:object_r:usr_t:s0,fscontext=a,defcontext=b,rootcontext=c",
    ];
    let each = lists.iter().flat_map(|list| list.split(','));
    for options in each.filter(|option| !option.starts_with("subtype")).chain(lists) {
        let options = options.replace(' ', "\\040");
        Staged::check(&options);
    }
    let shown = Staged::new().run(
        "mount.augurfs $src $mnt -n -s -w -o model=none; findmnt -nr -o OPTIONS $mnt; umount $mnt\n\
         mount -r -t augurfs -o model=none $src $mnt; findmnt -nr -o OPTIONS $mnt; umount $mnt\n\
         mount.augurfs $src $mnt -r -t augurfs -o model=none; findmnt -nr -o OPTIONS $mnt; umount $mnt\n",
    );
    let modes: Vec<_> = shown.lines().map(|line| &line[..2]).collect();
    assert_eq!(modes, ["rw", "ro", "ro"], "{shown}");
}

#[test]
fn a_rehearsal_mounts_nothing_and_mistakes_have_their_exit_codes() {
    let shown = Staged::new().run(
        "mount -f -t augurfs $src $mnt; ! findmnt $mnt\n\
         mount.augurfs $src $mnt -f -n -s -v -o ro; ! findmnt $mnt\n\
         mount -t augurfs -o no_such_option $src $mnt || echo $?\n\
         mount -t augurfs $src/absent $mnt || echo $?\n\
         mount.augurfs $src || echo $?\n",
    );
    assert_eq!(shown, "2\n32\n2\n");
}

#[test]
fn lines_of_fstab_are_mounted() {
    let staged = Staged::new();
    for kind in ["augurfs", "fuse.augurfs"] {
        let shown = staged.run(&format!(
            "printf '%s %s {kind} defaults,nofail,user,exec,model=none,context=\"u:r:t:s0:c1,c2\" 0 0\\n' $src $mnt > $src/fstab\n\
             mount -a -T $src/fstab\n\
             findmnt -nr -o FSTYPE $mnt\n\
             mount -a -T $src/fstab\n\
             umount $mnt\n"
        ));
        assert_eq!(shown, "fuse.augurfs\n", "once, also when asked twice");
    }
}

#[test]
fn a_section_names_the_source_and_options_win() {
    let staged = Staged::new();
    let (src, mnt) = (staged.path("src"), fs::canonicalize(staged.path("mnt")).unwrap());
    let text = format!("noatime\nmodel = none\n[{}]\nsource = {}\nro\n", mnt.display(), src.display());
    fs::create_dir_all(staged.path("stage/etc")).unwrap();
    fs::write(staged.path("stage/etc/augurfs.conf"), text).unwrap();
    let shown = staged.run(
        "augurfs - $mnt; findmnt -nr -o OPTIONS $mnt; augurfs unmount $mnt\n\
         augurfs - $mnt -o atime,rw; findmnt -nr -o OPTIONS $mnt; augurfs unmount $mnt\n\
         augurfs - $mnt -o config=none || echo $?\n",
    );
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].starts_with("ro,noatime"), "{shown}");
    assert!(lines[1].starts_with("rw,relatime"), "{shown}");
    assert_eq!(lines[2], "32");
}

#[test]
fn the_units_are_sound() {
    Staged::new().run(
        "units=$stage/usr/local/share/doc/augurfs/examples\n\
         cp $stage/usr/local/lib/systemd/system/augurfs@.service $units/augurfs@mnt-doc.service\n\
         systemd-analyze verify --man=no $units/augurfs@mnt-doc.service $units/mnt-doc.mount $units/mnt-doc.automount\n",
    );
}

/// The test is the service manager: its socket hears READY=1 only when the mount answers.
#[test]
fn readiness_is_told_when_the_mount_answers() {
    let staged = Staged::new();
    let ear = std::os::unix::net::UnixDatagram::bind(staged.path("notify")).unwrap();
    ear.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let heard = std::thread::spawn(move || {
        let mut states = Vec::new();
        for _ in 0..2 {
            let mut said = [0; 64];
            let len = ear.recv(&mut said).unwrap();
            states.push(String::from_utf8_lossy(&said[..len]).into_owned());
        }
        states
    });
    let shown = staged.run(
        "NOTIFY_SOCKET=$src/../notify augurfs $src $mnt -f -o model=none & daemon=$!\n\
         until augurfs stats $mnt >/dev/null 2>&1; do kill -0 $daemon; sleep 0.02; done\n\
         cat $mnt/file; augurfs unmount $mnt; wait $daemon\n",
    );
    assert_eq!(shown, "content\n");
    assert_eq!(heard.join().unwrap(), ["READY=1", "STOPPING=1"]);
}
