//! What a mount with a cache of its own needs besides: its settings, its budget, the workers' way into it.

use std::sync::Arc;

use crate::cache::{CacheFigures, CacheSettings};
use crate::config::Config;
use crate::live::{Attachment, Live};
use crate::mirror::Mirror;
use crate::replace::{Policy, Turn};
use crate::stats::{OwnCacheReport, ProgramPattern, Report};
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
    let change = |turn: &Turn| turn.told_of(&live.program_name(turn.owner));
    OwnCacheReport {
        policy: figures.settings.policy.to_string(),
        size_bytes: figures.settings.capacity,
        block_bytes: figures.settings.block_size.into(),
        held_bytes: figures.held,
        bookkeeping_bytes: figures.bookkeeping,
        counts: figures.counts,
        patterns: patterns.collect(),
        changes: figures.turns.iter().map(change).collect(),
    }
}

/// Has programs by the patterns of their blocks, where an own cache sees these.
pub(super) fn label(report: &mut Report) {
    let Some(own) = &report.standing.own_cache else { return };
    for program in &mut report.programs {
        if let Some(known) = own.patterns.iter().find(|known| known.name == program.name) {
            program.pattern.clone_from(&known.pattern);
        }
    }
}
