//! Lets go of what walks leave behind, in a thread of its own, which may wait for the source.
//!
//! What must stay true: only clean pages go, and only what nobody maps; whoever still reads such a file has it fetched again, no more.

use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::crew::Crew;
use super::desk::Desk;
use crate::id::FileId;

/// Files that wait to be let go; more stay where they are.
const ROOM: usize = 4096;

/// The way to the thread, which is started when it is needed first.
#[derive(Debug, Default)]
pub(crate) struct Behind(OnceLock<Option<Sender<FileId>>>);

impl Behind {
    /// These need not stay in memory.
    pub(crate) fn leave(&self, files: &[FileId], crew: &Arc<Crew>, desk: &Arc<Desk>) {
        if files.is_empty() {
            return;
        }
        if let Some(to) = self.0.get_or_init(|| start(crew.clone(), desk.clone())) {
            // What does not fit stays.
            let _ = files.iter().try_for_each(|&file| to.try_send(file));
        }
    }
}

fn start(crew: Arc<Crew>, desk: Arc<Desk>) -> Option<Sender<FileId>> {
    let (to, from) = bounded(ROOM);
    let thread = std::thread::Builder::new().name("behind".into());
    let started = thread.spawn(move || run(&from, &crew, &desk));
    started.inspect_err(|error| log::warn!("nothing is let go behind walks: {error}")).is_ok().then_some(to)
}

fn run(from: &Receiver<FileId>, crew: &Crew, desk: &Desk) {
    let id = desk.processes.enlist();
    while let Ok(file) = from.recv() {
        if desk.is_off() {
            break;
        }
        desk.counters.restraint.released_bytes.add(crew.release(file));
    }
    desk.processes.dismiss(id);
}
