//! Models made by an engine, kept in files, and what commands make of them.

use super::*;
use crate::clock::Micros;
use crate::engine::{Effect, Facts, Outcome};
use crate::event::{AccessEvent, Op, Origin, Residency};
use crate::id::{GroupId, SessionId, StreamId};
use proptest::prelude::*;

/// A machine: a program and the paths it opened, job by job.
type Jobs = Vec<(&'static str, Vec<String>)>;

fn job(program: &'static str, files: impl IntoIterator<Item = u32>) -> (&'static str, Vec<String>) {
    (program, files.into_iter().map(|file| format!("dir-{}/file-{file}", file / 10)).collect())
}

/// Numbers for streams and groups that nobody else uses.
fn begin(engine: &mut Engine, programs: &mut Programs, program: &str, number: u32) -> StreamId {
    let (program, group, session) = (programs.intern(program), GroupId(number), SessionId(0));
    let origin = Origin { parent: None, program, group, session };
    engine.begin(StreamId(number), origin);
    StreamId(number)
}

fn open(engine: &mut Engine, names: &mut Names, stream: StreamId, path: &str) -> Vec<Effect> {
    let file = names.intern_path(path.as_bytes());
    let mut effects = Vec::new();
    let event = AccessEvent { at: Micros(1), stream, file, op: Op::Open, residency: Residency::Miss };
    engine.observe(&event, &mut effects);
    effects
}

fn learned(path: &Path, predictor: &str, jobs: &Jobs) -> Shelved {
    let predictor = predictor.parse().unwrap();
    let mut engine = Engine::new(Settings { predictor, scope: Scope::default(), budget: 1 << 30 });
    let (mut names, mut programs) = (Names::new(), Programs::new());
    for (number, (program, files)) in jobs.iter().enumerate() {
        let stream = begin(&mut engine, &mut programs, program, number as u32);
        for path in files {
            for effect in open(&mut engine, &mut names, stream, path) {
                let Effect::Prefetch(job) = effect else { continue };
                let facts = Facts { inode: u64::from(job.file.0) + 1, size: 9, extent: 0, directory: false };
                engine.settle(Micros(1), job.id, Outcome::Resident { facts }, &mut Vec::new());
            }
        }
        engine.end(stream);
        (0..3).for_each(|s| engine.tick(Micros(s * 4_000_000), &mut Vec::new()));
    }
    let model = Model { names, programs, learned: engine.learned() };
    Shelved { path: path.into(), model, bytes: 0 }
}

/// What the model would have fetched once `program` has opened the first of `files`.
fn predicted(shelved: &Shelved, program: &str, files: &[String]) -> Vec<String> {
    let mut engine = shelved.engine().unwrap();
    engine.set_budget(1 << 30);
    let (mut names, mut programs) = (shelved.model.names.clone(), shelved.model.programs.clone());
    let stream = begin(&mut engine, &mut programs, program, 1_000_000);
    let effects = open(&mut engine, &mut names, stream, &files[0]);
    let mut paths: Vec<String> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Prefetch(job) if job.target == crate::engine::Target::Data => {
                Some(String::from_utf8(names.path(job.file)?).unwrap())
            }
            _ => None,
        })
        .collect();
    paths.sort();
    paths
}

fn rest(files: &[String]) -> Vec<String> {
    let mut rest = files[1..].to_vec();
    rest.sort();
    rest
}

fn encoded(shelved: &Shelved) -> Vec<u8> {
    let mut text = Vec::new();
    shelved.export(&mut text).unwrap();
    text
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    (dir, path)
}

#[test]
fn a_union_predicts_what_either_predicted() {
    let (_dir, path) = place();
    let (tar, make) = (job("/bin/tar", 10..40), job("/bin/make", (30..60).rev()));
    let (grep, newer_tar) = (job("/bin/grep", 5..25), job("/bin/tar", (50..70).chain([1, 2])));
    let one = learned(&path, "default", &vec![tar.clone(), make.clone()]);
    let other = learned(&path, "default", &vec![grep.clone(), newer_tar.clone()]);
    let both = Shelved::unite(&one, &other, &path).unwrap();
    for (program, files) in [&tar, &make, &grep, &newer_tar] {
        assert_eq!(predicted(&both, program, files), rest(files), "{program}");
    }
    let (once, twice) = (both.survey().unwrap(), Shelved::unite(&both, &other, &path).unwrap());
    assert_eq!(once.programs.len(), 3);
    assert_eq!(once.names, twice.survey().unwrap().names, "names are united by path");
}

#[test]
fn where_both_know_the_start_the_newer_wins() {
    let (_dir, path) = place();
    let (old, new) = (job("/bin/tar", 10..40), job("/bin/tar", [10].into_iter().chain(70..90)));
    let one = learned(&path, "match", &vec![old]);
    let other = learned(&path, "match", &vec![new.clone()]);
    assert_eq!(predicted(&Shelved::unite(&one, &other, &path).unwrap(), "/bin/tar", &new.1), rest(&new.1));
}

#[test]
fn nothing_is_left_of_what_is_forgotten() {
    let (_dir, path) = place();
    let (tar, make) = (job("/bin/tar", 10..40), job("/opt/secret/make", 100..120));
    for predictor in ["default", "match", "pcm:32/2/0.3"] {
        let mut shelved = learned(&path, predictor, &vec![tar.clone(), make.clone()]);
        assert_eq!(shelved.forget(b"dir-2").unwrap().names, 11, "a directory and ten files");
        assert_eq!(shelved.forget(b"dir-3/file-35").unwrap().names, 1);
        shelved.store().unwrap();
        let bytes = model::load(&path).unwrap();
        let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(!holds(b"dir-2") && !holds(b"file-25") && !holds(b"file-35"), "{predictor}");
        assert!(holds(b"dir-3") && holds(b"file-36"), "{predictor}");
        let again = Shelved::open(&path).unwrap();
        assert!(again.engine().is_ok());
        assert!(matches!(shelved.forget(b"dir-2"), Err(ShelfError::Unknown { .. })));
    }
    let mut shelved = learned(&path, "match", &vec![tar.clone(), make.clone()]);
    shelved.forget(b"/opt/secret/make").unwrap();
    shelved.store().unwrap();
    let bytes = model::load(&path).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    let again = Shelved::open(&path).unwrap();
    assert_eq!(predicted(&again, "/opt/secret/make", &make.1), Vec::<String>::new());
    assert_eq!(predicted(&again, "/bin/tar", &tar.1), rest(&tar.1));
}

#[test]
fn a_model_in_use_is_not_written() {
    let (_dir, path) = place();
    let shelved = learned(&path, "match", &vec![job("/bin/tar", 0..5)]);
    shelved.store().unwrap();
    let before = model::load(&path).unwrap();
    let _mount = lock(&path).unwrap();
    let error = shelved.store().unwrap_err().to_string();
    assert_eq!(error, format!("{}: a mount uses this model at the moment; unmount it first", path.display()));
    assert_eq!(model::load(&path).unwrap(), before);
}

#[test]
fn what_is_no_model_is_not_overwritten() {
    let (_dir, path) = place();
    let shelved = learned(&path, "match", &vec![job("/bin/tar", 0..5)]);
    std::fs::write(&path, "settings = of somebody\n").unwrap();
    let error = shelved.store().unwrap_err().to_string();
    assert!(error.ends_with("not a model file: at byte 0: expected the mark of one"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "settings = of somebody\n");
}

#[test]
fn damage_is_told_with_its_place() {
    let (_dir, path) = place();
    learned(&path, "match", &vec![job("/bin/tar", 0..5)]).store().unwrap();
    let mut bytes = model::load(&path).unwrap();
    bytes[40] ^= 1;
    model::store(&path, &bytes).unwrap();
    let error = Shelved::open(&path).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{}: at byte 28: expected a names section", path.display())),
        "{error}"
    );
    let mut shelved = learned(&path, "match", &vec![job("/bin/tar", 0..5)]);
    shelved.model.learned.history.push(7);
    let error = shelved.engine().unwrap_err().to_string();
    assert!(error.contains("the predictor's state is damaged: at byte"), "{error}");
    shelved.model.learned.predictor = "oracle".into();
    assert!(shelved.engine().unwrap_err().to_string().contains("unknown predictor 'oracle'"));
}

#[test]
fn a_history_of_another_predictor_is_not_moved() {
    let (_dir, path) = place();
    let shelved = learned(&path, "pcm", &vec![job("/bin/tar", 0..5)]);
    let error = shelved.export(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.ends_with(
        "the history of predictor pcm:32/2/0.3 cannot be exported: only that of default or match can"
    ));
    assert!(shelved.survey().unwrap().accesses > 0);
    assert!(Shelved::unite(&shelved, &shelved, &path).is_err());
}

#[test]
fn text_that_is_wrong_is_told_by_line() {
    let (_dir, path) = place();
    let wrong = |text: &str| {
        let read = Shelved::import(&mut text.as_bytes(), Path::new("text"), &path);
        read.unwrap_err().to_string()
    };
    let head = r#"{"line":"model","form":1,"predictor":"match","files":3}"#;
    assert_eq!(wrong("hello"), "text: line 1: expected value at line 1 column 1");
    assert_eq!(wrong(&head.replace("match", "pcm")), "text: line 1: predictor pcm cannot be imported");
    assert!(wrong(&format!("{head}\n{head}")).starts_with("text: line 2: the model's line comes first"));
    let file = r#"{"line":"file","file":9,"in":0,"name":"a"}"#;
    assert!(wrong(&format!("{head}\n{file}")).contains("numbered upwards"));
    assert_eq!(wrong(""), "text: line 1: there is no model");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_exported_can_be_imported(
        jobs in prop::collection::vec((0..3usize, prop::collection::vec(0..40u32, 1..30)), 0..8),
        odd in prop::collection::vec(any::<u8>(), 1..8),
        forgotten in any::<bool>(),
    ) {
        let programs = ["/bin/a", "/bin/b", "(odd \u{1} %)"];
        let mut all: Jobs = jobs.into_iter().map(|(program, files)| job(programs[program], files)).collect();
        all.push(("/bin/a", vec!["dir-1/x".into()]));
        let (_dir, path) = place();
        let mut shelved = learned(&path, "match", &all);
        shelved.model.names.intern(crate::id::FileId::ROOT, &odd);
        if forgotten {
            shelved.forget(b"dir-1").unwrap();
            shelved.model.names.remove(crate::id::FileId::ROOT, b"dir-2");
        }
        let text = encoded(&shelved);
        let again = Shelved::import(&mut &text[..], Path::new("text"), &path).unwrap();
        prop_assert_eq!(String::from_utf8(encoded(&again)).unwrap(), String::from_utf8(text).unwrap());
        let parts = [shelved.parts("").unwrap(), again.parts("").unwrap()];
        prop_assert_eq!(&parts[0].history, &parts[1].history);
        prop_assert!(parts[0].names.listing().eq(parts[1].names.listing()));
        prop_assert_eq!(parts[0].names.len(), parts[1].names.len());
        for (program, files) in &all {
            prop_assert_eq!(predicted(&shelved, program, files), predicted(&again, program, files));
        }
    }
}
