//! The driver as a whole, with the real engine and a backing that only remembers what it was asked.

use super::*;
use crate::config::{InodeWindow, Scope};
use crate::engine::Settings;
use crate::event::{Op, Residency};
use crate::live::backing::Scratch;
use crate::predict::PredictorChoice;
use parking_lot::Condvar;
use std::fs;
use std::time::Instant;

const LONG: Duration = Duration::from_secs(30);
/// Enough for the engine to see that a run repeats itself.
const FILES: u32 = 60;

/// Answers every job at once, unless told to hold or to panic.
#[derive(Default)]
struct Fake {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked: Vec<Job>,
    hold: bool,
    panic_at: Option<FileId>,
}

struct Handle(Arc<Fake>);

impl Backing for Handle {
    fn warm(&self, job: &Job, _: &mut Scratch, _: &dyn Fn(Want)) -> Outcome {
        let mut state = self.0.state.lock();
        state.asked.push(*job);
        self.0.changed.notify_all();
        assert!(state.panic_at != Some(job.file), "as told");
        while state.hold {
            self.0.changed.wait(&mut state);
        }
        let facts = crate::event::Facts {
            inode: u64::from(job.file.0) + 1,
            size: 4096,
            extent: u64::from(job.file.0) << 20,
            directory: false,
        };
        Outcome::Warmed { bytes: 4096, facts }
    }
}

impl Fake {
    /// Waits until `done` says so of the jobs asked for.
    fn wait(&self, what: &str, done: impl Fn(&[Job]) -> bool) {
        let deadline = Instant::now() + LONG;
        let mut state = self.state.lock();
        while !done(&state.asked) {
            assert!(!self.changed.wait_until(&mut state, deadline).timed_out(), "{what}: {:?}", state.asked);
        }
    }

    fn release(&self) {
        self.state.lock().hold = false;
        self.changed.notify_all();
    }
}

fn config(model: Option<PathBuf>) -> LiveConfig {
    LiveConfig {
        memory: 64 << 20,
        source: Arc::new(fs::File::open("/").unwrap().into()),
        names: Arc::default(),
        model,
        begin: None,
        unkept: None,
        settings: Settings { predictor: PredictorChoice::Match, scope: Scope::Job, budget: 1 << 30 },
        budget: Some(1 << 30),
        rate: None,
        join_wait: LONG,
        save_interval: Duration::from_secs(300),
        inode_window: InodeWindow::Off,
        record: None,
        counters: Arc::default(),
    }
}

fn start(config: LiveConfig) -> (Arc<Live>, Arc<Fake>) {
    let fake = Arc::new(Fake::default());
    let handle = Handle(fake.clone());
    (Live::start_with(config, |_| Box::new(handle)).unwrap(), fake)
}

/// Opens files 1 to `FILES` in order, each found cold.
fn run(live: &Live) {
    for file in 1..=FILES {
        live.names.lock().intern_path(format!("f{file}").as_bytes());
        open(live, file, Residency::Miss);
    }
}

/// A driver that knows the run from an earlier mount, and has seen its beginning again.
fn in_the_second_run(prepare: impl FnOnce(&mut State)) -> (Arc<Live>, Arc<Fake>) {
    let dir = tempfile::tempdir().unwrap();
    let model = Some(dir.path().join("model"));
    let (live, _) = start(config(model.clone()));
    run(&live);
    live.stop().unwrap();
    let (live, fake) = start(config(model));
    prepare(&mut fake.state.lock());
    for file in 1..=6 {
        open(&live, file, Residency::Miss);
    }
    (live, fake)
}

fn open(live: &Live, file: u32, residency: Residency) {
    live.note(Note { tid: 0, file: FileId(file), op: Op::Open, residency });
}

fn is_data(job: &Job, file: u32) -> bool {
    job.file == FileId(file) && job.target == crate::engine::Target::Data
}

#[test]
fn the_second_run_is_fetched_ahead() {
    let (live, fake) = in_the_second_run(|_| {});
    fake.wait("the end of the run", |asked| asked.iter().any(|job| is_data(job, FILES)));
    let snapshot = live.snapshot().unwrap();
    assert_eq!(snapshot.opens.total, 6);
    assert_eq!(live.desk.counters.events.lost.get(), 0);
    assert_eq!(live.desk.counters.opens.miss.get(), 6);
    assert!(live.desk.counters.prefetch.jobs.get() > 0);
    // The model's directory has gone with the preparation.
    live.stop().unwrap_err();
    assert_eq!((live.figures().workers, live.is_off()), (0, true));
}

#[test]
fn a_request_waits_for_a_planned_file_and_is_released_at_the_end() {
    let (live, fake) = in_the_second_run(|state| state.hold = true);
    let is_warming = |job: &Job| job.target != crate::engine::Target::Facts;
    fake.wait("a job", |asked| asked.iter().any(is_warming));
    let job = fake.state.lock().asked.iter().copied().find(is_warming).unwrap();
    let want = if job.target == crate::engine::Target::Data { Want::Data } else { Want::Attributes };
    assert!(live.crew.board().is_planned(job.file, want));
    let there = live.clone();
    let waiter = std::thread::spawn(move || there.join(job.file, want));
    fake.release();
    let joined = waiter.join().unwrap();
    assert_ne!(joined, Joined::TimedOut);
    assert_eq!(live.desk.counters.prefetch.joined.get(), u64::from(joined == Joined::Arrived));
    assert_eq!(live.join(FileId(0), Want::Data), Joined::NotPlanned);
}

#[test]
fn the_end_waits_for_a_source_that_hangs_no_longer_than_it_is_told() {
    let (live, fake) = in_the_second_run(|state| state.hold = true);
    fake.wait("a job", |asked| !asked.is_empty());
    let start = Instant::now();
    live.end(start + Duration::from_millis(200));
    let first = start.elapsed();
    live.end(Instant::now() + LONG);
    drop(live.stop());
    assert!(first >= Duration::from_millis(200) && start.elapsed() < Duration::from_secs(3), "{first:?}");
    assert!(live.is_off() && live.figures().workers > 0);
    fake.release();
}

#[test]
fn a_job_that_panics_stops_nobody() {
    let (live, fake) = in_the_second_run(|state| state.panic_at = Some(FileId(20)));
    fake.wait("the end of the run", |asked| asked.iter().any(|job| is_data(job, FILES)));
    fake.wait("the panic", |asked| asked.iter().any(|job| job.file == FileId(20)));
    live.stop().unwrap_err();
    assert!(live.figures().panicked > 0 && live.desk.counters.prefetch.failed.get() > 0);
}

#[test]
fn an_engine_that_panics_releases_everybody() {
    let (live, fake) = in_the_second_run(|state| state.hold = true);
    let is_warming = |job: &Job| job.target != crate::engine::Target::Facts;
    fake.wait("a job", |asked| asked.iter().any(is_warming));
    let job = fake.state.lock().asked.iter().copied().find(is_warming).unwrap();
    let there = live.clone();
    let waiters = [Want::Attributes, Want::Data].map(|want| {
        let live = there.clone();
        std::thread::spawn(move || live.join(job.file, want))
    });
    assert_eq!(live.ask(|_| panic!("as told")), None::<()>);
    for waiter in waiters {
        assert_ne!(waiter.join().unwrap(), Joined::TimedOut);
    }
    let deadline = Instant::now() + LONG;
    while !live.is_off() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    open(&live, 1, Residency::Hit);
    assert_eq!(live.snapshot(), None);
    fake.release();
    assert!(matches!(live.stop(), Err(SaveError::Off)));
}

#[test]
fn what_was_learned_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    let (live, _) = start(config(Some(path.clone())));
    run(&live);
    live.stop().unwrap();
    assert!(live.saved_at().is_some());

    let (live, fake) = start(config(Some(path.clone())));
    assert_eq!(live.names.lock().find_path(b"f60"), Some(FileId(60)));
    for file in 1..=6 {
        open(&live, file, Residency::Miss);
    }
    fake.wait("the end of the run", |asked| asked.iter().any(|job| is_data(job, FILES)));
    live.stop().unwrap();
}

#[test]
fn a_damaged_model_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    fs::write(&path, b"no model").unwrap();
    let (live, _) = start(config(Some(path.clone())));
    assert!(!path.exists() && dir.path().join("model.damaged-1").exists());
    live.stop().unwrap();
    assert!(path.exists());
}

#[test]
fn a_model_that_cannot_be_written_is_an_error_that_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = start(config(Some(dir.path().join("none/model"))));
    let error = live.stop().unwrap_err();
    assert!(error.to_string().contains("none/model"), "{error}");
    live.stop().unwrap();
}

/// Who asks for the time of the last save does not wait for a disk that does not answer.
#[test]
fn statistics_do_not_wait_for_a_save() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = start(config(Some(dir.path().join("model"))));
    let (to, hold) = crossbeam_channel::bounded::<()>(0);
    let there = live.clone();
    // The engine thread stands for the disk: a save waits for both in the same place.
    let (held, is_held) = crossbeam_channel::bounded(1);
    let wait = move |_: &mut Engine| held.send(()).is_ok() && hold.recv().is_err();
    let engine = std::thread::spawn(move || there.ask(wait));
    is_held.recv().unwrap();
    let there = live.clone();
    let saving = std::thread::spawn(move || there.save());
    while !live.keeper.is_saving() {
        std::thread::yield_now();
    }
    assert_eq!(live.saved_at(), None);
    assert!(live.names.try_lock().is_some() && !saving.is_finished());
    drop(to);
    assert_eq!(engine.join().unwrap(), Some(true));
    saving.join().unwrap().unwrap();
    assert!(live.saved_at().is_some());
    live.stop().unwrap();
}

#[test]
fn the_model_is_saved_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    let (live, _) =
        start(LiveConfig { save_interval: Duration::from_millis(1), ..config(Some(path.clone())) });
    run(&live);
    let deadline = Instant::now() + LONG;
    while !path.exists() {
        assert!(Instant::now() < deadline, "nothing was saved");
        std::thread::sleep(Duration::from_millis(5));
    }
    live.stop().unwrap();
}

#[test]
fn an_open_nobody_looked_at_is_judged_by_its_reads() {
    let (live, _) = start(config(None));
    let read = Op::Read(crate::event::Span { offset: 0, len: 4096 });
    live.note(Note { tid: 0, file: FileId(1), op: read, residency: Residency::Miss });
    open(&live, 1, Residency::Unknown);
    open(&live, 2, Residency::Unknown);
    let deadline = Instant::now() + LONG;
    loop {
        let opens = live.snapshot().unwrap().opens;
        if opens.hit + opens.miss == 2 {
            assert_eq!((opens.total, opens.hit, opens.miss), (2, 1, 1));
            break;
        }
        assert!(Instant::now() < deadline, "{opens:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_driver_without_an_engine_is_harmless() {
    let live = Live::default();
    open(&live, 1, Residency::Miss);
    assert!(live.is_off());
    assert_eq!(live.join(FileId(1), Want::Data), Joined::NotPlanned);
    assert_eq!(live.snapshot(), None);
    assert!(live.detach(Instant::now()));
    assert!(live.watch_opens(Path::new("/")).is_err());
    drop(live.foreground(false));
    live.stop().unwrap();
}

#[test]
fn reads_stand_in_for_opens_that_were_lost() {
    let (live, _) = start(config(None));
    live.desk.overflowed();
    let read = |offset| Op::Read(crate::event::Span { offset, len: 4096 });
    for offset in [0, 4096, 0] {
        live.note(Note { tid: 0, file: FileId(1), op: read(offset), residency: Residency::Miss });
    }
    live.note(Note { tid: 0, file: FileId(2), op: read(1 << 20), residency: Residency::Miss });
    let snapshot = live.snapshot().unwrap();
    assert_eq!((snapshot.opens.total, snapshot.opens.miss, snapshot.events), (1, 1, 5));
    assert_eq!(live.desk.counters.events.lost.get(), 1);
    live.stop().unwrap();
}

#[test]
fn reads_stand_in_for_opens_that_cannot_be_watched() {
    let (live, _) = start(config(None));
    assert!(live.watch_opens(Path::new("/")).is_err(), "nothing is attached");
    live.desk.overflowed();
    assert!(live.desk.reads_stand_in(crate::clock::Micros(u64::MAX - 1)), "for good");
    live.stop().unwrap();
}

#[test]
fn workers_come_with_work() {
    let (live, fake) = start(config(None));
    assert_eq!(live.figures().workers, 0);
    open(&live, 1, Residency::Miss);
    fake.wait("the question about the file", |asked| asked.len() == 1);
    assert_eq!(live.figures().workers, 1);
    live.stop().unwrap();
    assert_eq!(live.figures().workers, 0);
}

/// What was recorded, told to an engine of the same make.
fn replayed(path: &Path) -> crate::trace::Replayed {
    crate::trace::replay(crate::trace::open(path).unwrap()).unwrap()
}

#[test]
fn a_recording_from_the_start_replays_to_the_same_effects() {
    let dir = tempfile::tempdir().unwrap();
    let (model, trace) = (Some(dir.path().join("model")), dir.path().join("trace"));
    for round in 0..2 {
        let record = Some(crate::trace::create(&trace).unwrap());
        record.as_ref().unwrap().set_len(0).unwrap();
        let (live, fake) = start(LiveConfig { record, ..config(model.clone()) });
        assert!(live.is_recording());
        if round == 1 {
            (1..=6).for_each(|file| open(&live, file, Residency::Miss));
            fake.wait("the end of the run", |asked| asked.iter().any(|job| is_data(job, FILES)));
        }
        run(&live);
        live.stop().unwrap();
        let replayed = replayed(&trace);
        assert_eq!(replayed.first, None, "round {round}");
        assert_eq!(replayed.start, Start::Birth);
        assert!(replayed.effects >= u64::from(FILES), "round {round}: {replayed:?}");
        let complete = crate::trace::Tail::Ended(crate::trace::Ending::Complete);
        assert_eq!(replayed.tail, Some(complete));
    }
}

#[test]
fn a_recording_can_begin_and_end_at_any_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (live, _) = start(config(None));
    run(&live);
    live.snapshot().unwrap();
    let recording = live.record(Box::new(crate::trace::create(&path).unwrap()), true).unwrap();
    assert!(matches!(live.record(Box::new(io::sink()), false), Err(RecordError::UnderWay)));
    run(&live);
    live.snapshot().unwrap();
    live.stop_recording(&recording);
    assert!(recording.written.recv_timeout(LONG).is_err() && !live.is_recording());
    run(&live);
    live.stop().unwrap();
    let replayed = replayed(&path);
    assert_eq!(replayed.start, Start::Midlife);
    assert!(replayed.steps > u64::from(FILES), "{replayed:?}");
    let hashed = |record: &crate::trace::Record| match record {
        crate::trace::Record::Name { place: Some(place), .. } => place.component.len() == 16,
        _ => true,
    };
    assert!(crate::trace::open(&path).unwrap().all(|record| hashed(&record.unwrap())));
}

#[test]
fn a_large_model_does_not_hold_up_the_start_and_is_there_for_whoever_asks() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    let (mut names, mut programs) = (crate::names::Names::new(), crate::names::Programs::new());
    (0..60_000).for_each(|n| _ = names.intern_path(format!("some/directory/file-number-{n}").as_bytes()));
    let last = names.find_path(b"some/directory/file-number-59999").unwrap();
    let cat = programs.intern("/usr/bin/cat");
    let (mut name_bytes, mut program_bytes) = (Vec::new(), Vec::new());
    names.save(&mut name_bytes);
    programs.save(&mut program_bytes);
    let learned = Engine::new(config(None).settings).learned();
    fs::write(&model, crate::model::encode(&name_bytes, &program_bytes, &learned)).unwrap();
    let (live, _) = start(config(Some(model)));
    assert_eq!(live.programs.lock().identity(cat), Some("/usr/bin/cat"), "before the rest");
    // Nothing is named before: what is known then is either nothing or all.
    assert!([FileId::ROOT, FileId(last.0 + 1)].contains(&live.names.lock().intern_path(b"new")));
    live.ask(|_| ()).unwrap();
    assert_eq!(live.names.lock().find_path(b"some/directory/file-number-59999"), Some(last));
    assert_ne!(live.names.lock().intern_path(b"new"), FileId::ROOT);
}
