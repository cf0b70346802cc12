//! Faults that mirrors of this kind have been reported with, one test each, on every data path; and what cannot be had through
//! FUSE, each limit pinned by a test.
//!
//! Needs root and /dev/fuse.
#![allow(clippy::unwrap_used)]

mod mount;
mod faults {
    pub(crate) mod brittle;
    pub(crate) mod errors;
    mod freezer;
    mod full;
    pub(crate) mod hang;
    mod held_open;
    mod limits;
    mod locks;
    mod made_up;
    mod offsets;
    mod scripts;
    mod set_id;
    mod short_lives;
    pub(crate) mod strict;
}

use faults::{brittle, errors, hang, strict};
use mount::scratch::Scratch;
use mount::{Mount, PATHS};

/// Runs a test on each data path, with a source of its own.
fn on_each_path(test: impl Fn(&str, &Scratch, &Mount)) {
    on(&PATHS, test);
}

fn on(paths: &[&str], test: impl Fn(&str, &Scratch, &Mount)) {
    for path in paths {
        let scratch = Scratch::new();
        let mount = scratch.mount(path).start();
        test(path, &scratch, &mount);
    }
}
