//! What the benches share: a place to work in, other programs, augurfs as a process, and medians.

pub(crate) mod daemon;
pub(crate) mod mounts;
pub(crate) mod shell;

/// The middle value, or the mean of the two in the middle; none of nothing.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}
