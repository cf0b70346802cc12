//! A mount made by a user who is not root, through fusermount3.
//!
//! The test runs in a mount namespace of its own, where everybody may use /dev/fuse: on some machines only root may. With the
//! namespace goes whatever a failure would leave mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::mount::PATIENCE;
use crate::mount::process::output_within;
use crate::mount::scratch::Scratch;

/// fusermount3 wants to know the name of its user: this one has one everywhere.
const NOBODY: u32 = 65_534;

/// Before the user's turn: a device that everybody may open.
const DEVICE: &str = r#"
mknod "$1/fuse" c 10 229; chmod 666 "$1/fuse"; mount --bind "$1/fuse" /dev/fuse
exec setpriv --reuid="$2" --regid="$2" --clear-groups sh -ec "$3" sh "$1" "$4"
"#;

/// The user's turn: `$1` is the directory, `$2` the program.
const TURN: &str = r#"
cd "$1"
"$2" source point -o model="$1/state/model"
cat point/file
echo mine > point/new
"$2" stats point --json
exec 3< point/file
"$2" upgrade point > /dev/null
cat <&3; exec 3<&-
mkdir point/dir; mv point/new point/dir/moved
cat point/dir/moved
"$2" unmount point
ls point
"#;

#[test]
fn a_user_mounts_what_is_the_users() {
    let scratch = Scratch::new();
    scratch.write("file", "text\n");
    fs::create_dir(scratch.join("state")).unwrap();
    for place in ["source", "source/file", "point", "state"] {
        std::os::unix::fs::chown(scratch.join(place), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", DEVICE, "sh"]).arg(scratch.join("")).arg(NOBODY.to_string());
    command.arg(TURN).arg(env!("CARGO_BIN_EXE_augurfs")).env_remove("RUST_LOG");
    let output = output_within(&mut command, PATIENCE);
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}{said}");
    assert_eq!(said, "", "nothing to complain about");
    let lines: Vec<&str> = told.lines().collect();
    // The third is what a file that was open all the while says after an upgrade.
    assert_eq!((lines[0], lines[2], lines[3], lines.len()), ("text", "text", "mine", 4), "{told}");
    let stats: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(stats["path"]["active"], "plain", "{stats}");
    let made = fs::metadata(scratch.source().join("dir/moved")).unwrap();
    assert_eq!((made.uid(), made.gid()), (NOBODY, NOBODY));
    assert!(scratch.join("state/model").exists(), "what was learned has been saved");
}
