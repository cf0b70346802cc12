//! One run: training passes, then measured ones, each from empty memory; and what it came to.
//!
//! What must stay true: the same workload and settings come to the same figures, except for `cost`.

use std::time::Duration;

use super::account::Tally;
use super::driver::Script;
use super::machine::Machine;
use super::workload::Workload;
use crate::config::Scope;
use crate::device::{Kind, Nanos};
use crate::engine::{self, Engine, Step};
use crate::id::FileId;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::sys::thread::cpu_time;

/// What a run is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What predicts.
    pub predictor: PredictorChoice,
    /// Whose accesses form one stream.
    pub scope: Scope,
    /// Most bytes warmed ahead and not yet used.
    pub budget: u64,
    /// Bytes of memory for files.
    pub cache: u64,
    /// Who leaves memory first.
    pub policy: Policy,
    /// Where the files lie.
    pub device: Kind,
    /// For the device's rotations.
    pub seed: u64,
    /// Passes before the first one that is measured.
    pub training: usize,
    /// Passes that are measured.
    pub measured: usize,
    /// Everything is in memory all the time.
    pub hot: bool,
    /// Measure the real cost of the engine.
    pub cost: bool,
    /// Write down what the engine is told and asks for.
    pub script: bool,
}

/// What the measured passes of a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Mean time of a pass.
    pub elapsed: Nanos,
    /// Opens of regular files.
    pub opens: u64,
    /// Opens before which this very file was expected.
    pub right: u64,
    /// Opens before which another file was expected.
    pub wrong: u64,
    /// Opens that found all bytes in memory.
    pub hit: u64,
    /// Opens that waited for bytes that were on their way already.
    pub partial: u64,
    /// Opens that had to have bytes read.
    pub miss: u64,
    /// Bytes brought ahead.
    pub warmed: u64,
    /// Of these, bytes that were there when their file was opened.
    pub in_time: u64,
    /// Bytes that were still on their way.
    pub late: u64,
    /// Bytes nobody used before they left memory, or at all.
    pub wasted: u64,
    /// From the asking for a file to its first use, in opens (by anybody, itself included).
    pub lead_opens: Spread,
    /// The same in microseconds.
    pub lead_micros: Spread,
    /// Memory that the engine holds in the end, in bytes.
    pub model: u64,
    /// Real nanoseconds that the engine took, for each access it was told of.
    pub cost: Option<f64>,
}

/// How values are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub p50: u64,
    /// Nine of ten are no larger.
    pub p90: u64,
    /// The largest.
    pub most: u64,
}

/// A run that was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// What the measured passes came to.
    pub figures: Figures,
    /// What the engine was told and asked for in all passes, if it was to be written down.
    pub script: Option<Script>,
}

/// Does a run. A workload without passes takes no time.
pub fn run(workload: &Workload, settings: &Settings) -> Done {
    let roomy = Settings { cache: if settings.hot { u64::MAX } else { settings.cache }, ..*settings };
    let mut machine = Machine::new(workload, &roomy);
    let mut tally = Tally::default();
    let mut elapsed: Nanos = 0;
    let mut learning = 0;
    for number in 0..settings.training + settings.measured {
        let Some(pass) = workload.pass(number) else { break };
        machine.kernel.empty();
        if settings.hot {
            machine.kernel.fill();
        }
        let time = machine.run(pass);
        debug_assert!(machine.driver.account.tally.is_sound());
        let of_pass = machine.driver.account.close();
        if number >= settings.training {
            elapsed += time;
            tally.add(of_pass);
        } else {
            learning = machine.driver.steps();
        }
    }
    let mut figures = figures(tally);
    figures.elapsed = elapsed / settings.measured.max(1) as u64;
    figures.model = machine.driver.engine.snapshot().bytes;
    let script = machine.driver.into_script();
    if let Some(script) = script.as_ref().filter(|_| settings.cost) {
        figures.cost = Some(cost(settings.engine(workload), &script.steps, learning));
    }
    Done { figures, script: script.filter(|_| settings.script) }
}

/// Real nanoseconds on a processor for each access among the steps behind the first `learning`. Done once more
/// for the purpose: the reading of a clock at each step would cost more than most steps.
fn cost(mut engine: Engine, steps: &[Step], learning: usize) -> f64 {
    let (learned, measured) = steps.split_at(learning);
    let mut effects = Vec::new();
    let mut take = |steps: &[Step]| -> Duration {
        let start = cpu_time();
        for step in steps {
            effects.clear();
            engine.take(step, &mut effects);
        }
        cpu_time().saturating_sub(start)
    };
    take(learned);
    let accesses = measured.iter().filter(|step| matches!(step, Step::Access(_))).count();
    take(measured).as_nanos() as f64 / accesses.max(1) as f64
}

impl Settings {
    /// An engine made with these that knows the workload's directories, and nothing else.
    pub(super) fn engine(&self, workload: &Workload) -> Engine {
        let mut engine = Engine::new(engine::Settings {
            predictor: self.predictor,
            scope: self.scope,
            budget: self.budget,
        });
        let parents: Vec<FileId> = workload.files.iter().map(|file| file.parent).collect();
        engine.set_parents(Box::new(move |file| {
            parents.get(file.index()).copied().filter(|_| file != FileId::ROOT)
        }));
        engine
    }
}

fn figures(tally: Tally) -> Figures {
    let (opens, micros) = tally.leads.iter().copied().unzip();
    Figures {
        opens: tally.opens,
        right: tally.right,
        wrong: tally.wrong,
        hit: tally.hit,
        partial: tally.partial,
        miss: tally.miss,
        warmed: tally.warmed,
        in_time: tally.in_time,
        late: tally.late,
        wasted: tally.wasted,
        lead_opens: Spread::of(opens),
        lead_micros: Spread::of(micros),
        ..Figures::default()
    }
}

impl Spread {
    /// Of these values; all zero when there are none.
    fn of(mut values: Vec<u64>) -> Spread {
        values.sort_unstable();
        let at = |share: usize| values.get((values.len() * share).div_ceil(100).saturating_sub(1)).copied();
        let value = |share| at(share).unwrap_or(0);
        Spread { p50: value(50), p90: value(90), most: value(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn nearest_ranks() {
        assert_eq!(Spread::of(vec![]), Spread::default());
        assert_eq!(Spread::of(vec![7]), Spread { p50: 7, p90: 7, most: 7 });
        assert_eq!(Spread::of((1..=10).rev().collect()), Spread { p50: 5, p90: 9, most: 10 });
    }
}
