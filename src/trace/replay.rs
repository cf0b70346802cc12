//! A trace, told once more to an engine of the same make: does it ask for the same?

use std::io::Read;
use std::sync::Arc;

use parking_lot::Mutex;

use super::record::{Part, Record, Setting, Start};
use super::{KnownNames, Reader, Tail, TraceError};
use crate::config::Scope;
use crate::engine::{Effect, Engine, Learned, Settings, Step};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Where the trace begins. Only from [`Start::Birth`] on must the effects be the same.
    pub start: Start,
    /// Steps taken.
    pub steps: u64,
    /// Effects the trace tells of.
    pub effects: u64,
    /// Steps whose effects differed.
    pub differing: u64,
    /// The first of them.
    pub first: Option<Difference>,
    /// How the trace ended.
    pub tail: Option<Tail>,
}

/// A step that had other effects than the trace says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where the step stands in the trace, in bytes.
    pub at: u64,
    /// Which step, counted from 1.
    pub number: u64,
    /// The step.
    pub step: Step,
    /// What the trace says it asked for, from the first effect that differs.
    pub recorded: Vec<Effect>,
    /// What it asked for now, from there.
    pub replayed: Vec<Effect>,
}

/// Tells a trace to a new engine made with its settings, and compares effects step by step.
///
/// # Errors
/// The trace cannot be read to its end, or no such engine be made. A torn tail is no error.
pub fn replay<R: Read>(mut reader: Reader<R>) -> Result<Replayed, TraceError> {
    let mut replay = Replay::start(&mut reader)?;
    loop {
        let at = reader.at();
        let Some(record) = reader.next().transpose()? else { break };
        replay.hear(record, at, reader.name())?;
    }
    replay.judge();
    replay.verdict.tail = reader.tail();
    // The last step of a torn trace may have lost effects.
    if let (Some(Tail::Torn { .. }), Some(difference)) = (reader.tail(), &replay.verdict.first)
        && difference.number == replay.verdict.steps
        && difference.recorded.is_empty()
    {
        replay.verdict.differing -= 1;
        replay.verdict.first = None;
    }
    Ok(replay.verdict)
}

/// A replay under way.
struct Replay {
    engine: Engine,
    names: Arc<Mutex<KnownNames>>,
    learned: Learned,
    verdict: Replayed,
    /// The last step and where it stands, until its effects have been compared.
    step: Option<(Step, u64)>,
    recorded: Vec<Effect>,
    replayed: Vec<Effect>,
}

impl Replay {
    fn start<R: Read>(reader: &mut Reader<R>) -> Result<Self, TraceError> {
        let at = reader.at();
        let Some(Record::Setting(setting)) = reader.next().transpose()? else {
            return Err(reader.damaged(at, "the settings of an engine"));
        };
        let Setting { predictor, scope, budget, start } = setting;
        let name = || reader.name().to_owned();
        let choice = predictor.parse().map_err(|error| TraceError::Predictor { name: name(), error })?;
        let scope = Scope::from_word(&scope)
            .ok_or_else(|| TraceError::Scope { name: name(), scope: scope.clone() })?;
        let mut engine = Engine::new(Settings { predictor: choice, scope, budget });
        let names = Arc::new(Mutex::new(KnownNames::default()));
        let known = names.clone();
        engine.set_parents(Box::new(move |file| known.lock().parent(file)));
        let learned = Learned { predictor: choice.to_string(), ..Learned::default() };
        let verdict = Replayed { start, steps: 0, effects: 0, differing: 0, first: None, tail: None };
        let (step, recorded, replayed) = Default::default();
        Ok(Replay { engine, names, learned, verdict, step, recorded, replayed })
    }

    fn hear(&mut self, record: Record, at: u64, name: &str) -> Result<(), TraceError> {
        match record {
            Record::Learned { part: Part::Facts, bytes } => self.learned.facts.extend(bytes),
            Record::Learned { part: Part::History, bytes } => self.learned.history.extend(bytes),
            Record::Effect(effect) => {
                self.verdict.effects += 1;
                self.recorded.push(effect);
            }
            Record::Step(step) => {
                self.judge();
                self.take_up(name)?;
                self.verdict.steps += 1;
                self.engine.take(&step, &mut self.replayed);
                self.step = Some((step, at));
            }
            Record::Name { .. } | Record::Program { .. } => self.names.lock().hear(&record),
            Record::Setting(_) | Record::Facts { .. } | Record::End(_) => {}
        }
        Ok(())
    }

    /// What was learned before, at the first step after it.
    fn take_up(&mut self, name: &str) -> Result<(), TraceError> {
        if self.learned.facts.is_empty() && self.learned.history.is_empty() {
            return Ok(());
        }
        let files = self.names.lock().files();
        let restored = self.engine.restore(&self.learned, files);
        restored.map_err(|error| TraceError::Learned { name: name.to_owned(), error })?;
        (self.learned.facts, self.learned.history) = Default::default();
        Ok(())
    }

    /// Compares the effects of the last step.
    fn judge(&mut self) {
        let Some((step, at)) = self.step.take() else { return };
        if self.recorded != self.replayed && self.verdict.start != Start::Imported {
            self.verdict.differing += 1;
            let same = self.recorded.iter().zip(&self.replayed).take_while(|(a, b)| a == b).count();
            let (recorded, replayed) = (self.recorded.split_off(same), self.replayed.split_off(same));
            let number = self.verdict.steps;
            self.verdict.first.get_or_insert(Difference { at, number, step, recorded, replayed });
        }
        self.recorded.clear();
        self.replayed.clear();
    }
}
