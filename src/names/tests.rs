//! Names against a plain map from path to number, and the rules one by one.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn text(names: &Names, id: FileId) -> Option<String> {
    names.path(id).map(|path| String::from_utf8(path).unwrap())
}

#[test]
fn paths_come_back() {
    let mut names = Names::new();
    let file = names.intern_path(b"src/net/tcp.c");
    assert_eq!(names.intern_path(b"/src//net/tcp.c"), file);
    assert_eq!(text(&names, file).as_deref(), Some("src/net/tcp.c"));
    assert_eq!(text(&names, FileId::ROOT).as_deref(), Some(""));
    assert_eq!(names.parent(file), names.find_path(b"src/net"));
    assert_eq!(names.parent(FileId::ROOT), None);
    assert_eq!(names.path(FileId(77)), None);
}

#[test]
fn an_editor_that_renames_over_keeps_the_history() {
    let mut names = Names::new();
    let foo = names.intern(FileId::ROOT, b"foo.c");
    let new = names.intern(FileId::ROOT, b"foo.c.tmp");
    assert_eq!(names.rename((FileId::ROOT, b"foo.c.tmp"), (FileId::ROOT, b"foo.c")), Some(foo));
    assert_eq!(names.find(FileId::ROOT, b"foo.c"), Some(foo));
    assert_eq!(names.path(new), None);
    assert_eq!(names.intern(FileId::ROOT, b"foo.c.tmp"), new, "the next save uses the same number again");
}

#[test]
fn what_is_removed_and_made_again_is_the_same() {
    let mut names = Names::new();
    let object = names.intern(FileId::ROOT, b"a.o");
    assert_eq!(names.remove(FileId::ROOT, b"a.o"), Some(object));
    assert_eq!((names.path(object), names.find(FileId::ROOT, b"a.o")), (None, None));
    assert_eq!(names.remove(FileId::ROOT, b"a.o"), None);
    assert_eq!(names.intern(FileId::ROOT, b"a.o"), object);
    assert_eq!(text(&names, object).as_deref(), Some("a.o"));
}

#[test]
fn a_directory_moves_with_what_is_below() {
    let mut names = Names::new();
    let file = names.intern_path(b"old/deep/file");
    let old = names.find_path(b"old").unwrap();
    assert_eq!(names.rename((FileId::ROOT, b"old"), (FileId::ROOT, b"new")), Some(old));
    assert_eq!(text(&names, file).as_deref(), Some("new/deep/file"));
    // Also over a directory that has a number already.
    let empty = names.intern(FileId::ROOT, b"empty");
    assert_eq!(names.rename((FileId::ROOT, b"new"), (FileId::ROOT, b"empty")), Some(old));
    assert_eq!(text(&names, file).as_deref(), Some("empty/deep/file"));
    assert_eq!(names.path(empty), None);
}

#[test]
fn exchanged_files_stay_and_directories_swap() {
    let mut names = Names::new();
    let (a, b) = (names.intern_path(b"a"), names.intern_path(b"b"));
    names.exchange((FileId::ROOT, b"a"), (FileId::ROOT, b"b"));
    assert_eq!((text(&names, a).as_deref(), text(&names, b).as_deref()), (Some("a"), Some("b")));
    let below = names.intern_path(b"a/x");
    names.exchange((FileId::ROOT, b"a"), (FileId::ROOT, b"b"));
    assert_eq!(text(&names, below).as_deref(), Some("b/x"));
    assert_eq!(text(&names, b).as_deref(), Some("a"));
}

#[test]
fn impossible_names_are_the_root() {
    let mut names = Names::new();
    assert_eq!(names.intern(FileId::ROOT, b""), FileId::ROOT);
    assert_eq!(names.intern(FileId::ROOT, b"a/b"), FileId::ROOT);
    assert_eq!(names.intern(FileId(9), b"a"), FileId::ROOT);
    assert_eq!(names.len(), 1);
}

#[test]
fn a_name_costs_little() {
    let mut names = Names::new();
    let mut text = 0;
    for number in 0..70_001 {
        let name = format!("file-number-{number}.txt");
        text += name.len();
        names.intern(FileId::ROOT, name.as_bytes());
    }
    let each = (names.bytes() - text) as f64 / 70_001.0;
    assert!(each <= 60.0, "{each} bytes a name beside the name");
}

#[test]
fn temporary_names_do_not_pile_up() {
    let mut names = Names::new();
    for number in 0..300_000u32 {
        let name = format!("cc{number:010}.s");
        names.intern(FileId::ROOT, name.as_bytes());
        names.remove(FileId::ROOT, name.as_bytes());
    }
    assert!(names.bytes.len() < 4 * GONE_KEPT * 14, "{} bytes of names", names.bytes.len());
}

#[test]
fn numbers_of_temporary_names_are_given_again_by_the_next_mount() {
    let mut names = Names::new();
    let kept = names.intern_path(b"src/kept");
    let mut most = 0;
    for mount in 0..4u32 {
        for number in 0..100_000u32 {
            let name = format!("cc{mount}-{number:06}.s");
            names.intern(FileId::ROOT, name.as_bytes());
            names.remove(FileId::ROOT, name.as_bytes());
        }
        let mut bytes = Vec::new();
        names.save(&mut bytes);
        names = Names::load(&bytes).unwrap();
        let free = names.reuse();
        assert!(free.iter().all(|&id| names.name(id).is_none() && names.parent(id).is_none()));
        most = if mount == 0 { names.len() } else { most };
    }
    // What waits for its name to come back keeps its number, in each mount anew.
    assert!(names.len() <= most + GONE_KEPT + 1, "{} numbers, {most} after the first mount", names.len());
    assert_eq!(names.find_path(b"src/kept"), Some(kept));
    let again = names.intern(FileId::ROOT, b"new");
    assert!(again.index() < names.len() - 1 && again != kept);
    assert_eq!(text(&names, again).as_deref(), Some("new"));
}

#[test]
fn a_nameless_directory_with_names_below_keeps_its_number() {
    let mut names = Names::new();
    let below = names.intern_path(b"target/stale");
    let target = names.find_path(b"target").unwrap();
    names.intern_path(b"source/file");
    names.rename((FileId::ROOT, b"source"), (FileId::ROOT, b"target"));
    assert_eq!(names.path(below), None);
    assert_eq!((names.path(target), names.reuse()), (None, vec![]));
}

#[derive(Clone, Debug)]
enum Step {
    Intern(u8, u8),
    Remove(u8, u8),
    Rename(u8, u8, u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4u8, 0..6u8).prop_map(|(d, n)| Step::Intern(d, n)),
        (0..4u8, 0..6u8).prop_map(|(d, n)| Step::Remove(d, n)),
        (0..4u8, 0..6u8, 0..4u8, 0..6u8).prop_map(|(a, b, c, d)| Step::Rename(a, b, c, d)),
    ]
}

proptest! {
    /// Against each name's own way up.
    #[test]
    fn what_is_inside_is_found_in_one_pass(paths in prop::collection::vec("[a-c](/[a-c]){0,4}", 1..30), top in any::<prop::sample::Index>()) {
        let mut names = Names::new();
        let ids: Vec<FileId> = paths.iter().map(|path| names.intern_path(path.as_bytes())).collect();
        let top = ids[top.index(ids.len())];
        let up = |&at: &FileId| names.parent(at);
        for (number, inside) in names.inside(top).into_iter().enumerate() {
            let way = std::iter::successors(Some(FileId(number as u32)), up);
            prop_assert_eq!(inside, way.into_iter().any(|at| at == top));
        }
        prop_assert!(names.inside(FileId::ROOT).into_iter().all(|inside| inside));
    }

    /// Files in three directories: the model is a map from path to (number, gone).
    #[test]
    fn files_behave_like_a_map(steps in prop::collection::vec(step(), 1..80)) {
        let mut names = Names::new();
        let dirs: Vec<FileId> = (0..4).map(|d| names.intern_path(format!("dir{d}").as_bytes())).collect();
        let mut model: BTreeMap<(u8, u8), (FileId, bool)> = BTreeMap::new();
        let name = |n: u8| format!("n{n}").into_bytes();
        for step in steps {
            match step {
                Step::Intern(d, n) => {
                    let id = names.intern(dirs[d as usize], &name(n));
                    let slot = model.entry((d, n)).or_insert((id, false));
                    slot.1 = false;
                    prop_assert_eq!(slot.0, id);
                }
                Step::Remove(d, n) => {
                    let id = names.remove(dirs[d as usize], &name(n));
                    let expected = model.get_mut(&(d, n)).filter(|slot| !slot.1);
                    prop_assert_eq!(id, expected.as_ref().map(|slot| slot.0));
                    if let Some(slot) = expected { slot.1 = true; }
                }
                Step::Rename(d, n, e, m) => {
                    names.rename((dirs[d as usize], &name(n)), (dirs[e as usize], &name(m)));
                    let source = model.get(&(d, n)).copied().filter(|slot| !slot.1);
                    if let Some(slot) = model.get_mut(&(e, m)) {
                        slot.1 = false;
                        if source.is_some() && (d, n) != (e, m) { model.get_mut(&(d, n)).unwrap().1 = true; }
                    } else if let Some(source) = source {
                        model.remove(&(d, n));
                        model.insert((e, m), source);
                    }
                }
            }
            let mut bytes = Vec::new();
            names.save(&mut bytes);
            let loaded = Names::load(&bytes).unwrap();
            for (&(d, n), &(id, gone)) in &model {
                let expected = (!gone).then(|| format!("dir{d}/n{n}"));
                prop_assert_eq!(text(&names, id), expected.clone());
                prop_assert_eq!(text(&loaded, id), expected);
            }
        }
    }

    #[test]
    fn garbage_is_refused_or_loaded(bytes: Vec<u8>) {
        if let Ok(names) = Names::load(&bytes) {
            for number in 0..names.len() { let _ = names.path(FileId(number as u32)); }
        }
    }
}
