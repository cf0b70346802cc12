//! The model file, and what engines take up from it.

use augurfs::clock::Micros;
use augurfs::config::Scope;
use augurfs::engine::{Engine, Learned, Settings, Step};
use augurfs::event::{AccessEvent, Op, Origin, Residency};
use augurfs::id::{FileId, GroupId, ProgramId, SessionId, StreamId};
use augurfs::model::{self, ModelError};
use augurfs::names::{Names, Programs};
use augurfs::predict::LoadError;

use super::mutate::cases;

const FILES: u32 = 50;
const PREDICTORS: [&str; 3] = ["default", "match", "pcm:32/2/0.3"];

fn engine(predictor: &str) -> Engine {
    Engine::new(Settings { predictor: predictor.parse().unwrap(), scope: Scope::Job, budget: 1 << 20 })
}

/// What an engine has learned from three runs over fifty files.
fn learned(predictor: &str) -> Learned {
    let (mut engine, mut effects) = (engine(predictor), Vec::new());
    for run in 1..=3 {
        let (stream, origin) = (
            StreamId(run),
            Origin { parent: None, program: ProgramId(0), group: GroupId(run), session: SessionId(0) },
        );
        engine.take(&Step::Begin(stream, origin), &mut effects);
        for file in (1..=FILES).map(FileId) {
            let at = Micros(u64::from(run * FILES + file.0) * 100);
            let (op, residency) = (Op::Open, Residency::Miss);
            engine.take(&Step::Access(AccessEvent { at, stream, file, op, residency }), &mut effects);
        }
    }
    engine.learned()
}

fn model(predictor: &str) -> Vec<u8> {
    let (mut names, mut programs) = (Names::new(), Programs::new());
    for file in 1..=FILES {
        names.intern_path(format!("d/f{file}").as_bytes());
    }
    programs.intern("/usr/bin/cat");
    let (mut n, mut p) = (Vec::new(), Vec::new());
    names.save(&mut n);
    programs.save(&mut p);
    model::encode(&n, &p, &learned(predictor))
}

/// The same sections with the checksums that belong to them.
fn seal(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 12;
    while let Some(head) = out.get(at..at + 16) {
        let length = u64::from_le_bytes(head[4..12].try_into().unwrap());
        let end = usize::try_from(length).ok().and_then(|length| (at + 16).checked_add(length));
        let Some(content) = end.and_then(|end| out.get(at + 16..end)) else { break };
        let sum = crc32c::crc32c(content);
        let end = at + 16 + content.len();
        out[at + 12..at + 16].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
    out
}

#[test]
fn any_model_is_read_or_refused() {
    let seeds = PREDICTORS.map(model);
    assert_eq!(seal(&seeds[0]), seeds[0]);
    cases(&seeds, 1, |bytes| {
        for bytes in [bytes.to_vec(), seal(bytes)] {
            match model::decode(&bytes) {
                // An entry, its place in the table and its bytes.
                Ok(model) => assert!(model.names.bytes() <= 4096 + 64 * bytes.len()),
                Err(ModelError::Checksum { at, .. } | ModelError::Damaged { at, .. }) => {
                    assert!(at <= bytes.len());
                }
                Err(ModelError::Foreign | ModelError::Version { .. }) => {}
            }
        }
    });
}

#[test]
fn anything_learned_is_taken_up_or_refused() {
    for predictor in PREDICTORS {
        let whole = learned(predictor);
        let mut engine = engine(predictor);
        let clean = engine.learned();
        cases(&[whole.history.clone(), whole.facts.clone()], 3, |bytes| {
            for (facts, history) in [(&whole.facts[..], bytes), (bytes, &whole.history[..])] {
                let (facts, history) = (facts.to_vec(), history.to_vec());
                let learned = Learned { facts, history, predictor: predictor.to_owned() };
                if let Err(LoadError::Damaged(error)) = engine.restore(&learned, FILES as usize + 1) {
                    assert!(error.at <= learned.facts.len().max(learned.history.len()));
                }
                assert!(engine.restore(&clean, 1).unwrap());
            }
        });
    }
}
