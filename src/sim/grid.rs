//! Many runs of one workload: every predictor with every cache size, policy, device and scope of streams.
//!
//! For each of the others there is a cold run (nothing is predicted); one run for all is hot
//! (everything is in memory). Runs are done side by side on all processors.
//!
//! What must stay true: the rows come in the order of the lists, whichever run ends first.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::run::{Figures, Settings, run};
use super::workload::Workload;
use crate::config::Scope;
use crate::device::{Kind, Nanos};
use crate::predict::PredictorChoice;
use crate::replace::Policy;

/// What is to be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Predictors; `none` is there in any case.
    pub predictors: Vec<PredictorChoice>,
    /// Bytes of memory.
    pub caches: Vec<u64>,
    /// Replacement policies.
    pub policies: Vec<Policy>,
    /// Devices.
    pub devices: Vec<Kind>,
    /// Whose accesses form one stream.
    pub streams: Vec<Scope>,
    /// Budget in bytes; `None` is a quarter of the memory, as a mount has it.
    pub budget: Option<u64>,
    /// Passes before those that are measured.
    pub training: usize,
    /// Passes that are measured.
    pub measured: usize,
    /// For the devices.
    pub seed: u64,
    /// Measure what the engine really costs.
    pub cost: bool,
}

/// One run of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it took place.
    pub place: Place,
    /// What predicted.
    pub predictor: PredictorChoice,
    /// What it came to.
    pub figures: Figures,
    /// Mean time of a pass in the same place when nothing is predicted.
    pub cold: Nanos,
    /// When everything is in memory.
    pub hot: Nanos,
}

/// What runs that can be compared have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The device.
    pub device: Kind,
    /// Bytes of memory.
    pub cache: u64,
    /// The replacement policy.
    pub policy: Policy,
    /// Whose accesses form one stream.
    pub streams: Scope,
}

impl Grid {
    /// How many runs it takes.
    pub fn runs(&self) -> usize {
        1 + self.places().len() * self.arms().len()
    }

    /// Does all runs, and calls `done` after each.
    pub fn run(&self, workload: &Workload, done: &(dyn Fn() + Sync)) -> Vec<Row> {
        let (places, arms) = (self.places(), self.arms());
        let mut settings = vec![Settings { hot: true, ..self.settings(places[0], PredictorChoice::None) }];
        for &place in &places {
            settings.extend(arms.iter().map(|&arm| self.settings(place, arm)));
        }
        let figures = side_by_side(settings.len(), |number| {
            let figures = run(workload, &settings[number]).figures;
            done();
            figures
        });
        let (hot, cells) = (figures[0].elapsed, figures[1..].chunks(arms.len()));
        let rows = places.iter().zip(cells).flat_map(|(&place, cells)| {
            let cold = cells[0].elapsed;
            arms.iter().zip(cells).map(move |(&predictor, figures)| Row {
                place,
                predictor,
                figures: figures.clone(),
                cold,
                hot,
            })
        });
        rows.collect()
    }

    /// The predictors, and before them none, once.
    fn arms(&self) -> Vec<PredictorChoice> {
        let others = self.predictors.iter().copied().filter(|&choice| choice != PredictorChoice::None);
        std::iter::once(PredictorChoice::None).chain(others).collect()
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for &device in &self.devices {
            for &cache in &self.caches {
                for &policy in &self.policies {
                    let place = |&streams| Place { device, cache, policy, streams };
                    places.extend(self.streams.iter().map(place));
                }
            }
        }
        places
    }

    fn settings(&self, place: Place, predictor: PredictorChoice) -> Settings {
        Settings {
            predictor,
            scope: place.streams,
            budget: self.budget.unwrap_or(place.cache / 4),
            cache: place.cache,
            policy: place.policy,
            device: place.device,
            seed: self.seed,
            training: self.training,
            measured: self.measured,
            hot: false,
            cost: self.cost,
            script: false,
        }
    }
}

impl Row {
    /// The share of the time between cold and hot that was won; `None` where there is nothing to win.
    pub fn gap_closed(&self) -> Option<f64> {
        let gap = self.cold.saturating_sub(self.hot);
        (gap > 0).then(|| (self.cold as f64 - self.figures.elapsed as f64) / gap as f64)
    }
}

/// Does `work` for each number below `count`, on all processors; the results in the order of the numbers.
fn side_by_side<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(count));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(count);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let result = work(number);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::generate::Recipe;

    fn grid() -> Grid {
        Grid {
            predictors: vec!["match".parse().unwrap(), "pcm".parse().unwrap(), "none".parse().unwrap()],
            caches: vec![4 << 20, 64 << 20],
            policies: vec![Policy::Lru, Policy::Fifo],
            devices: vec![Kind::Net, Kind::Disk],
            streams: vec![Scope::Job],
            budget: None,
            training: 1,
            measured: 1,
            seed: 3,
            cost: false,
        }
    }

    #[test]
    fn results_keep_their_places() {
        assert_eq!(side_by_side(100, |number| number * 2), (0..100).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(side_by_side(0, |number| number), [] as [usize; 0]);
    }

    #[test]
    fn the_same_grid_has_the_same_rows() {
        let workload = "build:units=12,headers=30".parse::<Recipe>().unwrap().generate(1, 2);
        let done = AtomicUsize::new(0);
        let count = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        let rows = grid().run(&workload, &count);
        assert_eq!((rows.len(), done.load(Ordering::Relaxed), grid().runs()), (24, 25, 25));
        assert_eq!(rows, grid().run(&workload, &|| ()));
        assert_eq!(rows[0].gap_closed(), Some(0.0));
        assert!(rows.iter().all(|row| row.hot <= row.figures.elapsed));
        let devices: Vec<_> = rows.iter().map(|row| row.place.device).collect();
        assert!(devices.iter().position(|&kind| kind == Kind::Disk) == Some(12));
    }
}
