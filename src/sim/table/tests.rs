//! Two rows in every format.

use super::*;
use crate::config::Scope;
use crate::device::Kind;
use crate::replace::Policy;
use crate::sim::grid::Place;
use crate::sim::run::{Figures, Spread};

fn rows() -> Vec<Row> {
    let place = Place { device: Kind::Net, cache: 64 << 20, policy: Policy::Lru, streams: Scope::Job };
    let cold = Figures { elapsed: 2_000_000_000, opens: 100, miss: 100, ..Figures::default() };
    let warm = Figures {
        elapsed: 1_250_000_000,
        opens: 100,
        right: 60,
        wrong: 20,
        hit: 90,
        partial: 4,
        miss: 6,
        warmed: 1 << 20,
        in_time: 1 << 19,
        wasted: 1 << 19,
        lead_opens: Spread { p50: 5, p90: 50, most: 90 },
        lead_micros: Spread { p50: 1500, p90: 20_000, most: 30_000 },
        model: 2048,
        ..Figures::default()
    };
    let row = |predictor: &str, figures| Row {
        place,
        predictor: predictor.parse().unwrap(),
        figures,
        cold: 2_000_000_000,
        hot: 1_000_000_000,
    };
    vec![row("none", cold), row("match", warm)]
}

#[test]
fn text_stands_in_columns_and_says_once_what_is_common() {
    let text = table(Format::Text, "tree", &rows());
    let expected = "\
tree: device net, cache 64M, policy lru, streams job

predictor  elapsed s  cold s  hot s  gap closed  accuracy  precision  coverage  model
none           2.000   2.000  1.000       0.0 %     0.0 %          -     0.0 %      0
match          1.250   2.000  1.000      75.0 %    60.0 %     75.0 %    80.0 %     2K

predictor  opens  hit  partial  miss  warmed  in time  late  wasted  wasted  lead p50  p90  farthest  p50 ms  p90 ms
none         100    0        0   100       0        0     0       0       -         0    0         0     0.0     0.0
match        100   90        4     6      1M     512K     0    512K  50.0 %         5   50        90     1.5    20.0
";
    assert_eq!(text, expected);
}

#[test]
fn machines_get_every_column_in_one_unit() {
    let csv = table(Format::Csv, "tree", &rows());
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("workload,device,cache_bytes,policy,streams,predictor,elapsed_ns,cold_ns"));
    assert!(
        lines[2]
            .starts_with("\"tree\",net,67108864,lru,job,match,1250000000,2000000000,1000000000,0.75,0.6,")
    );
    assert!(lines.iter().all(|line| line.split(',').count() == COLUMNS.len()), "without the cost");
    let json: Value = serde_json::from_str(&table(Format::Json, "tree", &rows())).unwrap();
    assert_eq!(json["workload"], "tree");
    assert_eq!(json["rows"][1]["wasted_share"], 0.5);
    assert_eq!(json["rows"][0]["precision"], Value::Null);
}

#[test]
fn the_cost_is_there_when_it_was_measured() {
    let mut rows = rows();
    rows[1].figures.cost = Some(321.4);
    let markdown = table(Format::Markdown, "tree", &rows);
    assert!(markdown.contains("| model | ns/event |\n|---|"), "{markdown}");
    assert!(markdown.contains("| 2K | 321 |\n"), "{markdown}");
}

#[test]
fn names_are_read_as_they_are_written() {
    for name in ["text", "markdown", "csv", "json"] {
        assert_eq!(name.parse::<Format>().unwrap().to_string(), name);
    }
    assert!("xml".parse::<Format>().is_err());
}
