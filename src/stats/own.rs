//! The own page cache in a report.

use crate::config::show_bytes;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Formatter};

/// Programs whose patterns, and changes, that are shown in words; the JSON has them all.
const MOST_ROWS: usize = 10;

/// How the own page cache stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnCacheReport {
    /// Who leaves.
    pub policy: String,
    /// Most bytes of blocks.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of blocks held.
    pub held_bytes: u64,
    /// Bytes of tables, orders and histories besides.
    pub bookkeeping_bytes: u64,
    /// What has happened.
    #[serde(flatten)]
    pub counts: OwnCounts,
    /// How programs refer to their blocks.
    pub patterns: Vec<ProgramPattern>,
    /// Changes of patterns, the oldest first: `cscope: sequential -> looping at reference 1,500`.
    pub changes: Vec<String>,
}

/// What an own page cache counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnCounts {
    /// References that found their block.
    pub hits: u64,
    /// References whose block had to be read.
    pub misses: u64,
    /// References that waited for a block somebody else was reading.
    pub waits: u64,
    /// Blocks that left because there was no room.
    pub evictions: u64,
    /// Blocks that left because their file changed.
    pub invalidated: u64,
    /// Blocks that came after their file had changed, and were not kept.
    pub late: u64,
    /// Blocks fetched ahead.
    pub ahead: u64,
    /// Of these, blocks that were used.
    pub ahead_used: u64,
    /// Blocks fetched ahead that left unused.
    pub ahead_unused: u64,
    /// Bytes read into the cache.
    pub read_bytes: u64,
}

/// How a program refers to its blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramPattern {
    /// Its name.
    pub name: String,
    /// undecided, sequential, looping, clustered or probabilistic.
    pub pattern: String,
}

/// Nothing where the kernel's cache is used.
pub(super) fn tell(f: &mut Formatter<'_>, own: Option<&OwnCacheReport>) -> fmt::Result {
    let Some(own) = own else { return Ok(()) };
    let counts = own.counts;
    let all = (counts.hits + counts.misses).max(1);
    writeln!(
        f,
        "\nOwn cache ({}): {} of {} in blocks of {}, {} of bookkeeping; of {} references {} ({:.0}%) found their block.",
        own.policy,
        show_bytes(own.held_bytes),
        show_bytes(own.size_bytes),
        show_bytes(own.block_bytes),
        show_bytes(own.bookkeeping_bytes),
        counts.hits + counts.misses,
        counts.hits,
        100.0 * counts.hits as f64 / all as f64,
    )?;
    writeln!(
        f,
        "{} blocks left for others and {} because their file changed.",
        counts.evictions, counts.invalidated
    )?;
    for program in own.patterns.iter().filter(|program| program.pattern != "undecided").take(MOST_ROWS) {
        writeln!(f, "  {:<16} {}", program.name, program.pattern)?;
    }
    let old = own.changes.len().saturating_sub(MOST_ROWS);
    own.changes[old..].iter().try_for_each(|change| writeln!(f, "  {change}"))
}

/// What was fetched ahead, and what became of it.
pub(super) fn fate(f: &mut Formatter<'_>, own: &OwnCacheReport, jobs: u64, budget: u64) -> fmt::Result {
    let bytes = |blocks: u64| show_bytes(blocks * own.block_bytes);
    writeln!(
        f,
        "Fetched ahead: {} blocks, {}, by {jobs} jobs (budget {}).",
        own.counts.ahead,
        bytes(own.counts.ahead),
        show_bytes(budget)
    )?;
    writeln!(f, "\n  {:<12} {:>8} {:>9}", "", "blocks", "bytes")?;
    let waiting = own.counts.ahead.saturating_sub(own.counts.ahead_used + own.counts.ahead_unused);
    for (name, blocks) in
        [("in time", own.counts.ahead_used), ("wasted", own.counts.ahead_unused), ("waiting", waiting)]
    {
        writeln!(f, "  {name:<12} {blocks:>8} {:>9}", bytes(blocks))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Option<OwnCacheReport>);

    impl fmt::Display for Told {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            tell(f, self.0.as_ref())
        }
    }

    #[test]
    fn only_what_is_there_is_told() {
        assert_eq!(Told(None).to_string(), "");
        let name = |name: &str, pattern: &str| ProgramPattern { name: name.into(), pattern: pattern.into() };
        let own = OwnCacheReport {
            policy: "dear".into(),
            counts: OwnCounts { hits: 3, misses: 1, ..OwnCounts::default() },
            patterns: vec![name("cscope", "looping"), name("wc", "undecided")],
            changes: (1..=12)
                .map(|at| format!("cscope: sequential -> looping at reference {at},500"))
                .collect(),
            ..OwnCacheReport::default()
        };
        let text = Told(Some(own)).to_string();
        assert!(text.contains("of 4 references 3 (75%)"), "{text}");
        assert!(text.contains("cscope           looping") && !text.contains("wc"), "{text}");
        assert!(text.contains("  cscope: sequential -> looping at reference 12,500\n"), "{text}");
        assert!(text.contains(" 3,500") && !text.contains(" 2,500"), "only the last ten: {text}");
    }
}
