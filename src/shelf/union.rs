//! Two models of the same tree as one, and one for a tree that lies elsewhere.
//!
//! Must stay true: names are united by path, programs by identity; both histories are kept whole, the
//! newer one last, where it wins.

use std::path::Path;

use super::{Parts, ShelfError, Shelved};
use crate::config::PathMap;
use crate::engine::FactTable;
use crate::id::{FileId, ProgramId};
use crate::names::{Names, Programs};
use crate::predict::{History, PastAccess};

impl Shelved {
    /// What both know, to be kept at `path`; `newer` decides where they contradict each other.
    ///
    /// # Errors
    /// One of them is damaged, or has a history that only its predictor can read.
    pub fn unite(older: &Shelved, newer: &Shelved, path: &Path) -> Result<Shelved, ShelfError> {
        let mut all = older.parts("merged")?;
        all.take_in(newer.parts("merged")?);
        Ok(Shelved::of_parts(path, all))
    }
}

impl Shelved {
    /// What it knows of a part of its tree, for a tree in which that lies elsewhere; to be kept at `path`.
    ///
    /// # Errors
    /// It is damaged, or has a history that only its predictor can read.
    pub fn relocate(&self, map: &PathMap, path: &Path) -> Result<Shelved, ShelfError> {
        let there = self.parts("relocated")?;
        let mut here = Parts { names: Names::new(), facts: FactTable::default(), ..there.clone() };
        let moved = |file: u32| map.apply(&there.names.path(FileId(file))?);
        let files: Vec<Option<FileId>> = (0..there.names.len() as u32)
            .map(|file| moved(file).map(|path| here.names.intern_path(&path)))
            .collect();
        unite_facts(&mut here.facts, &there.facts, &files);
        for past in &mut here.history.0 {
            past.file = past.file.and_then(|file| files.get(file.index()).copied().flatten());
        }
        Ok(Shelved::of_parts(path, here))
    }
}

impl Parts {
    fn take_in(&mut self, other: Parts) {
        self.predictor = other.predictor;
        let files = unite_names(&mut self.names, &other.names);
        let programs = unite_programs(&mut self.programs, &other.programs);
        unite_facts(&mut self.facts, &other.facts, &files);
        let file = |file: FileId| files.get(file.index()).copied().flatten();
        let runs = self.history.0.iter().map(|past| past.run).max().unwrap_or(0);
        self.history.0.extend(other.history.0.iter().map(|past| PastAccess {
            file: past.file.and_then(file),
            run: past.run.saturating_add(runs),
            program: programs.get(past.program.index()).copied().unwrap_or(past.program),
            ..*past
        }));
        self.history = History(std::mem::take(&mut self.history.0));
    }
}

/// By the other's number, the number of the same path here.
fn unite_names(names: &mut Names, other: &Names) -> Vec<Option<FileId>> {
    let number = |file: u32| match (FileId(file), other.path(FileId(file))) {
        (FileId::ROOT, _) => Some(FileId::ROOT),
        (_, Some(path)) => Some(names.intern_path(&path)),
        _ => None,
    };
    (0..other.len() as u32).map(number).collect()
}

fn unite_programs(programs: &mut Programs, other: &Programs) -> Vec<ProgramId> {
    let all = (0..other.len() as u32).map(|number| other.identity(ProgramId(number)).unwrap_or_default());
    all.map(|identity| programs.intern(identity)).collect()
}

/// Where only one knows a file, its word counts; where both do, the newer one's.
fn unite_facts(facts: &mut FactTable, other: &FactTable, files: &[Option<FileId>]) {
    for (number, here) in files.iter().enumerate() {
        if let (Some(here), Some(there)) = (here, other.get(FileId(number as u32))) {
            facts.set(*here, there);
        }
    }
}
