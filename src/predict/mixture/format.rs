//! A saved mixture: the runs as the match model saves them, then the records of the panel. Habits and counts
//! follow from the runs.
//!
//! What must stay true: nothing of the mixture changes before all of it has been read and checked.

use super::super::{LoadError, Predictor};
use super::Mixture;
use super::panel::Panel;
use crate::codec::{CodecError, Reader, put_bytes};

/// Appends all of it.
pub(super) fn save(mixture: &Mixture, out: &mut Vec<u8>) {
    let mut runs = Vec::new();
    mixture.runs.save(&mut runs);
    put_bytes(out, &runs);
    mixture.panel.save(out);
}

/// Replaces what was learned by what [`save`] wrote.
pub(super) fn load(mixture: &mut Mixture, bytes: &[u8], files: usize) -> Result<(), LoadError> {
    let mut reader = Reader::new(bytes);
    let runs = reader.bytes("the runs")?;
    let panel = Panel::load(&mut reader)?;
    reader.finish("the end of the panel's records")?;
    // Changes nothing when it fails, and is the last that can.
    mixture.runs.load(runs, files)?;
    mixture.relearn();
    mixture.panel = panel;
    Ok(())
}

/// The runs in what a mixture saved, as the match model reads them.
///
/// # Errors
/// When the bytes are something else.
pub(in super::super) fn runs_of(bytes: &[u8]) -> Result<&[u8], LoadError> {
    Ok(Reader::new(bytes).bytes("the runs")?)
}

/// What a mixture reads that has these runs, as the match model saves them, and believes nobody yet.
pub(in super::super) fn with_runs(runs: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, runs);
    Panel::default().save(&mut out);
    out
}

/// Appends a number as it is in memory, so that nothing is lost to rounding.
pub(super) fn put_real(out: &mut Vec<u8>, number: f32) {
    out.extend_from_slice(&number.to_bits().to_le_bytes());
}

/// Reads what [`put_real`] wrote: a number from 0 to `most`.
pub(super) fn real(reader: &mut Reader<'_>, most: f32, what: &'static str) -> Result<f32, CodecError> {
    let wrong = reader.error(what);
    let number = f32::from_bits(reader.u32(what)?);
    if (0.0..=most).contains(&number) { Ok(number) } else { Err(wrong) }
}
