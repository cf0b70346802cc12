//! `augurfs simulate`: its words, and what it does with them.

use super::{complain, say};
use crate::config::{BYTES_FORM, DURATION_FORM, Scope};
use crate::device::Kind;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::sim::generate::{Recipe, SHAPES};
use crate::sim::{Format, Grid, Recordings, Workload, table};
use crate::trace::{self, TraceError};
use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = shapes(), group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(super) struct Simulation {
    /// Recordings of one job, one pass each; the last one stands for all that follow. Traces, or lines
    /// of process number, program and path with tabs between them
    #[arg(value_name = "TRACE", group = "what")]
    traces: Vec<PathBuf>,
    /// A workload made for the purpose (see below); may be given several times
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", group = "what")]
    generate: Vec<Recipe>,
    /// What learns; none is there in any case
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "default")]
    predictor: Vec<PredictorChoice>,
    /// Memory for files
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = bytes, default_value = "1G")]
    cache: Vec<u64>,
    /// Who leaves memory first: default, lru, lru-seq, dear, arc, s3fifo, sieve, fifo
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "lru")]
    policy: Vec<Policy>,
    /// Where the files lie: disk, net, ssd
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "disk,net,ssd")]
    device: Vec<Kind>,
    /// Whose accesses form one stream: job, process, program, session, global
    #[arg(long, value_name = "SCOPE,...", value_delimiter = ',', value_parser = scope, default_value = "job")]
    streams: Vec<Scope>,
    /// Most bytes warmed ahead and not yet used [default: a quarter of the memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    budget: Option<u64>,
    /// Passes to learn from, each from empty memory
    #[arg(long, value_name = "PASSES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=1000))]
    training: u16,
    /// Passes that are measured after these, each from empty memory
    #[arg(long, value_name = "PASSES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    measured: u16,
    /// For generated workloads and for devices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Time a process takes between two opens where a recording has no times
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "100us")]
    think: Duration,
    /// text, markdown, csv or json
    #[arg(long, default_value_t)]
    format: Format,
    /// Leave out the real cost of the engine, so that the same words always print the same
    #[arg(long)]
    no_cost: bool,
}

fn bytes(words: &str) -> Result<u64, String> {
    crate::config::bytes(words).filter(|&bytes| bytes > 0).ok_or_else(|| format!("expected {BYTES_FORM}"))
}

fn scope(word: &str) -> Result<Scope, String> {
    let known = Scope::ALL.map(Scope::as_str).join(", ");
    Scope::from_word(word).ok_or_else(|| format!("choose one of {known}"))
}

fn duration(words: &str) -> Result<Duration, String> {
    crate::config::duration(words).ok_or_else(|| format!("expected {DURATION_FORM}"))
}

/// The shapes that can be generated, for the help.
fn shapes() -> String {
    let entry = |shape: &crate::sim::generate::Shape| {
        let keys: Vec<_> = shape.keys.iter().map(|key| format!("{}={}", key.name, key.default)).collect();
        format!("  {:<10} {}\n{:13}{}\n", shape.name, shape.about, "", keys.join(","))
    };
    let entries: String = SHAPES.iter().map(entry).collect();
    format!(
        "Workloads to generate, with their values (think in microseconds, compile in milliseconds):\n{entries}"
    )
}

/// Simulates every workload, and prints a table for each.
pub(super) fn simulate(words: &Simulation) -> anyhow::Result<u8> {
    let grid = words.grid();
    let workloads = words.workloads().context("cannot simulate")?;
    let progress = progress(grid.runs() * workloads.len());
    for (number, workload) in workloads.iter().enumerate() {
        let rows = grid.run(workload, &|| progress.inc(1));
        let text = table(words.format, &workload.name, &rows);
        let text = match words.format {
            Format::Text | Format::Markdown if number > 0 => format!("\n{text}"),
            Format::Csv if number > 0 => {
                text.split_once('\n').map_or_else(String::new, |(_, rows)| rows.to_owned())
            }
            _ => text,
        };
        progress.suspend(|| say(&text))?;
    }
    progress.finish_and_clear();
    Ok(0)
}

impl Simulation {
    fn grid(&self) -> Grid {
        Grid {
            predictors: self.predictor.clone(),
            caches: self.cache.clone(),
            policies: self.policy.clone(),
            devices: self.device.clone(),
            streams: self.streams.clone(),
            budget: self.budget,
            training: self.training.into(),
            measured: self.measured.into(),
            seed: self.seed,
            cost: !self.no_cost,
        }
    }

    fn workloads(&self) -> anyhow::Result<Vec<Workload>> {
        let passes = usize::from(self.training) + usize::from(self.measured);
        let mut workloads = Vec::new();
        if !self.traces.is_empty() {
            workloads.push(self.recorded(passes)?);
        }
        workloads.extend(self.generate.iter().map(|recipe| recipe.generate(self.seed, passes)));
        Ok(workloads)
    }

    /// The recordings, as passes of one job.
    fn recorded(&self, passes: usize) -> anyhow::Result<Workload> {
        let names: Vec<_> = self.traces.iter().map(|path| path.display().to_string()).collect();
        if names.len() > passes {
            complain(&format!("of {} recordings only {passes} are used", names.len()));
        }
        let mut recordings = Recordings::new(&names.join(" "), self.think);
        for (path, name) in self.traces.iter().zip(names).take(passes) {
            match trace::open(path) {
                // It is a text, if it is anything.
                Err(TraceError::Foreign { .. }) => {
                    let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
                    recordings.add(&text).context(name)?;
                }
                trace => recordings.add_trace(trace?)?,
            }
        }
        Ok(recordings.finish())
    }
}

/// Seen on a terminal only.
fn progress(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(runs as u64);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        simulation: Simulation,
    }

    fn words(line: &str) -> Result<Simulation, String> {
        let arguments = std::iter::once("simulate").chain(line.split_whitespace());
        Words::try_parse_from(arguments).map(|words| words.simulation).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_read_with_their_units() {
        let line =
            "a.tsv --generate build:units=3,jobs=2 --cache 1M,2G --predictor match,pcm:32/2/0.3 --think 2ms";
        assert!(words(line).unwrap_err().contains("workload build has no value 'jobs': it has units,"));
        let read = words(&line.replace("build:", "build-j:")).unwrap();
        assert_eq!((read.traces.len(), read.generate.len()), (1, 1));
        assert_eq!(read.cache, [1 << 20, 2 << 30]);
        assert_eq!(read.predictor.len(), 2);
        assert_eq!(read.think, Duration::from_millis(2));
        assert_eq!(read.grid().runs(), 1 + 3 * 2 * 3);
    }

    #[test]
    fn errors_say_what_is_known() {
        let cases = [
            ("", "required arguments were not provided"),
            ("x --device tape", "unknown device 'tape': known are disk, net and ssd"),
            ("x --policy mru", "unknown policy 'mru'"),
            ("x --cache 0", "expected a number of bytes"),
            ("x --measured 0", "0 is not in 1..=1000"),
            ("x --format xml", "unknown format 'xml'"),
            ("x --streams all", "choose one of job, process"),
            ("--generate bild", "unknown workload 'bild'"),
        ];
        for (line, sentence) in cases {
            let error = words(line).unwrap_err();
            assert!(error.contains(sentence), "{line}: {error}");
        }
    }

    #[test]
    fn the_help_knows_every_shape() {
        let help = shapes();
        assert!(SHAPES.iter().all(|shape| help.contains(shape.name)), "{help}");
    }
}
