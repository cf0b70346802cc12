//! What is learned keeps within its memory, and the file with it, however long it goes on.

use super::*;
use crate::names::{Names, Programs};
use parking_lot::Mutex;

const MIB: u64 = 1 << 20;

/// An engine, the names it speaks of, and what it costs to remember them.
struct Learner {
    engine: Engine,
    names: Mutex<Names>,
    now: Micros,
    groups: u32,
}

impl Learner {
    fn new(memory: u64) -> Self {
        Learner::with(PredictorChoice::Default, memory)
    }

    fn with(predictor: PredictorChoice, memory: u64) -> Self {
        let (mut engine, mut names) = (Engine::new(Settings { predictor, ..MATCH }), Names::new());
        engine.set_memory(&mut names, memory);
        Learner { engine, names: Mutex::new(names), now: Micros(0), groups: 0 }
    }

    /// A job that opens these files; each is looked at, as a worker would.
    fn job(&mut self, program: u32, paths: impl Iterator<Item = String>) {
        self.groups += 1;
        let stream = StreamId(self.groups);
        let (program, group, session) = (ProgramId(program), GroupId(self.groups), SessionId(0));
        let origin = Origin { parent: None, program, group, session };
        self.engine.begin(stream, origin);
        let mut effects = Vec::new();
        for path in paths {
            let file = self.names.lock().intern_path(path.as_bytes());
            self.now = self.now + Duration::from_micros(10);
            let residency = Residency::Hit;
            let event = AccessEvent { at: self.now, stream, file, op: Op::Open, residency };
            self.engine.observe(&event, &mut effects);
            for effect in std::mem::take(&mut effects) {
                let Effect::Prefetch(job) = effect else { continue };
                let inode = u64::from(job.file.0) + 1;
                let facts = Facts { inode, size: 5_000, extent: inode << 12, directory: false };
                self.engine.settle(self.now, job.id, Outcome::Resident { facts }, &mut effects);
            }
            // A mount looks after it several times a second.
            if self.now.0.is_multiple_of(4_096) {
                self.tidy();
            }
        }
        self.engine.end(stream);
        for _ in 0..2 {
            self.now = self.now + Duration::from_secs(3);
            self.engine.tick(self.now, &mut effects);
        }
        self.tidy();
    }

    fn tidy(&mut self) {
        let nameless = self.engine.tidy(&self.names);
        self.engine.forget_nameless(&nameless);
        self.names.lock().recycle(&nameless);
    }

    /// Everything that is held for what was learned.
    fn bytes(&self) -> u64 {
        self.names.lock().bytes() as u64 + self.engine.snapshot().bytes
    }

    fn file(&self) -> Vec<u8> {
        let (mut names, mut programs) = (Vec::new(), Vec::new());
        self.names.lock().save(&mut names);
        Programs::new().save(&mut programs);
        crate::model::encode(&names, &programs, &self.engine.learned())
    }
}

/// Paths as they are in source trees: 20 files a directory, names of 15 bytes on average.
fn path(number: u32) -> String {
    let (directory, above) = (number / 20, number / 400);
    format!("package-{above}/module-{directory}/source-{number:07}.c")
}

#[test]
fn a_million_files_fit_into_the_default() {
    let mut learner = Learner::new(128 * MIB);
    // No job of these is long enough to be taken for a scan, so that the history holds every access.
    for job in 0..100 {
        learner.job(job % 7, (job * 10_000..(job + 1) * 10_000).map(path));
    }
    assert_eq!(learner.engine.snapshot().nodes, 1_000_000);
    assert!(learner.names.lock().len() > 1_000_000, "all of them are known");
    let bytes = learner.bytes();
    assert!(bytes <= 128 * MIB, "{bytes} bytes held");
    assert!(
        bytes / learner.names.lock().len() as u64 <= 150,
        "{bytes} bytes for {} names",
        learner.names.lock().len()
    );
}

#[test]
fn a_year_of_change_leaves_memory_and_file_bounded() {
    let mut learner = Learner::new(MIB);
    let (mut largest, mut file) = (0, 0);
    for day in 0..365u32 {
        // Two jobs over a tree of which a tenth is new each day, and one over nothing but new files.
        let tree = move || (day * 20..day * 20 + 200).map(path);
        learner.job(1, tree());
        learner.job(2, tree().rev());
        learner.job(3, (0..80).map(|number| format!("build/{day}/object-{number}.o")));
        largest = largest.max(learner.bytes());
        if day % 30 == 29 {
            file = file.max(learner.file().len());
        }
    }
    assert!(largest <= MIB, "{largest} bytes held");
    assert!(file <= MIB as usize, "{file} bytes in the file");
    assert_eq!(learner.names.lock().find_path(path(0).as_bytes()), None, "the first day is forgotten");
    let known = |number: u32| learner.names.lock().find_path(path(number).as_bytes()).is_some();
    assert!((364 * 20..364 * 20 + 200).all(known), "the last is not");
}

#[test]
fn long_names_and_small_limits_are_borne() {
    for memory in [MIB, 2 * MIB] {
        let mut learner = Learner::new(memory);
        for job in 0..12 {
            learner.job(1, (0..2_000).map(|number| format!("{job}/{}{number}", "long".repeat(40))));
            assert!(learner.bytes() <= memory, "{} bytes held", learner.bytes());
        }
    }
}

#[test]
fn every_predictor_keeps_within_its_memory_and_forgets_what_was_used_least() {
    for (name, _) in crate::config::PREDICTORS {
        let mut learner = Learner::with(name.parse().unwrap(), MIB);
        for day in 0..60u32 {
            // Two jobs that come each day, and one that never comes again.
            for _ in 0..2 {
                learner.job(1, (0..200).map(path));
            }
            learner.job(2, (0..800).map(|number| path(1_000 + day * 800 + number)));
            assert!(learner.bytes() <= MIB, "{name}, day {day}: {} bytes held", learner.bytes());
        }
        let known = |number: u32| learner.names.lock().find_path(path(number).as_bytes()).is_some();
        assert!((0..200).all(known), "{name} forgot what is used each day");
    }
}
