//! No prediction at all: what one compares the others with, and what `predictor=none` means.

use super::{Access, Course, Footprint, LoadError, Prediction, Predictor, PredictorChoice};
use crate::event::Origin;
use crate::id::{FileId, GroupId, ProgramId, StreamId};

/// Learns and predicts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPredictor;

impl Predictor for NoPredictor {
    fn choice(&self) -> PredictorChoice {
        PredictorChoice::None
    }
    fn begin(&mut self, _: StreamId, _: &Origin) {}
    fn exec(&mut self, _: StreamId, _: ProgramId) {}
    fn end(&mut self, _: StreamId) {}
    fn end_group(&mut self, _: GroupId) {}
    fn observe(&mut self, _: Access) -> Course {
        Course::NONE
    }
    fn predict(&mut self, _: GroupId, _: usize, _: &mut Vec<Prediction>) {}
    fn next(&self, _: StreamId) -> Option<Prediction> {
        None
    }
    fn rewind(&mut self, _: GroupId) {}
    fn forget(&mut self, _: &dyn Fn(FileId) -> bool) {}
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
    fn save(&self, _: &mut Vec<u8>) {}
    fn load(&mut self, _: &[u8], _: usize) -> Result<(), LoadError> {
        Ok(())
    }
}
