//! Writing down what an engine is told, with the names it speaks of, on first use and when they have changed.
//!
//! Must stay true: within one step a file's directory is answered once, and the trace says before the step what was
//! answered: a replay knows the same names at the same time, whatever happens to them meanwhile.

use super::disguise::Disguise;
use super::record::{Ending, Part, Place, Record, Setting};
use super::writer::Framer;
use crate::engine::{Effect, Learned, Step};
use crate::event::Facts;
use crate::id::{FileId, IdMap, ProgramId};
use crate::names::{Names, Programs};

/// Turns steps and effects into the bytes of a trace. Does no input or output.
#[derive(Debug)]
pub struct Recorder {
    framer: Framer,
    /// As of the last `take`.
    taken: Framer,
    out: Vec<u8>,
    disguise: Option<Disguise>,
    /// What the trace says of each file, by number.
    told: Vec<Option<Place>>,
    /// What was answered in the present step.
    answered: IdMap<FileId, Option<FileId>>,
}

impl Recorder {
    /// Begins a trace; with a disguise, names become hashes.
    pub fn new(setting: &Setting, disguise: Option<Disguise>) -> Self {
        let mut out = Vec::new();
        let mut framer = Framer::start(&mut out);
        framer.put(&Record::Setting(setting.clone()), &mut out);
        Recorder { framer, taken: framer, out, disguise, told: vec![None], answered: IdMap::default() }
    }

    /// What the engine knew before. All names and programs come with it, for it speaks of them by number. Before the first step.
    pub fn learned(&mut self, learned: &Learned, names: &Names, programs: &Programs) {
        self.introduce(FileId(names.len().saturating_sub(1) as u32), names);
        self.introduce_programs(programs.len(), programs);
        for (part, bytes) in [(Part::Facts, &learned.facts), (Part::History, &learned.history)] {
            for piece in bytes.chunks(Part::PIECE) {
                self.put(Record::Learned { part, bytes: piece.to_vec() });
            }
        }
    }

    /// The directory of a file, as the engine is to be answered.
    pub fn parent(&mut self, file: FileId, names: &Names) -> Option<FileId> {
        if let Some(&answer) = self.answered.get(&file) {
            return answer;
        }
        self.describe(file, names);
        let answer = names.parent(file);
        self.answered.insert(file, answer);
        answer
    }

    /// The engine took a step, and asked for `effects`.
    pub fn step(&mut self, step: &Step, effects: &[Effect], names: &Names, programs: &Programs) {
        if let Some(file) = file_of(step) {
            self.describe_path(file, names);
        }
        if let Step::Listed(listing) = step {
            listing.entries.iter().for_each(|entry| self.describe_path(entry.file, names));
        }
        for effect in effects {
            if let Effect::Prefetch(job) = effect {
                self.describe_path(job.file, names);
            }
        }
        if let Some(program) = program_of(step) {
            self.introduce_programs(program.index() + 1, programs);
        }
        self.put(Record::Step(step.clone()));
        effects.iter().for_each(|&effect| self.put(Record::Effect(effect)));
        self.answered.clear();
    }

    /// Something is known of a file without an engine having asked.
    pub fn facts(&mut self, file: FileId, facts: Facts, names: &Names) {
        self.describe_path(file, names);
        self.put(Record::Facts { file, facts });
    }

    /// The bytes since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        self.taken = self.framer;
        std::mem::take(&mut self.out)
    }

    /// Bytes that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.out.len()
    }

    /// The last bytes: what waits, and the end.
    pub fn finish(mut self) -> Vec<u8> {
        self.put(Record::End(Ending::Complete));
        self.out
    }

    /// The end that belongs behind what was taken last: what came after it is thrown away.
    pub fn fall_behind(mut self) -> Vec<u8> {
        self.out.clear();
        self.taken.put(&Record::End(Ending::Behind), &mut self.out);
        self.out
    }

    fn put(&mut self, record: Record) {
        let record = match &self.disguise {
            Some(disguise) => disguise.record(record),
            None => record,
        };
        self.framer.put(&record, &mut self.out);
    }

    /// Describes a file and the directories above it.
    fn describe_path(&mut self, file: FileId, names: &Names) {
        let mut at = Some(file);
        // Names know no circles; this is for a rename in between, which cannot be.
        let mut left = self.told.len() + names.len();
        while let Some(file) = at.filter(|_| left > 0) {
            left -= 1;
            if !self.answered.contains_key(&file) {
                self.describe(file, names);
            }
            at = self.told.get(file.index()).and_then(|place| Some(place.as_ref()?.parent));
        }
    }

    /// Writes down what a number stands for, if the trace says something else or nothing yet.
    fn describe(&mut self, file: FileId, names: &Names) {
        if file == FileId::ROOT {
            return;
        }
        self.introduce(file, names);
        let told = self.told[file.index()].as_ref().map(|place| (place.parent, place.component.as_slice()));
        if told != names.place(file) {
            let place = place_of(file, names);
            // The directory's number has to be introduced too.
            if let Some(place) = &place {
                self.introduce(place.parent, names);
            }
            self.told[file.index()].clone_from(&place);
            self.put(Record::Name { file, place });
        }
    }

    /// Introduces all numbers to this one, and to those of the directories they are in.
    fn introduce(&mut self, file: FileId, names: &Names) {
        let mut last = file;
        while self.told.len() <= last.index() {
            let next = FileId(self.told.len() as u32);
            let place = place_of(next, names);
            last = last.max(place.as_ref().map_or(last, |place| place.parent));
            self.told.push(place.clone());
            self.put(Record::Name { file: next, place });
        }
    }

    fn introduce_programs(&mut self, count: usize, programs: &Programs) {
        let (_, known) = self.framer.introduced();
        for number in known..count as u32 {
            let program = ProgramId(number);
            let mut identity = programs.identity(program).unwrap_or_default().to_owned();
            while identity.len() > IDENTITY_MAX {
                identity.pop();
            }
            self.put(Record::Program { program, identity });
        }
    }
}

/// Longer paths of programs are cut: PATH_MAX is this.
const IDENTITY_MAX: usize = 4096;

fn place_of(file: FileId, names: &Names) -> Option<Place> {
    names.place(file).map(|(parent, component)| Place { parent, component: component.to_vec() })
}

fn file_of(step: &Step) -> Option<FileId> {
    match step {
        Step::Access(event) => Some(event.file),
        Step::Judge(_, _, file, _) | Step::Forget(file) => Some(*file),
        Step::Listed(listing) => Some(listing.dir),
        _ => None,
    }
}

fn program_of(step: &Step) -> Option<ProgramId> {
    match step {
        Step::Begin(_, origin) => Some(origin.program),
        Step::Exec(_, program) => Some(*program),
        _ => None,
    }
}
