//! A trace in a few figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::record::Record;
use super::show::{Teller, op_name};
use crate::engine::{Effect, Step};

/// Counts over a whole trace. Memory grows with its programs, files and living processes.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Accesses by program, by operation.
    pub programs: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// Time from the first step to the last, in microseconds.
    pub span_us: u64,
    /// Files accessed.
    pub files: u64,
    /// Processes.
    pub streams: u64,
    /// Steps of all kinds.
    pub steps: u64,
    /// Jobs asked for.
    pub jobs: u64,
    /// Jobs asked not to be done after all.
    pub withdrawn: u64,
    #[serde(skip)]
    accessed: BTreeSet<u32>,
    #[serde(skip)]
    first: Option<u64>,
    #[serde(skip)]
    teller: Teller,
}

impl Summary {
    /// Takes in a record.
    pub fn hear(&mut self, record: &Record) {
        self.teller.tell(record);
        match record {
            Record::Step(step) => self.step(step),
            Record::Effect(Effect::Prefetch(_)) => self.jobs += 1,
            Record::Effect(Effect::Withdraw(_)) => self.withdrawn += 1,
            _ => {}
        }
    }

    fn step(&mut self, step: &Step) {
        self.steps += 1;
        match step {
            Step::Begin(..) => self.streams += 1,
            Step::Access(event) => {
                let program = self.teller.program_of(event.stream).filter(|program| !program.is_empty());
                let program = program.unwrap_or("(unknown)").to_owned();
                *self.programs.entry(program).or_default().entry(op_name(event.op)).or_default() += 1;
                self.accessed.insert(event.file.0);
                self.files = self.accessed.len() as u64;
            }
            _ => {}
        }
        let timed = matches!(step, Step::Access(_) | Step::Judge(..) | Step::Settled(..) | Step::Tick(_));
        if timed {
            let now = self.teller.now().0;
            self.span_us = now.saturating_sub(*self.first.get_or_insert(now));
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { files, streams, steps, jobs, withdrawn, .. } = self;
        writeln!(f, "{:.3} s, {streams} processes, {files} files, {steps} steps", self.span_us as f64 / 1e6)?;
        writeln!(f, "{jobs} jobs asked for, {withdrawn} withdrawn")?;
        for (program, ops) in &self.programs {
            let counts: Vec<String> = ops.iter().map(|(op, count)| format!("{op} {count}")).collect();
            let program: String = program.chars().flat_map(char::escape_default).collect();
            writeln!(f, "{program}: {}", counts.join(", "))?;
        }
        Ok(())
    }
}
