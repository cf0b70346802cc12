//! Charts as SVG: bands that add up, over time. Colours are the page's; sizes suit a phone, where a chart fills the width.

use crate::config::{show_bytes, show_duration};
use std::fmt::Write;
use std::time::Duration;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;

/// What values are, and so which of them read well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Bytes,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Count => format!("{value:.1}").trim_end_matches(".0").to_owned(),
            Unit::Bytes => show_bytes(value as u64),
        }
    }

    /// The end of an axis up to `most`, half of which reads well too: 1, 2 or 5 times a power of ten; of bytes a power of two.
    fn round_up(self, most: f64) -> f64 {
        match self {
            Unit::Count if most > 0.0 => {
                let power = 10f64.powf(most.log10().floor());
                [1.0, 2.0, 5.0, 10.0]
                    .map(|step| step * power)
                    .into_iter()
                    .find(|step| *step >= most)
                    .unwrap_or(most)
            }
            Unit::Bytes if most > 1.0 => 2f64.powf(most.log2().ceil()),
            _ => 1.0,
        }
    }
}

/// One of the bands.
pub(super) struct Band<'a> {
    /// What it shows; also what its colour is called on the page.
    pub(super) name: &'a str,
    /// One value a moment.
    pub(super) values: Vec<f64>,
}

/// A chart of bands that lie on each other, the first at the bottom. `at_s` are the moments.
pub(super) fn chart(title: &str, at_s: &[u64], bands: &[Band<'_>], unit: Unit) -> String {
    let sums = |upto: usize| -> Vec<f64> {
        (0..at_s.len()).map(|i| bands[..upto].iter().map(|band| band.values[i]).sum()).collect()
    };
    let most = unit.round_up(sums(bands.len()).into_iter().fold(0.0, f64::max));
    let place =
        Place { from: at_s.first().copied().unwrap_or(0), to: at_s.last().copied().unwrap_or(0), most };
    let mut out = format!(
        "<figure><figcaption>{title}{}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n",
        legend(bands)
    );
    for share in [0.0, 0.5, 1.0] {
        let (y, label) = (place.y(most * share), unit.show(most * share));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (index, band) in bands.iter().enumerate() {
        let (low, high) = (sums(index), sums(index + 1));
        let _ =
            writeln!(out, "<path class=\"{}\" d=\"{}\"/>", class(band.name), place.area(at_s, &low, &high));
    }
    let middle = (place.from + place.to) / 2;
    for (at, anchor) in [(place.from, "start"), (middle, "middle"), (place.to, "end")] {
        let label = show_duration(Duration::from_secs(at));
        let (x, y) = (place.x(at), HEIGHT - 6.0);
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{label}</text>");
    }
    out + "</svg></figure>\n"
}

fn legend(bands: &[Band<'_>]) -> String {
    let mark = |band: &Band<'_>| format!(" <span class=\"key {}\"></span>{}", class(band.name), band.name);
    format!("<span class=\"legend\">{}</span>", bands.iter().map(mark).collect::<String>())
}

fn class(name: &str) -> String {
    name.replace(' ', "-")
}

struct Place {
    from: u64,
    to: u64,
    most: f64,
}

impl Place {
    fn x(&self, at_s: u64) -> f64 {
        let span = (self.to - self.from).max(1) as f64;
        LEFT + (at_s.saturating_sub(self.from)) as f64 / span * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - value / self.most) * (HEIGHT - TOP - BOTTOM)
    }

    /// There along the top, back along the bottom.
    fn area(&self, at_s: &[u64], low: &[f64], high: &[f64]) -> String {
        let there = at_s.iter().zip(high);
        let back = at_s.iter().zip(low).rev();
        let points: Vec<_> = there
            .chain(back)
            .map(|(&at, &value)| format!("{:.1} {:.1}", self.x(at), self.y(value)))
            .collect();
        if points.is_empty() { String::new() } else { format!("M{}Z", points.join("L")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let ends = [0.0, 1.0, 1.1, 3.0, 7.0, 99.0, 0.3].map(|most| Unit::Count.round_up(most));
        assert_eq!(ends, [1.0, 1.0, 2.0, 5.0, 10.0, 100.0, 0.5]);
        assert_eq!([0.0, 3000.0, 4096.0].map(|most| Unit::Bytes.round_up(most)), [1.0, 4096.0, 4096.0]);
    }

    #[test]
    fn bands_lie_on_each_other_inside_the_frame() {
        let bands =
            [Band { name: "low", values: vec![1.0, 2.0] }, Band { name: "high", values: vec![1.0, 3.0] }];
        let svg = chart("T", &[0, 10], &bands, Unit::Count);
        assert!(
            svg.contains("<path class=\"low\" d=\"M46.0 134.8L350.0 103.6L350.0 166.0L46.0 166.0Z\"/>"),
            "{svg}"
        );
        assert!(
            svg.contains("<path class=\"high\" d=\"M46.0 103.6L350.0 10.0L350.0 103.6L46.0 134.8Z\"/>"),
            "{svg}"
        );
    }

    #[test]
    fn nothing_and_one_moment_are_no_trouble() {
        for at_s in [vec![], vec![5]] {
            let values = vec![0.0; at_s.len()];
            let svg = chart("T", &at_s, &[Band { name: "a", values }], Unit::Count);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
