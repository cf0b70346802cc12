use super::*;
use crate::clock::Micros;
use crate::config::{InodeWindow, Scope};
use crate::engine::{Effect, Engine, Job, Learned, Outcome, Parts, Settings, Step, Target, Window};
use crate::event::{AccessEvent, Entry, Facts, Listing, Op, Origin, Residency, Span};
use crate::id::{FileId, GroupId, JobId, ProgramId, SessionId, StreamId};
use crate::names::{Names, Programs};
use crate::predict::PredictorChoice;
use parking_lot::Mutex;
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn settings(predictor: PredictorChoice) -> Settings {
    Settings { predictor, scope: Scope::Job, budget: 1 << 20 }
}

fn setting(start: Start) -> Setting {
    Setting::new(settings(PredictorChoice::Match), start)
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish(Ending::Complete).unwrap()
}

/// The records, and how it ended.
fn read(bytes: &[u8]) -> (Vec<Record>, Result<Option<Tail>, TraceError>) {
    let mut reader = match Reader::new(bytes, "t") {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut records = Vec::new();
    for record in reader.by_ref() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Err(error)),
        }
    }
    (records, Ok(reader.tail()))
}

fn facts() -> impl Strategy<Value = Facts> {
    (any::<u64>(), 0..1u64 << 62, any::<u64>(), any::<bool>())
        .prop_map(|(inode, size, extent, directory)| Facts { inode, size, extent, directory })
}

fn residency() -> impl Strategy<Value = Residency> {
    prop_oneof![
        Just(Residency::Unknown),
        Just(Residency::Hit),
        Just(Residency::Partial),
        Just(Residency::Miss)
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let plain = [Op::Lookup, Op::List, Op::Open, Op::Write, Op::Close, Op::Remove];
    prop_oneof![
        proptest::sample::select(plain.to_vec()),
        (0..1u64 << 62, 0..1u64 << 62).prop_map(|(offset, len)| Op::Read(Span { offset, len })),
    ]
}

/// Any step about files below 5 and programs below 2.
fn step() -> impl Strategy<Value = Step> {
    let time = || (0..1u64 << 50).prop_map(Micros);
    let stream = || any::<u32>().prop_map(StreamId);
    let job = || (0..1u64 << 40).prop_map(JobId);
    let file = || (0..5u32).prop_map(FileId);
    let program = || (0..2u32).prop_map(ProgramId);
    let outcome = prop_oneof![
        (0..1u64 << 40, facts()).prop_map(|(bytes, facts)| Outcome::Warmed { bytes, facts }),
        facts().prop_map(|facts| Outcome::Resident { facts }),
        Just(Outcome::Withdrawn),
        Just(Outcome::Failed),
    ];
    prop_oneof![
        (stream(), proptest::option::of(stream()), program(), any::<u32>()).prop_map(
            |(stream, parent, program, group)| Step::Begin(
                stream,
                Origin { parent, program, group: GroupId(group), session: SessionId(group % 7) }
            )
        ),
        (stream(), program()).prop_map(|(stream, program)| Step::Exec(stream, program)),
        stream().prop_map(Step::End),
        (time(), stream(), file(), op(), residency()).prop_map(|(at, stream, file, op, residency)| {
            Step::Access(AccessEvent { at, stream, file, op, residency })
        }),
        (time(), stream(), file(), residency())
            .prop_map(|(at, stream, file, found)| Step::Judge(at, stream, file, found)),
        job().prop_map(Step::Started),
        (time(), job(), outcome).prop_map(|(at, job, outcome)| Step::Settled(at, job, outcome)),
        time().prop_map(Step::Tick),
        (any::<usize>(), any::<u64>(), any::<bool>())
            .prop_map(|(files, bytes, names_first)| Step::Window(Window { files, bytes, names_first })),
        any::<u64>().prop_map(Step::Budget),
        file().prop_map(Step::Forget),
        listing().prop_map(Step::Listed),
        proptest::sample::select(vec![InodeWindow::Off, InodeWindow::Fixed(4096), InodeWindow::Auto])
            .prop_map(Step::InodeWindow),
    ]
}

/// A piece of a listing, the largest there is among them.
fn listing() -> impl Strategy<Value = Listing> {
    let entry =
        (0..5u32, any::<u64>(), any::<u32>(), any::<bool>()).prop_map(|(file, inode, by_name, directory)| {
            Entry { file: FileId(file), inode, by_name, directory }
        });
    let entries = prop_oneof![
        prop::collection::vec(entry.clone(), 0..8),
        prop::collection::vec(entry, Listing::PIECE..=Listing::PIECE),
    ];
    (0..5u32, any::<u32>(), any::<bool>(), entries).prop_map(|(dir, at, last, entries)| Listing {
        dir: FileId(dir),
        at,
        last,
        entries,
    })
}

fn effect() -> impl Strategy<Value = Effect> {
    let target =
        proptest::sample::select(vec![Target::Attributes, Target::Data, Target::Facts, Target::Siblings]);
    let parts = prop_oneof![
        Just(Parts::NONE),
        (0..=40u64, 1..u64::MAX).prop_map(|(shift, mask)| Parts::from_numbers(shift, mask).unwrap())
    ];
    prop_oneof![
        (0..1u64 << 40, 0..5u32, target, any::<u64>(), parts).prop_map(|(id, file, target, bytes, parts)| {
            Effect::Prefetch(Job { id: JobId(id), file: FileId(file), target, bytes, parts })
        }),
        (0..1u64 << 40).prop_map(|id| Effect::Withdraw(JobId(id))),
    ]
}

fn name(file: u32, parent: u32, component: &str) -> Record {
    let place = Place { parent: FileId(parent), component: component.into() };
    Record::Name { file: FileId(file), place: Some(place) }
}

/// What has to come before steps about files below 5 and programs below 2.
fn introduction() -> Vec<Record> {
    vec![
        Record::Setting(setting(Start::Birth)),
        name(1, 0, "src"),
        name(2, 1, "main.c"),
        Record::Name { file: FileId(3), place: None },
        name(4, 1, "\u{1F980}"),
        Record::Program { program: ProgramId(0), identity: "/usr/bin/cc".into() },
        Record::Program { program: ProgramId(1), identity: String::new() },
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let place = (0..9u32, "[a-z]{1,9}")
        .prop_map(|(parent, component)| Place { parent: FileId(parent), component: component.into() });
    prop_oneof![
        4 => step().prop_map(Record::Step),
        2 => effect().prop_map(Record::Effect),
        1 => (1..5u32, proptest::option::of(place))
            .prop_map(|(file, place)| Record::Name { file: FileId(file), place }),
        1 => (0..5u32, facts()).prop_map(|(file, facts)| Record::Facts { file: FileId(file), facts }),
        1 => proptest::collection::vec(any::<u8>(), 0..40)
            .prop_map(|bytes| Record::Learned { part: Part::History, bytes }),
    ]
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec(record(), 0..30).prop_map(|more| [introduction(), more].concat())
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in records()) {
        let bytes = written(&records);
        let (read, tail) = read(&bytes);
        prop_assert_eq!(tail.unwrap(), Some(Tail::Ended(Ending::Complete)));
        prop_assert_eq!(&read[..records.len()], &records[..]);
        prop_assert_eq!(read.len(), records.len() + 1);
    }

    /// However short it is cut: what is whole is read, and how much is not is told.
    #[test]
    fn a_torn_tail_costs_one_record(records in records(), cut: prop::sample::Index) {
        let bytes = written(&records);
        let cut = 12 + cut.index(bytes.len() - 12);
        let (read, tail) = read(&bytes[..cut]);
        prop_assert_eq!(&read[..], &records[..read.len()]);
        let Ok(Some(Tail::Torn { at, lost })) = tail else { panic!("{tail:?}") };
        prop_assert_eq!(at + lost, cut as u64);
        prop_assert_eq!(written(&records[..read.len()]).len() as u64, at + END);
    }

    /// A changed bit is noticed at its record, at the latest; in a length near the end it may look like a torn tail.
    #[test]
    fn damage_is_found(records in records(), at: prop::sample::Index, bit in 0..8u8) {
        let mut bytes = written(&records);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let (read, tail) = read(&bytes);
        let whole = read.len().min(records.len());
        prop_assert_eq!(&read[..whole], &records[..whole]);
        match tail {
            Ok(Some(Tail::Torn { at: torn, lost })) => prop_assert!(torn <= at as u64 && lost < 9_000),
            Ok(tail) => panic!("{tail:?}"),
            Err(TraceError::Damaged { at: found, .. }) => prop_assert!(found <= bytes.len() as u64),
            Err(_) => prop_assert!(at < 12),
        }
    }
}

/// Bytes of the record of a complete end.
const END: u64 = 5;

#[test]
fn a_usual_access_takes_eight_bytes() {
    let access = |at, file| {
        let (stream, op, residency) = (StreamId(3), Op::Open, Residency::Hit);
        Record::Step(Step::Access(AccessEvent { at: Micros(at), stream, file: FileId(file), op, residency }))
    };
    let mut records = introduction();
    records.push(access(1_000, 2));
    let before = written(&records).len();
    records.push(access(1_900, 4));
    assert_eq!(written(&records).len() - before, 8);
}

#[test]
fn errors_name_file_offset_and_what_was_expected() {
    let error = |bytes: &[u8]| read(bytes).1.unwrap_err().to_string();
    assert_eq!(error(b""), "t is no trace: at byte 0: expected the mark of one");
    let mut later = written(&[]);
    later[8] = 9;
    assert_eq!(error(&later), "t is a trace of version 9: expected at most 2");
    assert_eq!(error(b"AUGURTR\n\x01"), "t is damaged: at byte 8: expected a version");
    let mut damaged = written(&introduction());
    damaged[20] ^= 1;
    assert_eq!(error(&damaged), "t is damaged: at byte 12: expected a record that fits its check");
    let mut trailing = written(&[]);
    trailing.push(0);
    assert_eq!(error(&trailing), "t is damaged: at byte 17: expected the end of the file");
}

#[test]
fn what_no_trace_can_have_is_not_written() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let refused = [
        name(2, 0, "too early"),
        Record::Program { program: ProgramId(1), identity: String::new() },
        Record::Learned { part: Part::Facts, bytes: vec![0; Part::PIECE + 1] },
        name(1, 0, &"x".repeat(9000)),
    ];
    for record in refused {
        assert!(writer.write(&record).is_err(), "{record:?}");
    }
}

#[test]
fn a_file_nobody_named_is_damage() {
    let bytes = written(&[Record::Step(Step::Forget(FileId(1)))]);
    let error = read(&bytes).1.unwrap_err().to_string();
    assert_eq!(error, "t is damaged: at byte 14: expected a file that was named before");
}

/// A driver with a recorder: the second run of a job is fetched ahead, directories move meanwhile.
struct World {
    engine: Engine,
    names: Arc<Mutex<Names>>,
    programs: Programs,
    recorder: Arc<Mutex<Recorder>>,
    now: Micros,
    log: Vec<Effect>,
}

impl World {
    fn new(predictor: PredictorChoice, before: Option<(Learned, Names, Programs)>, restless: bool) -> Self {
        let mut engine = Engine::new(settings(predictor));
        let setting = Setting::new(settings(predictor), Start::Birth);
        let mut recorder = Recorder::new(&setting, None);
        let (names, programs) = match before {
            Some((learned, mut names, programs)) => {
                assert!(engine.restore(&learned, names.len()).unwrap());
                engine.forget_nameless(&names.reuse());
                recorder.learned(&engine.learned(), &names, &programs);
                (names, programs)
            }
            None => Default::default(),
        };
        let (names, recorder) = (Arc::new(Mutex::new(names)), Arc::new(Mutex::new(recorder)));
        let (known, asked, count) = (names.clone(), recorder.clone(), AtomicU64::new(0));
        engine.set_parents(Box::new(move |file| {
            let mut names = known.lock();
            // Others rename directories at any time, also in the middle of a step.
            if restless && count.fetch_add(1, Ordering::Relaxed) % 7 == 6 {
                let (from, to) = ((FileId::ROOT, &b"d1"[..]), (FileId::ROOT, &b"else"[..]));
                names.rename(from, to).or_else(|| names.rename(to, from));
            }
            asked.lock().parent(file, &names)
        }));
        World { engine, names, programs, recorder, now: Micros(0), log: Vec::new() }
    }

    fn tell(&mut self, step: Step) {
        let mut effects = Vec::new();
        self.engine.take(&step, &mut effects);
        self.recorder.lock().step(&step, &effects, &self.names.lock(), &self.programs);
        self.log.extend(&effects);
        for effect in effects {
            self.now = Micros(self.now.0 + 50);
            if let Effect::Prefetch(job) = effect {
                let inode = u64::from(job.file.0) * 7 % 101 + 1;
                let facts = Facts { inode, size: 5_000, extent: 0, directory: false };
                self.tell(Step::Started(job.id));
                self.tell(Step::Settled(self.now, job.id, Outcome::Warmed { bytes: 5_000, facts }));
            }
        }
    }

    fn begin(&mut self, stream: u32, program: &str) {
        let program = self.programs.intern(program);
        let group = GroupId(stream);
        self.tell(Step::Begin(
            StreamId(stream),
            Origin { parent: None, program, group, session: SessionId(0) },
        ));
    }

    fn open(&mut self, stream: u32, path: &str) {
        let file = self.names.lock().intern_path(path.as_bytes());
        self.now = Micros(self.now.0 + 700);
        let (at, stream, op) = (self.now, StreamId(stream), Op::Open);
        self.tell(Step::Access(AccessEvent { at, stream, file, op, residency: Residency::Miss }));
    }

    fn run(&mut self, stream: u32, directory: &str) {
        self.begin(stream, "/usr/bin/cat");
        for number in 0..40 {
            self.open(stream, &format!("{directory}/d{}/f{number}", number % 5));
        }
        self.tell(Step::End(StreamId(stream)));
        self.now = Micros(self.now.0 + 3_000_000);
        self.tell(Step::Tick(self.now));
    }

    fn finish(self) -> Vec<u8> {
        let World { engine, recorder, .. } = self;
        drop(engine);
        Arc::into_inner(recorder).unwrap().into_inner().finish()
    }
}

fn two_runs(predictor: PredictorChoice, before: Option<(Learned, Names, Programs)>) -> World {
    let mut world = World::new(predictor, before, false);
    world.run(1, "work");
    let moved = world.names.lock().rename((FileId::ROOT, b"work"), (FileId::ROOT, b"play"));
    assert!(moved.is_some());
    world.run(2, "play");
    world.names.lock().intern_path(b"between/that/nobody/opened");
    world.open(2, "new/late/file");
    world
}

#[test]
fn a_recorded_trace_replayed_yields_the_same_effects() {
    for predictor in ["default", "match", "pcm:32/2/0.3", "none"] {
        let world = two_runs(predictor.parse().unwrap(), None);
        let asked = world.log.len() as u64;
        let replayed = replay(Reader::new(&world.finish()[..], "t").unwrap()).unwrap();
        assert_eq!(replayed.first, None, "{predictor}");
        assert_eq!((replayed.effects, replayed.differing), (asked, 0));
        assert_eq!(replayed.tail, Some(Tail::Ended(Ending::Complete)));
        assert_eq!(asked > 40, predictor != "none", "{predictor}: {asked}");
    }
}

/// What the engine knew from earlier mounts is in the trace, and numbers that were given again.
#[test]
fn what_was_learned_before_is_replayed_too() {
    for predictor in ["default", "match", "pcm:32/2/0.3"] {
        let world = two_runs(predictor.parse().unwrap(), None);
        let mut names = Vec::new();
        world.names.lock().save(&mut names);
        let mut known = Names::load(&names).unwrap();
        known.remove(FileId::ROOT, b"new");
        let before = (world.engine.learned(), known, world.programs.clone());
        let again = two_runs(predictor.parse().unwrap(), Some(before));
        let replayed = replay(Reader::new(&again.finish()[..], "t").unwrap()).unwrap();
        assert_eq!(replayed.first, None, "{predictor}");
        assert!(replayed.effects > 40);
    }
}

#[test]
fn a_difference_is_found_and_shown_where_it_is() {
    let bytes = two_runs(PredictorChoice::Match, None).finish();
    let (mut records, _) = read(&bytes);
    records.pop();
    let place = records.iter().position(|record| matches!(record, Record::Effect(_))).unwrap();
    let Record::Effect(gone) = records.remove(place) else { panic!() };
    let replayed = replay(Reader::new(&written(&records)[..], "t").unwrap()).unwrap();
    assert_eq!(replayed.differing, 1);
    let first = replayed.first.unwrap();
    assert_eq!((first.recorded, first.replayed), (vec![], vec![gone]));
    assert_eq!(Record::Step(first.step), records[place - 1]);
}

#[test]
fn a_torn_trace_replays_as_far_as_it_goes() {
    let bytes = two_runs(PredictorChoice::Match, None).finish();
    for cut in (bytes.len() / 2..bytes.len()).step_by(97) {
        let replayed = replay(Reader::new(&bytes[..cut], "t").unwrap()).unwrap();
        assert_eq!(replayed.first, None, "cut at {cut}");
        assert!(matches!(replayed.tail, Some(Tail::Torn { .. })));
    }
}

#[test]
fn what_falls_behind_ends_where_it_was_last_taken() {
    let (names, programs) = (Names::new(), Programs::new());
    let mut recorder = Recorder::new(&setting(Start::Birth), None);
    recorder.step(&Step::Tick(Micros(1)), &[], &names, &programs);
    let mut bytes = recorder.take();
    recorder.step(&Step::Tick(Micros(2)), &[], &names, &programs);
    bytes.extend(recorder.fall_behind());
    let (records, tail) = read(&bytes);
    assert_eq!(records[1..], [Record::Step(Step::Tick(Micros(1))), Record::End(Ending::Behind)]);
    assert_eq!(tail.unwrap(), Some(Tail::Ended(Ending::Behind)));
}

#[test]
fn a_disguise_hides_names_and_nothing_else() {
    let bytes = two_runs(PredictorChoice::Match, None).finish();
    let mut copy = Vec::new();
    anonymise(&mut Reader::new(&bytes[..], "t").unwrap(), &mut copy, "copy").unwrap();
    for word in ["work", "play", "file"] {
        let there = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(there(&bytes) && !there(&copy), "{word}");
    }
    let shape = |bytes: &[u8]| {
        let (records, _) = read(bytes);
        let mut same = std::collections::BTreeMap::new();
        let mut number = |component: &[u8]| {
            let next = same.len();
            *same.entry(component.to_vec()).or_insert(next)
        };
        let shaped = records.into_iter().map(|record| match record {
            Record::Name { file, place } => {
                (None, Some((file, place.map(|place| (place.parent, number(&place.component))))))
            }
            Record::Program { program, .. } => (None, Some((FileId(program.0), None))),
            other => (Some(other), None),
        });
        shaped.collect::<Vec<_>>()
    };
    assert_eq!(shape(&bytes), shape(&copy));
    let replayed = replay(Reader::new(&copy[..], "t").unwrap()).unwrap();
    assert_eq!((replayed.first, replayed.differing), (None, 0));
}

#[test]
fn it_can_be_read_by_people() {
    let bytes = two_runs(PredictorChoice::Match, None).finish();
    let (records, _) = read(&bytes);
    let mut teller = Teller::default();
    let told: Vec<Shown> = records.iter().filter_map(|record| teller.tell(record)).collect();
    let text: Vec<String> = told.iter().map(Shown::to_string).collect();
    assert_eq!(
        text[0],
        "    0.000000  trace  from the start of a mount, predictor match, stream job, budget 1048576 bytes"
    );
    assert_eq!(text[1], "    0.000000  cat[1]  begin  group 1");
    assert_eq!(text[2], "    0.000700  cat[1]  open  work/d0/f0  miss");
    assert!(text.iter().any(|line| line.ends_with("cat[2]  open  play/d3/f3  miss")), "{text:#?}");
    let json = serde_json::to_string(&told[2]).unwrap();
    assert!(
        json.contains(r#""event":"open","program":"/usr/bin/cat","stream":1,"path":"work/d0/f0""#),
        "{json}"
    );

    let mut summary = Summary::default();
    records.iter().for_each(|record| summary.hear(record));
    assert_eq!((summary.files, summary.streams, summary.programs["/usr/bin/cat"]["open"]), (41, 2, 80));
    assert_eq!(summary.programs["(unknown)"]["open"], 1);
}

/// Two runs of forty files, recorded by the first version that could. What engines of today make of it is their affair.
const VERSION_1: &[u8] = include_bytes!("../../tests/data/trace-v1.trace");

#[test]
fn traces_of_version_1_are_read() {
    let (records, tail) = read(VERSION_1);
    assert_eq!(tail.unwrap(), Some(Tail::Ended(Ending::Complete)));
    let mut summary = Summary::default();
    records.iter().for_each(|record| summary.hear(record));
    assert_eq!((summary.files, summary.streams, summary.steps, summary.jobs), (41, 2, 335, 124));
    assert_eq!(summary.programs["/usr/bin/cat"]["open"], 80);
    let mut teller = Teller::default();
    let told: Vec<String> =
        records.iter().filter_map(|record| Some(teller.tell(record)?.to_string())).collect();
    assert!(told.contains(&"    0.000700  cat[1]  open  work/d0/f0  miss".to_owned()));
    assert!(replay(Reader::new(VERSION_1, "t").unwrap()).unwrap().steps == summary.steps);
}

/// Something a user does.
#[derive(Clone, Debug)]
enum Deed {
    Open(u32, u8),
    Process(u32, bool),
    Rename(u8, u8),
    Remove(u8),
    Create(u8),
    Wait(u32),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => (0..3u32, 0..20u8).prop_map(|(stream, file)| Deed::Open(stream, file)),
        1 => (0..3u32, any::<bool>()).prop_map(|(stream, begins)| Deed::Process(stream, begins)),
        1 => (0..4u8, 0..4u8).prop_map(|(from, to)| Deed::Rename(from, to)),
        1 => (0..20u8).prop_map(Deed::Remove),
        1 => (0..20u8).prop_map(Deed::Create),
        1 => (0..4_000_000u32).prop_map(Deed::Wait),
    ]
}

impl World {
    fn does(&mut self, deed: &Deed) {
        let file = |number: u8| (format!("d{}", number % 4), format!("f{number}"));
        match *deed {
            Deed::Open(stream, number) => {
                let (directory, name) = file(number);
                self.open(stream, &format!("{directory}/{name}"));
            }
            Deed::Process(stream, true) => self.begin(stream, &format!("/bin/p{stream}")),
            Deed::Process(stream, false) => self.tell(Step::End(StreamId(stream))),
            Deed::Rename(from, to) => {
                let (from, to) = (format!("d{from}"), format!("d{to}"));
                self.names.lock().rename((FileId::ROOT, from.as_bytes()), (FileId::ROOT, to.as_bytes()));
            }
            Deed::Remove(number) => {
                let (directory, name) = file(number);
                let mut names = self.names.lock();
                if let Some(directory) = names.find(FileId::ROOT, directory.as_bytes()) {
                    names.remove(directory, name.as_bytes());
                }
            }
            Deed::Create(number) => {
                self.names.lock().intern_path(format!("new{number}/deep/f").as_bytes());
            }
            Deed::Wait(time) => {
                self.now = Micros(self.now.0 + u64::from(time));
                self.tell(Step::Tick(self.now));
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_happens_a_replay_yields_the_same(deeds in proptest::collection::vec(deed(), 0..200), pcm: bool) {
        let predictor = if pcm { "pcm:16/2/0.2" } else { "match" };
        let mut world = World::new(predictor.parse().unwrap(), None, true);
        (0..3).for_each(|stream| world.begin(stream, "/bin/sh"));
        // Twice, so that there is something to predict.
        deeds.iter().chain(&deeds).for_each(|deed| world.does(deed));
        let asked = world.log.len() as u64;
        let replayed = replay(Reader::new(&world.finish()[..], "t").unwrap()).unwrap();
        prop_assert_eq!(replayed.first, None);
        prop_assert_eq!(replayed.effects, asked);
    }
}
