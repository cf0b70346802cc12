//! What a model is and holds, in figures.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::{ShelfError, Shelved};
use crate::id::ProgramId;
use crate::predict::{Kind, PastAccess};

/// What a model is and holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Which predictor made it, with its parameters.
    pub predictor: String,
    /// The version of the file's format.
    pub version: u16,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Names of files and directories.
    pub names: u64,
    /// Files whose place and size are known.
    pub facts: u64,
    /// Accesses in the history, as far as it can be read.
    pub accesses: u64,
    /// Runs it consists of.
    pub runs: u64,
    /// Accesses of these that later runs repeated, and that are part of scans.
    pub repeated: u64,
    /// See `repeated`.
    pub scanned: u64,
    /// Programs by what they opened, most first.
    pub programs: Vec<ProgramUse>,
    /// When the file was saved, in seconds since 1970. The history itself has an order and no dates.
    pub saved_at: Option<u64>,
    /// The first file of the oldest run that is still there, and that of the newest.
    pub oldest: Option<String>,
    /// See `oldest`.
    pub newest: Option<String>,
}

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgramUse {
    /// Its identity.
    pub program: String,
    /// Opens and listings.
    pub opens: u64,
    /// Files and directories among them.
    pub files: u64,
}

impl Shelved {
    /// What it is and holds. Of a history that only its predictor can read, no more than the engine tells.
    ///
    /// # Errors
    /// What it says is damaged, or its predictor is unknown.
    pub fn survey(&self) -> Result<Survey, ShelfError> {
        let mut survey = Survey {
            predictor: self.model.learned.predictor.clone(),
            version: crate::model::VERSION,
            bytes: self.bytes,
            names: self.model.names.listing().filter(|listed| !listed.gone).count() as u64,
            saved_at: saved_at(&self.path),
            ..Survey::default()
        };
        match self.parts("shown") {
            Ok(parts) => {
                // The source itself has no name, and is not counted as one.
                let files = parts.names.len() as u32;
                let known = (1..files).filter(|&file| parts.facts.get(crate::id::FileId(file)).is_some());
                survey.facts = known.count() as u64;
                self.count(&parts.history.0, &mut survey);
            }
            Err(ShelfError::Opaque { .. }) => survey.accesses = self.engine()?.snapshot().nodes,
            Err(error) => return Err(error),
        }
        Ok(survey)
    }

    fn count(&self, past: &[PastAccess], survey: &mut Survey) {
        survey.accesses = past.len() as u64;
        survey.runs =
            past.iter().map(|access| access.run).collect::<std::collections::BTreeSet<_>>().len() as u64;
        survey.repeated = past.iter().filter(|access| access.repeated).count() as u64;
        survey.scanned = past.iter().filter(|access| access.scan).count() as u64;
        let path = |access: &PastAccess| {
            self.model.names.path(access.file?).map(|path| crate::codec::text::to_text(&path))
        };
        survey.oldest = past.iter().find_map(path);
        survey.newest = past.iter().rev().find_map(path);
        survey.programs = self.programs(past);
    }

    fn programs(&self, past: &[PastAccess]) -> Vec<ProgramUse> {
        let mut uses: BTreeMap<ProgramId, Vec<u32>> = BTreeMap::new();
        for access in past.iter().filter(|access| access.kind != Kind::Lookup) {
            uses.entry(access.program).or_default().extend(access.file.map(|file| file.0));
        }
        let mut all: Vec<ProgramUse> = uses
            .into_iter()
            .map(|(program, mut files)| {
                let opens = files.len() as u64;
                files.sort_unstable();
                files.dedup();
                let program = self.model.programs.identity(program).unwrap_or("(unknown)").to_owned();
                ProgramUse { program, opens, files: files.len() as u64 }
            })
            .collect();
        all.retain(|program| program.opens > 0);
        all.sort_by(|a, b| b.opens.cmp(&a.opens).then_with(|| a.program.cmp(&b.program)));
        all
    }
}

fn saved_at(path: &std::path::Path) -> Option<u64> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}
