//! `augurfs trace check`: does a replay ask for what the trace says was asked for?

use std::path::Path;

use crate::cli::{FAILURE, say};
use crate::engine::Effect;
use crate::trace::{self, Difference, Ending, Record, Replayed, Start, Tail, Teller, TraceError};

/// Says what came of it. The exit code is 1 where something differs, or where the trace has no end.
pub(super) fn check(path: &Path) -> anyhow::Result<u8> {
    let replayed = trace::replay(trace::open(path)?)?;
    say(&format!("{}\n", verdict(&replayed)))?;
    if let Some(first) = &replayed.first {
        say(&difference(path, first)?)?;
    }
    let end = match replayed.tail {
        Some(Tail::Torn { at, lost }) => {
            Some(format!("it is torn off at byte {at}; {lost} bytes behind that are no record\n"))
        }
        Some(Tail::Ended(Ending::Behind)) => {
            Some("the recording fell behind: what came after its end is missing\n".to_owned())
        }
        _ => None,
    };
    say(end.as_deref().unwrap_or_default())?;
    Ok(if replayed.differing > 0 || end.is_some() { FAILURE } else { 0 })
}

fn verdict(replayed: &Replayed) -> String {
    let Replayed { steps, effects, differing, .. } = replayed;
    let verdict = match (replayed.start, differing) {
        (Start::Imported, _) => "imported: there are no effects to compare".to_owned(),
        (_, 0) => "the replay asked for the same".to_owned(),
        (Start::Midlife, _) => {
            format!("{differing} steps had other effects, as may be when the recording began in the middle")
        }
        (Start::Birth, _) => format!("{differing} steps had other effects"),
    };
    format!("{steps} steps, {effects} effects: {verdict}")
}

/// The first step whose effects differ, in the words of `trace show`. The trace is read once more, for its names.
fn difference(path: &Path, first: &Difference) -> Result<String, TraceError> {
    let mut reader = trace::open(path)?;
    let mut teller = Teller::default();
    while reader.at() < first.at {
        let Some(record) = reader.next().transpose()? else { break };
        teller.tell(&record);
    }
    let step = told(&mut teller, &Record::Step(first.step.clone()));
    let mut effect = |effects: &[Effect]| match effects.first() {
        Some(effect) => told(&mut teller, &Record::Effect(*effect)),
        None => "nothing more".into(),
    };
    let (recorded, replayed) = (effect(&first.recorded), effect(&first.replayed));
    Ok(format!(
        "the first is step {}, at byte {}:\n  {step}\n  recorded: {recorded}\n  replayed: {replayed}\n",
        first.number, first.at
    ))
}

fn told(teller: &mut Teller, record: &Record) -> String {
    teller.tell(record).map_or_else(String::new, |shown| shown.to_string().trim_start().to_owned())
}
