//! A trace (`crate::trace`) as a pass of a workload.

use std::io::Read;

use super::Recordings;
use super::retelling::{Names, Retelling};
use crate::engine::{Effect, Step};
use crate::id::{FileId, IdMap, JobId, ProgramId};
use crate::trace::{KnownNames, Reader, Record, TraceError};

/// Names at the point that has been read.
#[derive(Default)]
struct Known {
    files: KnownNames,
    programs: Vec<String>,
}

impl Names for Known {
    fn path(&self, file: FileId) -> Option<String> {
        self.files.path(file).map(|path| String::from_utf8_lossy(&path).into_owned())
    }

    fn program(&self, program: ProgramId) -> String {
        self.programs.get(program.index()).cloned().unwrap_or_default()
    }
}

impl Recordings {
    /// Takes in a trace, to where it ends or is torn.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn add_trace(&mut self, trace: Reader<impl Read>) -> Result<(), TraceError> {
        let mut known = Known::default();
        let mut jobs: IdMap<JobId, FileId> = IdMap::default();
        let mut told = Retelling::new(&mut self.draft);
        for record in trace {
            let record = record?;
            known.files.hear(&record);
            match record {
                Record::Program { identity, .. } => known.programs.push(identity),
                Record::Facts { file, facts } => told.know(file, facts, &known),
                Record::Effect(Effect::Prefetch(job)) => {
                    jobs.insert(job.id, job.file);
                }
                Record::Step(step) => {
                    told.step(&step, &known);
                    if let Step::Settled(_, job, outcome) = step
                        && let (Some(file), Some(facts)) = (jobs.remove(&job), outcome.facts())
                    {
                        told.know(file, facts, &known);
                    }
                }
                _ => {}
            }
        }
        told.finish();
        Ok(())
    }
}
