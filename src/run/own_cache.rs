//! What a mount with a cache of its own needs besides: its settings, its budget, the workers' way into it.

use std::sync::Arc;

use crate::cache::{CacheFigures, CacheSettings};
use crate::config::Config;
use crate::live::{Attachment, Live};
use crate::mirror::Mirror;
use crate::replace::Policy;
use crate::stats::{OwnCacheReport, ProgramPattern};
use crate::sys::memory;

/// How the own cache is to be made; `None` when the kernel's is used.
pub(super) fn settings(config: &Config, policy: Policy) -> Option<CacheSettings> {
    config.own_cache.then_some(CacheSettings {
        capacity: config.cache_size,
        block_size: config.block_size as u32,
        policy,
    })
}

/// Most bytes fetched ahead and not yet used: of an own cache a quarter, so that what is in use stays.
pub(super) fn budget(config: &Config) -> u64 {
    let asked = config.budget.unwrap_or_else(memory::default_budget);
    if config.own_cache { asked.min(config.cache_size / 4) } else { asked }
}

/// Gives workers their own way into the mount: what they read there fills the own cache. Opens need no watching, they
/// are requests.
pub(super) fn attach(config: &Config, mirror: &Arc<Mirror>, live: &Arc<Live>) {
    match Attachment::clone_of(&config.mountpoint) {
        Ok(mount) => live.attach(Attachment { mount, tree: mirror.clone() }),
        Err(error) => log::warn!("nothing is fetched ahead into the own cache: {error}"),
    }
}

/// The cache's figures as a report has them, with the programs' names.
pub(super) fn report(figures: &CacheFigures, live: &Live) -> OwnCacheReport {
    let patterns = figures
        .patterns
        .iter()
        .map(|of| ProgramPattern { name: live.program_name(of.owner), pattern: of.pattern.to_string() });
    let change = |turn: &crate::replace::Turn| {
        let name = live.program_name(turn.owner);
        format!("{name}: {} -> {} at reference {}", turn.from, turn.to, turn.at)
    };
    OwnCacheReport {
        policy: figures.settings.policy.to_string(),
        size_bytes: figures.settings.capacity,
        block_bytes: figures.settings.block_size.into(),
        held_bytes: figures.held,
        bookkeeping_bytes: figures.bookkeeping,
        hits: figures.hits,
        misses: figures.misses,
        waits: figures.waits,
        evictions: figures.evictions,
        invalidated: figures.invalidated,
        late: figures.late,
        ahead: figures.ahead,
        ahead_used: figures.ahead_used,
        ahead_unused: figures.ahead_unused,
        read_bytes: figures.bytes_read,
        patterns: patterns.collect(),
        changes: figures.turns.iter().map(change).collect(),
    }
}
