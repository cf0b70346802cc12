//! The rows of a grid as text, Markdown, CSV and JSON.
//!
//! What must stay true: a column is defined once, here; the machine-readable forms have all of them, in one
//! unit each. The readable ones say once what all rows have in common.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::grid::Row;
use crate::config::show_bytes;

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Columns for a terminal.
    #[default]
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values with a head.
    Csv,
    /// An object with the rows in an array.
    Json,
}

/// There is no format of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown format '{0}': known are text, markdown, csv and json")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "text" => Ok(Format::Text),
            "markdown" => Ok(Format::Markdown),
            "csv" => Ok(Format::Csv),
            "json" => Ok(Format::Json),
            _ => Err(UnknownFormat(name.to_owned())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text => "text",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Json => "json",
        })
    }
}

/// A column: its name for machines (with the unit), its head for people, its value, and how people read it.
struct Column {
    name: &'static str,
    head: &'static str,
    block: Block,
    value: fn(&Row) -> Value,
    show: fn(&Value) -> String,
}

/// Which of the readable tables a column is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// All of them; above, where all rows have the same.
    Key,
    /// Time and prediction.
    Time,
    /// Opens and bytes.
    Bytes,
}

const COLUMNS: &[Column] = &[
    key("device", |row| json!(row.place.device.as_str()), plain),
    key("cache_bytes", |row| json!(row.place.cache), bytes).headed("cache"),
    key("policy", |row| json!(row.place.policy.to_string()), plain),
    key("streams", |row| json!(row.place.streams.as_str()), plain),
    key("predictor", |row| json!(row.predictor.to_string()), plain),
    time("elapsed_ns", "elapsed s", |row| json!(row.figures.elapsed), seconds),
    time("cold_ns", "cold s", |row| json!(row.cold), seconds),
    time("hot_ns", "hot s", |row| json!(row.hot), seconds),
    time("gap_closed", "gap closed", |row| json!(row.gap_closed().map(rounded)), percent),
    time("accuracy", "accuracy", |row| share(row.figures.right, row.figures.opens), percent),
    time("precision", "precision", |row| share(row.figures.right, answered(row)), percent),
    time("coverage", "coverage", |row| share(answered(row), row.figures.opens), percent),
    time("model_bytes", "model", |row| json!(row.figures.model), bytes),
    time("cost_ns", "ns/event", |row| json!(row.figures.cost), whole),
    amount("opens", "opens", |row| json!(row.figures.opens), whole),
    amount("hit", "hit", |row| json!(row.figures.hit), whole),
    amount("partial", "partial", |row| json!(row.figures.partial), whole),
    amount("miss", "miss", |row| json!(row.figures.miss), whole),
    amount("warmed_bytes", "warmed", |row| json!(row.figures.warmed), bytes),
    amount("in_time_bytes", "in time", |row| json!(row.figures.in_time), bytes),
    amount("late_bytes", "late", |row| json!(row.figures.late), bytes),
    amount("wasted_bytes", "wasted", |row| json!(row.figures.wasted), bytes),
    amount("wasted_share", "wasted", |row| share(row.figures.wasted, row.figures.warmed), percent),
    amount("lead_opens_p50", "lead p50", |row| json!(row.figures.lead_opens.p50), whole),
    amount("lead_opens_p90", "p90", |row| json!(row.figures.lead_opens.p90), whole),
    amount("lead_opens_most", "farthest", |row| json!(row.figures.lead_opens.most), whole),
    amount("lead_us_p50", "p50 ms", |row| json!(row.figures.lead_micros.p50), millis),
    amount("lead_us_p90", "p90 ms", |row| json!(row.figures.lead_micros.p90), millis),
];

const fn key(name: &'static str, value: fn(&Row) -> Value, show: fn(&Value) -> String) -> Column {
    Column { name, head: name, block: Block::Key, value, show }
}

const fn time(
    name: &'static str,
    head: &'static str,
    value: fn(&Row) -> Value,
    show: fn(&Value) -> String,
) -> Column {
    Column { name, head, block: Block::Time, value, show }
}

const fn amount(
    name: &'static str,
    head: &'static str,
    value: fn(&Row) -> Value,
    show: fn(&Value) -> String,
) -> Column {
    Column { name, head, block: Block::Bytes, value, show }
}

impl Column {
    const fn headed(self, head: &'static str) -> Column {
        Column { head, ..self }
    }

    fn cell(&self, row: &Row) -> String {
        match (self.value)(row) {
            Value::Null => "-".to_owned(),
            value => (self.show)(&value),
        }
    }

    /// Have all rows the same here?
    fn is_common(&self, rows: &[Row]) -> bool {
        self.block == Block::Key && rows.windows(2).all(|two| (self.value)(&two[0]) == (self.value)(&two[1]))
    }
}

/// Writes the rows of a workload. The real cost is left out where it was not measured.
pub fn table(format: Format, workload: &str, rows: &[Row]) -> String {
    let measured =
        |column: &&Column| column.name != "cost_ns" || rows.iter().any(|row| row.figures.cost.is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(measured).collect();
    match format {
        Format::Text => readable(workload, rows, &columns, text_block),
        Format::Markdown => readable(workload, rows, &columns, markdown_block),
        Format::Csv => csv(workload, rows, &columns),
        Format::Json => json_object(workload, rows, &columns),
    }
}

/// What all rows have in common, then a table for each block.
fn readable(
    workload: &str,
    rows: &[Row],
    columns: &[&Column],
    write: fn(&[&str], &[Vec<String>]) -> String,
) -> String {
    let common = columns.iter().filter(|column| column.is_common(rows));
    let common: Vec<_> = common
        .filter_map(|column| rows.first().map(|row| format!("{} {}", column.head, column.cell(row))))
        .collect();
    let mut out = format!("{workload}: {}\n", common.join(", "));
    for block in [Block::Time, Block::Bytes] {
        let shown = |column: &&&Column| match column.block {
            Block::Key => !column.is_common(rows),
            other => other == block,
        };
        let shown: Vec<_> = columns.iter().filter(shown).collect();
        let heads: Vec<_> = shown.iter().map(|column| column.head).collect();
        let cells: Vec<Vec<_>> =
            rows.iter().map(|row| shown.iter().map(|column| column.cell(row)).collect()).collect();
        out.push('\n');
        out.push_str(&write(&heads, &cells));
    }
    out
}

/// Columns two apart; what is a number stands to the right.
fn text_block(heads: &[&str], cells: &[Vec<String>]) -> String {
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| cells.iter().map(|row| row[at].len()).max().unwrap_or(0).max(head.len()))
        .collect();
    let line = |row: &mut dyn Iterator<Item = (usize, &str)>| {
        let padded: Vec<_> = row
            .map(|(at, cell)| {
                let width = widths[at];
                let left = cells.iter().all(|row| row[at].starts_with(|c: char| c.is_ascii_lowercase()));
                if left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            })
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut out = line(&mut heads.iter().copied().enumerate());
    for row in cells {
        out.push_str(&line(&mut row.iter().map(String::as_str).enumerate()));
    }
    out
}

fn markdown_block(heads: &[&str], cells: &[Vec<String>]) -> String {
    let rule = vec!["---"; heads.len()];
    let mut out = format!("| {} |\n|{}|\n", heads.join(" | "), rule.join("|"));
    for row in cells {
        out.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    out
}

/// Only a workload's name may have commas and quotation marks in it.
fn csv(workload: &str, rows: &[Row], columns: &[&Column]) -> String {
    let heads: Vec<_> = columns.iter().map(|column| column.name).collect();
    let mut out = format!("workload,{}\n", heads.join(","));
    let name = workload.replace('"', "\"\"");
    for row in rows {
        let cells: Vec<_> = columns.iter().map(|column| bare(&(column.value)(row))).collect();
        out.push_str(&format!("\"{name}\",{}\n", cells.join(",")));
    }
    out
}

fn bare(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn json_object(workload: &str, rows: &[Row], columns: &[&Column]) -> String {
    let object = |row: &Row| -> Map<String, Value> {
        columns.iter().map(|column| (column.name.to_owned(), (column.value)(row))).collect()
    };
    let rows: Vec<_> = rows.iter().map(object).collect();
    format!("{}\n", json!({ "workload": workload, "rows": rows }))
}

fn answered(row: &Row) -> u64 {
    row.figures.right + row.figures.wrong
}

/// To four digits, so that it reads the same everywhere; nothing of nothing is no share.
fn share(part: u64, whole: u64) -> Value {
    if whole == 0 { Value::Null } else { json!(rounded(part as f64 / whole as f64)) }
}

fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn plain(value: &Value) -> String {
    bare(value)
}

fn whole(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |number| format!("{number:.0}"))
}

fn bytes(value: &Value) -> String {
    value.as_u64().map_or_else(String::new, show_bytes)
}

fn seconds(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |nanos| format!("{:.3}", nanos / 1e9))
}

fn millis(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |micros| format!("{:.1}", micros / 1e3))
}

fn percent(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |share| format!("{:.1} %", share * 100.0))
}

#[cfg(test)]
mod tests;
