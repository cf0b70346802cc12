//! For tests: a predictor, and streams that speak to it in few words.

use super::{Access, Kind, Prediction, Predictor};
use crate::event::Origin;
use crate::id::{FileId, GroupId, ProgramId, SessionId, StreamId};

/// The stream that has begun.
pub(super) const STREAM: StreamId = StreamId(1);
/// Its group, and that of its children.
pub(super) const GROUP: GroupId = GroupId(1);

/// The stream begins, as a child of `parent` or out of nothing.
pub(super) fn begin(predictor: &mut dyn Predictor, stream: StreamId, parent: Option<StreamId>) {
    predictor.begin(stream, &Origin { parent, program: ProgramId(0), group: GROUP, session: SessionId(0) });
}

/// A predictor to which [`STREAM`] has begun.
pub(super) fn begun<P: Predictor>(mut predictor: P) -> P {
    begin(&mut predictor, STREAM, None);
    predictor
}

/// [`STREAM`] opens files.
pub(super) fn open(predictor: &mut dyn Predictor, files: impl IntoIterator<Item = u32>) {
    open_in(predictor, STREAM, files);
}

/// A stream opens files.
pub(super) fn open_in(predictor: &mut dyn Predictor, stream: StreamId, files: impl IntoIterator<Item = u32>) {
    for file in files {
        predictor.observe(Access { stream, file: FileId(file), kind: Kind::Open });
    }
}

/// [`STREAM`] opens files with the numbers of these letters.
pub(super) fn letters(predictor: &mut dyn Predictor, text: &str) {
    open(predictor, text.bytes().map(u32::from));
}

/// Everything that is predicted for [`GROUP`] and has not been.
pub(super) fn pull(predictor: &mut dyn Predictor) -> Vec<Prediction> {
    let mut out = Vec::new();
    predictor.predict(GROUP, usize::MAX, &mut out);
    out
}

/// The files of [`pull`].
pub(super) fn files(predictor: &mut dyn Predictor) -> Vec<u32> {
    pull(predictor).iter().map(|prediction| prediction.file.0).collect()
}

/// The file expected next by [`STREAM`].
pub(super) fn next(predictor: &dyn Predictor) -> Option<u32> {
    predictor.next(STREAM).map(|prediction| prediction.file.0)
}
