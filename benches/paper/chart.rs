//! A figure: elapsed time of every arm as a bar, as SVG and PNG.
//!
//! What must stay true: a bar that may not be printed is not drawn either; every bar has its name and its value beside it.

use std::path::Path;

use anyhow::{Context, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::common::median;
use crate::hygiene;
use crate::journal::Journal;
use crate::tables;

const WIDTH: u32 = 1000;
const LINE: i32 = 26;
const NAMES: i32 = 330;
const TOP: i32 = 60;
/// Debian's fonts-dejavu-core; for the PNG.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";

struct Bar {
    name: String,
    seconds: f64,
    gap: Option<f64>,
    cold: bool,
}

/// Draws `svg`, and a PNG beside it.
pub(crate) fn draw(journal: &Journal, svg: &Path) -> anyhow::Result<()> {
    let bars = bars(journal);
    let height = (TOP + LINE * (bars.len() as i32 + 1)) as u32;
    let title = format!(
        "{}, device {}: elapsed seconds (share of the gap closed)",
        journal.setting().table,
        journal.setting().device
    );
    let font = std::fs::read(FONT).with_context(|| format!("figures need {FONT}"))?;
    register_font("sans-serif", FontStyle::Normal, Box::leak(font.into_boxed_slice()))
        .map_err(|_| anyhow!("{FONT} is no font"))?;
    let area = SVGBackend::new(svg, (WIDTH, height)).into_drawing_area();
    paint(&area, &title, &bars).map_err(|error| anyhow!("{error}"))?;
    area.present()?;
    let png = svg.with_extension("png");
    let area = BitMapBackend::new(&png, (WIDTH, height)).into_drawing_area();
    paint(&area, &title, &bars).map_err(|error| anyhow!("{error}"))?;
    Ok(area.present()?)
}

fn bars(journal: &Journal) -> Vec<Bar> {
    let rows = journal.rows();
    let several = rows.iter().any(|(job, _)| *job != rows[0].0);
    let printable = rows.iter().filter(|(job, arm)| hygiene::objection(journal, job, arm).is_none());
    printable
        .filter_map(|(job, arm)| {
            let name = if several { format!("{job}: {arm}") } else { arm.clone() };
            let seconds = median(journal.of(job, arm).iter().map(|sample| sample.elapsed))?;
            let cold = matches!(arm.as_str(), "native" | "native again");
            Some(Bar { name, seconds, gap: tables::gap_closed(journal, job, arm), cold })
        })
        .collect()
}

fn paint<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    bars: &[Bar],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    area.draw(&Text::new(title.to_owned(), (16, 18), ("sans-serif", 18)))?;
    let longest = bars.iter().map(|bar| bar.seconds).fold(f64::MIN_POSITIVE, f64::max);
    let room = f64::from(WIDTH as i32 - NAMES - 190);
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + LINE * index as i32;
        let end = NAMES + (room * bar.seconds / longest) as i32;
        let color = if bar.cold { RGBColor(120, 120, 120) } else { RGBColor(30, 110, 180) };
        area.draw(&Text::new(bar.name.clone(), (16, top + 3), ("sans-serif", 14)))?;
        area.draw(&Rectangle::new([(NAMES, top), (end.max(NAMES + 1), top + LINE - 8)], color.filled()))?;
        let gap = bar.gap.map_or(String::new(), |gap| format!(" ({:.0} %)", gap * 100.0));
        let label = format!("{:.2} s{gap}", bar.seconds);
        area.draw(&Text::new(label, (end + 8, top + 3), ("sans-serif", 14)))?;
    }
    Ok(())
}
