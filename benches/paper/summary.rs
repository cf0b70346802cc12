//! Every table measured so far, on one page.

use std::path::Path;

use crate::jobs;
use crate::journal::Journal;
use crate::tables;

/// The page, in Markdown; made of the raw samples below `work`.
pub(crate) fn page(work: &Path) -> anyhow::Result<String> {
    let mut page = String::from("## The papers' tables\n\n");
    let mut missing = Vec::new();
    for name in jobs::NAMES {
        let mut found = false;
        for device in ["disk", "net", "ssd", "own"] {
            let path = work.join(format!("{name}-{device}.json"));
            if path.exists() {
                found = true;
                page += &tables::render(&Journal::read(&path)?);
                page.push('\n');
            }
        }
        if !found {
            missing.push(name);
        }
    }
    if !missing.is_empty() {
        page += &format!("Not measured yet: {}.\n", missing.join(", "));
    }
    Ok(page)
}
