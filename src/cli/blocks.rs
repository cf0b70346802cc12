//! `augurfs blocks`: its words, and what it does with them.

use super::say;
use crate::config::{BYTES_FORM, show_bytes};
use crate::replace::Policy;
use crate::sim::blocks::{BLOCK_SHAPES, BLOCK_SIZE, BlockRecipe, BlockTrace, Comparison, compare, periods};
use crate::trace::{self, TraceError};
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = shapes(), group(clap::ArgGroup::new("which").required(true).multiple(true)))]
pub(super) struct Blocks {
    /// Recordings: traces of a mount with cache=own, or lines of program, file and block number with white space between
    #[arg(value_name = "TRACE", group = "which")]
    traces: Vec<PathBuf>,
    /// A trace made for the purpose (see below), or several interleaved; may be given several times
    #[arg(long, value_name = "NAME[:BLOCKS][+NAME...]", group = "which")]
    generate: Vec<BlockRecipe>,
    /// Who leaves: default, lru, lru-seq, dear, arc, s3fifo, sieve, fifo; some with parameters (dear:strict/500/5)
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "lru,lru-seq,dear,arc,s3fifo,sieve,default"
    )]
    policy: Vec<Policy>,
    /// Sizes of the cache
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = bytes, default_value = "2M,4M,6M,8M,10M")]
    cache: Vec<u64>,
    /// Also compare these lengths of a period, at the first size, for policies that have periods
    #[arg(long, value_name = "REFERENCES,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    period: Vec<u32>,
    /// Also tell how the patterns of programs were found to change, at the first size
    #[arg(long)]
    changes: bool,
    /// For generated traces
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn bytes(words: &str) -> Result<u64, String> {
    crate::config::bytes(words).filter(|&bytes| bytes > 0).ok_or_else(|| format!("expected {BYTES_FORM}"))
}

/// The shapes that can be generated, for the help.
fn shapes() -> String {
    let entry = |shape: &crate::sim::blocks::BlockShape| format!("  {:<8} {}\n", shape.name, shape.about);
    let entries: String = BLOCK_SHAPES.iter().map(entry).collect();
    format!("Traces to generate, in blocks of 8K:\n{entries}")
}

/// Prints a table for each trace.
pub(super) fn compare_policies(words: &Blocks) -> anyhow::Result<u8> {
    for path in &words.traces {
        say(&words.tables(&read(path)?))?;
    }
    for recipe in &words.generate {
        say(&words.tables(&recipe.generate(words.seed)))?;
    }
    Ok(0)
}

/// A recording of either kind.
fn read(path: &Path) -> anyhow::Result<BlockTrace> {
    let name = path.display().to_string();
    match trace::open(path) {
        Ok(records) => Ok(BlockTrace::recorded(&name, records)?),
        Err(TraceError::Foreign { .. }) => {
            let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
            BlockTrace::read(&name, &text).context(name)
        }
        Err(error) => Err(error.into()),
    }
}

impl Blocks {
    fn tables(&self, trace: &BlockTrace) -> String {
        let (limit, rows) = compare(trace, &self.policy, &self.cache);
        let mut out =
            format!("{}: {} references to {} blocks; misses\n\n", trace.name, limit.references, limit.blocks);
        let heads: Vec<_> = self.policy.iter().map(Policy::to_string).chain(["opt".into()]).collect();
        out.push_str(&line("cache", &heads));
        for Comparison { bytes, misses, least } in rows {
            let cells: Vec<_> = misses.iter().chain([&least]).map(u64::to_string).collect();
            out.push_str(&line(&show_bytes(bytes), &cells));
        }
        if !self.period.is_empty() {
            out.push_str(&self.sweep(trace));
        }
        if self.changes {
            out.push_str(&self.turns(trace));
        }
        out.push('\n');
        out
    }

    /// What each policy that looks at programs finds, a line for each change.
    fn turns(&self, trace: &BlockTrace) -> String {
        let room = (self.cache[0] / BLOCK_SIZE).max(1) as usize;
        let lines = |policy: &Policy| {
            let changes = trace.changes(*policy, room).into_iter();
            changes.map(|change| format!("{policy}: {change}\n")).collect::<String>()
        };
        let all: String = self.policy.iter().map(lines).collect();
        format!("\n{all}")
    }

    /// The misses by the length of a period, at the first size.
    fn sweep(&self, trace: &BlockTrace) -> String {
        let periodic: Vec<_> =
            self.policy.iter().filter(|policy| policy.with_period(1) != **policy).collect();
        let heads: Vec<_> = periodic.iter().map(|policy| policy.name().to_owned()).collect();
        let columns: Vec<_> =
            periodic.iter().map(|&&policy| periods(trace, policy, self.cache[0], &self.period)).collect();
        let mut out = format!("\n{}", line("period", &heads));
        for (row, period) in self.period.iter().enumerate() {
            let cells: Vec<_> = columns.iter().map(|column| column[row].to_string()).collect();
            out.push_str(&line(&period.to_string(), &cells));
        }
        out
    }
}

/// A first column and the others, to the right.
fn line(first: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("{first:>8}{cells}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        blocks: Blocks,
    }

    #[test]
    fn a_table_has_a_row_for_each_size_and_period() {
        let line = "blocks --generate loop:200 --policy lru,dear --cache 1M,2M --period 100,500 --changes";
        let words = Words::try_parse_from(line.split(' '))
            .map(|words| words.blocks)
            .unwrap_or_else(|e| panic!("{e}"));
        let text = words.tables(&words.generate[0].generate(1));
        let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0][..5], ["loop:200:", "40000", "references", "to", "200"]);
        assert_eq!(rows[2], ["cache", "lru", "dear", "opt"]);
        assert_eq!(rows[3][..2], ["1M", "40000"]);
        assert_eq!(rows[4], ["2M", "200", "200", "200"]);
        assert_eq!(
            (rows[6].as_slice(), rows[7][0], rows[8][0]),
            (["period", "dear"].as_slice(), "100", "500")
        );
        assert!(text.contains("\ndear: loop: undecided -> looping at reference 1,000\n"), "{text}");
    }

    #[test]
    fn words_that_are_not_understood() {
        let refused =
            |line: &str| Words::try_parse_from(line.split(' ')).err().map(|error| error.to_string());
        assert!(refused("blocks").is_some());
        assert!(refused("blocks --generate lop").unwrap_or_default().contains("unknown shape 'lop'"));
        assert!(refused("blocks x --policy opt").unwrap_or_default().contains("unknown policy 'opt'"));
    }
}
