//! Which known word a misspelled one was meant to be.

/// The closest of `known`, if it is close enough to be a slip: at most two letters wrong, and fewer than half.
pub(super) fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    known
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|(wrong, candidate)| *wrong <= 2 && wrong * 2 < candidate.len())
        .min_by_key(|(wrong, _)| *wrong)
        .map(|(_, candidate)| candidate)
}

/// Edit distance where swapping two neighbours counts once (optimal string alignment).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, wrong) in
            [("", "", 0), ("path", "path", 0), ("paht", "path", 1), ("budge", "budget", 1), ("ab", "cd", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), wrong, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), wrong, "{b} {a}");
        }
    }

    #[test]
    fn only_slips_are_suggested() {
        let known = ["path", "predictor", "ro"];
        assert_eq!(nearest("pedictor", known.into_iter()), Some("predictor"));
        assert_eq!(nearest("paht", known.into_iter()), Some("path"));
        assert_eq!(nearest("xy", known.into_iter()), None);
        assert_eq!(nearest("completely", known.into_iter()), None);
    }
}
